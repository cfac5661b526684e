/* The NATS path of a producer: a block becomes PUB frames in one write; answers come under an inbox of our own whose
 * last part is the message's number. */
#define _GNU_SOURCE
#include "nats.h"
#include <stdlib.h>
#include <string.h>

/* What became of a message, besides 0 for acknowledged: the connection was lost, it is larger than the server allows,
 * or from ANSWER on an answer that is no plain acknowledgement, to be looked at by bl_nats_answer. */
enum { LOST = 1, TOO_LARGE = 2, ANSWER = 3 };
enum { ANSWERS_MOST = 32, ANSWER_BYTES = 1024, DIGITS = 12 };
enum { RING_LEAST = 1 << 16, RING_MOST = 1 << 26 };

typedef struct {
    int status;
    size_t bytes;
    char text[ANSWER_BYTES];
} answer;

typedef struct bl_nats_producer {
    nats_link link; /* first, so that a producer can be used as its connection */
    char **prefix;  /* per partition of the cell: "PUB <subject> <inbox>" */
    size_t *prefix_bytes;
    int partitions;
    size_t inbox_bytes;
    size_t pending_most;
    uint8_t *open; /* [number % ring]: taken and not settled; all open ones are in [lowest, next) */
    int64_t ring, lowest, next;
    int64_t lost_before; /* numbers below this were open when the connection went */
    int64_t *too_large;
    int64_t too_larges, too_large_capacity;
    answer answers[ANSWERS_MOST]; /* different ones, of the last call of bl_nats_settled */
    int answer_count;
} producer;

producer *bl_nats_producer_new(const char *hello, int64_t hello_bytes, const char **prefixes, int partitions,
                               int64_t inbox_bytes, int64_t pending_most) {
    producer *p = calloc(1, sizeof *p);
    if (!p) abort();
    nats_link_init(&p->link, hello, hello_bytes);
    p->partitions = partitions;
    p->prefix = calloc((size_t)partitions, sizeof *p->prefix);
    p->prefix_bytes = calloc((size_t)partitions, sizeof *p->prefix_bytes);
    p->ring = RING_LEAST;
    p->open = calloc(RING_LEAST, 1);
    if (!p->prefix || !p->prefix_bytes || !p->open) abort();
    for (int i = 0; i < partitions; i++) {
        p->prefix[i] = bl_copied(prefixes[i]);
        p->prefix_bytes[i] = strlen(prefixes[i]);
    }
    p->inbox_bytes = (size_t)inbox_bytes;
    p->pending_most = (size_t)pending_most;
    return p;
}

void bl_nats_producer_free(producer *p) {
    nats_link_free(&p->link);
    for (int i = 0; i < p->partitions; i++) free(p->prefix[i]);
    free(p->prefix);
    free(p->prefix_bytes);
    free(p->open);
    free(p->too_large);
    free(p);
}

/* ---------------------------------------------------------------- what is open */

static uint8_t *open_at(producer *p, int64_t number) { return &p->open[number & (p->ring - 1)]; }

static int is_open(producer *p, int64_t number) {
    return number >= p->lowest && number < p->next && *open_at(p, number);
}

static void close_one(producer *p, int64_t number) {
    *open_at(p, number) = 0;
    while (p->lowest < p->next && !*open_at(p, p->lowest)) p->lowest++;
}

/* Twice the room. At the largest size the oldest is forgotten instead: it never settles, and the engine's own timeout
 * calls it unknown. */
static void make_room(producer *p) {
    if (p->ring >= RING_MOST) {
        close_one(p, p->lowest);
        return;
    }
    uint8_t *grown = calloc((size_t)p->ring * 2, 1);
    if (!grown) abort();
    for (int64_t i = p->lowest; i < p->next; i++) grown[i & (p->ring * 2 - 1)] = *open_at(p, i);
    free(p->open);
    p->open = grown;
    p->ring *= 2;
}

static void open_one(producer *p, int64_t number) {
    if (p->lowest == p->next) p->lowest = p->next = number;
    while (p->next <= number) {
        if (p->next - p->lowest >= p->ring) make_room(p);
        *open_at(p, p->next++) = 0;
    }
    *open_at(p, number) = 1;
}

/* ---------------------------------------------------------------- sending */

static char *put_number(char *at, int64_t number, int digits) {
    for (int i = digits - 1; i >= 0; i--, number /= 10) at[i] = (char)('0' + number % 10);
    return at + digits;
}

static int digits_of(int64_t number) {
    int digits = 1;
    while (number >= 10) number /= 10, digits++;
    return digits;
}

static void put_message(producer *p, const uint8_t *data, size_t bytes, int32_t partition, int64_t number) {
    size_t prefix = p->prefix_bytes[partition];
    char *from = nats_room(&p->link.out, prefix + bytes + 64), *at = from;
    memcpy(at, p->prefix[partition], prefix), at += prefix;
    at = put_number(at, number, DIGITS);
    *at++ = ' ';
    at = put_number(at, (int64_t)bytes, digits_of((int64_t)bytes));
    memcpy(at, "\r\n", 2), at += 2;
    memcpy(at, data, bytes), at += bytes;
    memcpy(at, "\r\n", 2), at += 2;
    p->link.out.tail += (size_t)(at - from);
}

static void refuse(producer *p, int64_t number) {
    if (p->too_larges == p->too_large_capacity) {
        p->too_large_capacity = p->too_large_capacity ? 2 * p->too_large_capacity : 64;
        p->too_large = realloc(p->too_large, (size_t)p->too_large_capacity * sizeof *p->too_large);
        if (!p->too_large) abort();
    }
    p->too_large[p->too_larges++] = number;
}

static size_t pending(const producer *p) { return p->link.out.tail - p->link.out.head; }

/* Takes the first k messages and returns k. Fewer than n where enough bytes wait for the socket already; at
 * least one while none waits. NATS has no keys. */
int64_t bl_nats_send(producer *p, uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                     const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n) {
    (void)keys;
    if (p->link.state != NATS_UP) return 0;
    int64_t i = 0;
    for (; i < n; i++) {
        size_t bytes = (size_t)lengths[i];
        if (p->link.max_payload && lengths[i] > p->link.max_payload) {
            refuse(p, first_index + i);
            continue;
        }
        if (pending(p) && pending(p) + bytes > p->pending_most) {
            nats_flush(&p->link);
            if (p->link.state != NATS_UP) break;
            if (pending(p) && pending(p) + bytes > p->pending_most) break;
        }
        open_one(p, first_index + i);
        put_message(p, buffer + offsets[i], bytes, partitions[i], first_index + i);
    }
    nats_flush(&p->link);
    if (p->link.state != NATS_UP) p->lost_before = p->next;
    return i;
}

/* ---------------------------------------------------------------- settling */

/* The code of an answer that is no plain acknowledgement; equal answers share one. */
static int32_t code_of(producer *p, const nats_message *m) {
    int status = nats_status(m);
    size_t bytes = m->data_bytes < ANSWER_BYTES - 1 ? m->data_bytes : ANSWER_BYTES - 1;
    for (int i = 0; i < p->answer_count; i++) {
        const answer *a = &p->answers[i];
        if (a->status == status && a->bytes == bytes && !memcmp(a->text, m->data, bytes)) return ANSWER + i;
    }
    answer *a = &p->answers[p->answer_count];
    a->status = status;
    a->bytes = bytes;
    memcpy(a->text, m->data, bytes);
    a->text[bytes] = 0;
    return ANSWER + p->answer_count++;
}

typedef struct {
    int64_t *indices;
    int32_t *codes;
    int64_t *at_ns;
    int64_t n, most;
} columns;

static void put(columns *c, int64_t number, int32_t code, int64_t now_ns) {
    c->indices[c->n] = number;
    c->codes[c->n] = code;
    c->at_ns[c->n++] = now_ns;
}

/* Settle what the buffer holds. Returns 0 when there was no room for all. */
static int take_answers(producer *p, columns *c, int64_t now_ns) {
    nats_message m;
    while (c->n < c->most && p->answer_count < ANSWERS_MOST) {
        if (!nats_next(&p->link, &m)) return 1;
        if (m.subject_bytes <= p->inbox_bytes) continue;
        int64_t number = nats_number(m.subject + p->inbox_bytes, m.subject_bytes - p->inbox_bytes);
        if (!is_open(p, number)) continue; /* its connection was lost meanwhile and it has been called unknown */
        int plain = !m.header_bytes && nats_starts(m.data, m.data_bytes, "{\"stream\"");
        put(c, number, plain ? 0 : code_of(p, &m), now_ns);
        close_one(p, number);
    }
    return 0;
}

static int read_answers(producer *p, columns *c) {
    if (!take_answers(p, c, bl_now_ns())) return 0;
    int64_t got;
    do {
        got = nats_read(&p->link);
        if (got && !take_answers(p, c, bl_now_ns())) return 0;
    } while (got >= BL_READ_BYTES / 4); /* less means that the socket was emptied */
    return 1;
}

/* Everything that was open when the connection went. */
static void take_lost(producer *p, columns *c) {
    int64_t now_ns = bl_now_ns();
    while (c->n < c->most && p->lowest < p->lost_before) {
        int64_t number = p->lowest;
        put(c, number, LOST, now_ns);
        close_one(p, number);
    }
}

/* What is known now, at most `most`: number, code (see above), time. -1: nothing, and the connection is not up. */
int64_t bl_nats_settled(producer *p, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most) {
    columns c = {indices, codes, at_ns, 0, most};
    p->answer_count = 0;
    while (p->too_larges && c.n < most) put(&c, p->too_large[--p->too_larges], TOO_LARGE, bl_now_ns());
    nats_flush(&p->link);
    int all = read_answers(p, &c);
    nats_flush(&p->link); /* a PONG */
    if (p->link.state == NATS_DOWN) {
        p->lost_before = p->next;
        if (all) take_lost(p, &c);
    }
    return c.n || p->link.state == NATS_UP ? c.n : -1;
}

/* Answer k of the last bl_nats_settled, as text; *status gets the server's status, 0 for none. */
const char *bl_nats_answer(const producer *p, int32_t k, int32_t *status) {
    *status = p->answers[k].status;
    return p->answers[k].text;
}

/* Everything written and seen by the server, or the deadline. Answers that come meanwhile are not kept. */
void bl_nats_flush(nats_link *l, int64_t deadline_ns) {
    if (l->state != NATS_UP) return;
    nats_message m;
    int64_t wanted = l->pongs + 1, now_ns = bl_now_ns();
    nats_append(&l->out, "PING\r\n", 6);
    while (l->pongs < wanted && l->state == NATS_UP && now_ns < deadline_ns) {
        nats_flush(l);
        while (nats_next(l, &m)) {}
        if (l->pongs < wanted && !nats_read(l) && l->fd >= 0) nats_wait(l, now_ns, deadline_ns);
        now_ns = bl_now_ns();
    }
}
