/* The NATS path of a consumer: overlapping pulls on every stream, deliveries as addresses into the receive buffer,
 * acknowledgements of a whole batch in one write. */
#define _GNU_SOURCE
#include "nats.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLICY_NONE = 0, POLICY_ALL = 1, POLICY_EXPLICIT = 2 };
/* With no word for SILENT_NS, not even a heartbeat (asked for every second), the open pulls died with their leader. */
#define SILENT_NS 5000000000
/* When the pulls of all streams stay silent this many times in a row, this server does not reach their leaders. */
#define SILENCES_MOST 2
/* A pull without an answer (503): between two leaders this lasts seconds; later, there is no such group. */
#define ABSENT_RETRY_NS 200000000
#define ABSENT_MOST_NS 20000000000
/* The first pull, before the size of messages is known. */
#define PULL_FIRST 1000
/* Roughly the bytes of a frame besides subjects and content; how many messages the mean size is taken over. */
enum { FRAME_BYTES = 32, SIZED_MOST = 1 << 16 };

typedef struct {
    size_t at, bytes; /* of its acknowledgement subject in `subjects` */
    int32_t stream, done;
} held;

typedef struct {
    char *pull; /* the beginning of a pull's PUB frame: its subject and where answers go */
    int64_t credit; /* how many messages the open pulls may still bring */
    int64_t heard_ns, pull_after_ns, absent_since_ns;
    int silences; /* since the last word */
} stream;

typedef struct bl_nats_consumer {
    nats_link link; /* first, so that a consumer can be used as its connection */
    stream *stream;
    int streams, policy, ended;
    char *pull_rest;                         /* of every pull request, behind the number of messages */
    int64_t pull_messages, pull_bytes;      /* the most that open pulls may bring: of a stream, and of all together */
    int64_t sized, sized_bytes, attachment; /* the last messages, and their bytes */
    nats_bytes subjects;
    held *held; /* handed out: [first, end) may be unacknowledged; the ordinal of the first is first_ordinal */
    int64_t first, end, capacity, first_ordinal;
} consumer;

/* Stream s is subscribed with sid s + 1 by the hello. `pulls` are "PUB subject inbox"; a request is {"batch":n and
 * `pull_rest`. */
consumer *bl_nats_consumer_new(const char *hello, int64_t hello_bytes, const char **pulls, int streams,
                               const char *pull_rest, int64_t pull_messages, int64_t pull_bytes, int policy) {
    consumer *c = calloc(1, sizeof *c);
    if (!c) abort();
    nats_link_init(&c->link, hello, hello_bytes);
    c->stream = calloc((size_t)streams, sizeof *c->stream);
    if (!c->stream) abort();
    c->streams = streams;
    for (int s = 0; s < streams; s++) c->stream[s].pull = bl_copied(pulls[s]);
    c->pull_rest = bl_copied(pull_rest);
    c->pull_messages = pull_messages;
    c->pull_bytes = pull_bytes;
    c->policy = policy;
    return c;
}

void bl_nats_consumer_free(consumer *c) {
    nats_link_free(&c->link);
    for (int s = 0; s < c->streams; s++) free(c->stream[s].pull);
    free(c->stream);
    free(c->pull_rest);
    free(c->subjects.data);
    free(c->held);
    free(c);
}

/* ---------------------------------------------------------------- what was handed out */

static void hold(consumer *c, const nats_message *m, int32_t stream_number) {
    if (c->end == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 4096;
        c->held = realloc(c->held, (size_t)c->capacity * sizeof *c->held);
        if (!c->held) abort();
    }
    nats_append(&c->subjects, m->reply, m->reply_bytes);
    c->held[c->end++] = (held){c->subjects.tail - m->reply_bytes, m->reply_bytes, stream_number, 0};
}

/* Forget what is done at the front; the memory is used again when that is all, or most of it. */
static void forget_done(consumer *c) {
    while (c->first < c->end && c->held[c->first].done) c->first++;
    if (c->first < c->end && (c->first < 4096 || 2 * c->first < c->end)) return;
    size_t cut = c->first < c->end ? c->held[c->first].at : c->subjects.tail;
    if (c->subjects.data) memmove(c->subjects.data, c->subjects.data + cut, c->subjects.tail - cut);
    c->subjects.tail -= cut;
    for (int64_t i = c->first; i < c->end; i++) {
        c->held[i].at -= cut;
        c->held[i - c->first] = c->held[i];
    }
    c->first_ordinal += c->first;
    c->end -= c->first;
    c->first = 0;
}

static void tell(consumer *c, const held *h, const char *word) {
    nats_publish(&c->link, c->subjects.data + h->at, h->bytes, word, strlen(word));
}

/* Acknowledge what was handed out with these ordinals, in one write. With policy `all` the last of each stream speaks
 * for those before it. While the connection is down, acknowledgements wait for the next one. */
void bl_nats_acknowledge(consumer *c, int64_t first_ordinal, int64_t n) {
    if (c->policy == POLICY_NONE) return;
    int64_t from = first_ordinal - c->first_ordinal, to = from + n;
    if (from < 0) from = 0;
    if (to > c->end) to = c->end;
    for (int s = 0; c->policy == POLICY_ALL && s < c->streams; s++)
        for (int64_t i = to - 1; i >= from; i--)
            if (c->held[i].stream == s && !c->held[i].done) {
                tell(c, &c->held[i], "+ACK");
                break;
            }
    for (int64_t i = from; i < to; i++) {
        if (c->policy == POLICY_EXPLICIT && !c->held[i].done) tell(c, &c->held[i], "+ACK");
        c->held[i].done = 1;
    }
    forget_done(c);
    nats_flush(&c->link);
}

/* ---------------------------------------------------------------- pulls */

/* How many messages the open pulls of a stream may bring: as many as wanted, but no more bytes than a server keeps for
 * a client that does not read. */
static int64_t pull_size(const consumer *c) {
    int64_t most = c->pull_messages;
    if (!c->sized) return most < PULL_FIRST ? most : PULL_FIRST;
    int64_t fit = c->pull_bytes / c->streams * c->sized / c->sized_bytes;
    if (fit > most) return most;
    return fit < 1 ? 1 : fit;
}

static void note_size(consumer *c, const nats_message *m) {
    c->sized++;
    c->sized_bytes += (int64_t)(FRAME_BYTES + m->subject_bytes + m->reply_bytes + m->header_bytes + m->data_bytes);
    if (c->sized == SIZED_MOST) c->sized /= 2, c->sized_bytes /= 2;
}

static void pull(consumer *c, const stream *one, int64_t messages) {
    size_t most = strlen(one->pull) + strlen(c->pull_rest) + 96;
    char batch[32];
    int digits = snprintf(batch, sizeof batch, "{\"batch\":%lld", (long long)messages);
    int wrote = snprintf(nats_room(&c->link.out, most), most, "%s %zu\r\n%s%s\r\n", one->pull,
                         (size_t)digits + strlen(c->pull_rest), batch, c->pull_rest);
    c->link.out.tail += (size_t)wrote;
}

/* Notice silence. Returns whether it has lasted too long on every stream. */
static int is_deaf(consumer *c, int64_t now_ns) {
    int deaf = 1;
    for (int s = 0; s < c->streams; s++) {
        stream *one = &c->stream[s];
        if (one->credit && now_ns - one->heard_ns > SILENT_NS) {
            one->credit = 0;
            one->silences++;
        }
        deaf &= one->silences >= SILENCES_MOST;
    }
    return deaf;
}

static void refill(consumer *c, int64_t now_ns) {
    if (c->link.state != NATS_UP) return;
    if (c->attachment != c->link.attachments) { /* pulls end with their connection */
        c->attachment = c->link.attachments;
        for (int s = 0; s < c->streams; s++)
            c->stream[s].credit = c->stream[s].pull_after_ns = c->stream[s].silences = 0;
    }
    if (is_deaf(c, now_ns)) {
        bl_nats_hang_up(&c->link);
        return;
    }
    int64_t wanted = pull_size(c);
    for (int s = 0; s < c->streams; s++) {
        stream *one = &c->stream[s];
        if (one->credit * 4 > wanted * 3 || now_ns < one->pull_after_ns) continue;
        if (!one->credit) one->heard_ns = now_ns;
        pull(c, one, wanted - one->credit);
        one->credit = wanted;
    }
}

static void end_with(consumer *c, const char *text, size_t bytes) {
    c->ended = 1;
    snprintf(c->link.why, sizeof c->link.why, "%.*s", (int)(bytes < 200 ? bytes : 200), text);
}

/* A pull has ended before it was filled: 404, 408 and 409 say how many messages it did not bring; 100 is a heartbeat. */
static void on_status(consumer *c, stream *one, const nats_message *m, int64_t now_ns) {
    int status = nats_status(m);
    if (status == 100) return;
    const char *text = m->header + 12;
    size_t bytes = m->header_bytes > 12 ? m->header_bytes - 12 : 0;
    while (bytes && *text == ' ') text++, bytes--;
    const char *line_end = memchr(text, '\r', bytes);
    size_t words = line_end ? (size_t)(line_end - text) : bytes;
    int64_t missing = nats_number_behind(text, bytes, "Nats-Pending-Messages: ");
    if (missing < 0) missing = one->credit;
    one->credit = missing < one->credit ? one->credit - missing : 0;
    if (status == 503) {
        if (!one->absent_since_ns) one->absent_since_ns = now_ns;
        one->pull_after_ns = now_ns + ABSENT_RETRY_NS;
        if (now_ns - one->absent_since_ns > ABSENT_MOST_NS) end_with(c, "no responders", 13);
        return;
    }
    one->absent_since_ns = 0;
    if (nats_starts(text, words, "Consumer Deleted") || nats_starts(text, words, "Consumer Shutdown"))
        end_with(c, text, words);
    else if (status != 404 && status != 408)
        one->pull_after_ns = now_ns + ABSENT_RETRY_NS / 10; /* refused at once: do not ask as fast as it answers */
}

/* ---------------------------------------------------------------- receiving */

typedef struct {
    uint64_t *addresses;
    int32_t *lengths;
    int64_t *positions;
    uint8_t *redelivered;
    int64_t n, most;
} columns;

/* Delivery count and stream sequence: $JS.ACK.[domain.account.]stream.consumer.count.sequence... */
static void read_subject(const nats_message *m, int64_t *position, uint8_t *redelivered) {
    const char *part[16];
    size_t width[16];
    int parts = 0;
    const char *at = m->reply, *end = m->reply + m->reply_bytes;
    while (at <= end && parts < 16) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!dot) dot = end;
        part[parts] = at, width[parts++] = (size_t)(dot - at);
        at = dot + 1;
    }
    int count = parts == 9 ? 4 : 6;
    *position = parts >= 9 ? nats_number(part[count + 1], width[count + 1]) : -1;
    *redelivered = parts >= 9 && nats_number(part[count], width[count]) != 1;
}

/* Messages come under the subject they were published to, with a reply subject to acknowledge; the answer about a pull
 * itself has none. Returns whether it was a message. */
static int is_delivery(consumer *c, const nats_message *m, int64_t now_ns, int32_t *number) {
    if (m->sid < 1 || m->sid > c->streams) return 0;
    *number = (int32_t)m->sid - 1;
    stream *one = &c->stream[*number];
    one->heard_ns = now_ns;
    one->silences = 0;
    if (!nats_starts(m->reply, m->reply_bytes, "$JS.ACK.")) {
        on_status(c, one, m, now_ns);
        return 0;
    }
    one->absent_since_ns = 0;
    if (one->credit) one->credit--;
    note_size(c, m);
    return 1;
}

static void collect(consumer *c, columns *to, int64_t now_ns) {
    nats_message m;
    int32_t number;
    while (to->n < to->most && nats_next(&c->link, &m)) {
        if (!is_delivery(c, &m, now_ns, &number)) continue;
        to->addresses[to->n] = (uint64_t)(uintptr_t)m.data;
        to->lengths[to->n] = (int32_t)m.data_bytes;
        read_subject(&m, &to->positions[to->n], &to->redelivered[to->n]);
        if (c->policy != POLICY_NONE) hold(c, &m, number);
        to->n++;
    }
}

/* What is there, or the first that comes before the deadline. Addresses hold until the next call. about[0] gets the
 * time of arrival, about[1] the ordinal of the first, for bl_nats_acknowledge. Returns how many; -1: none, and the
 * connection is not up; -2: the group cannot be read any more, bl_nats_why says why. */
int64_t bl_nats_receive(consumer *c, int64_t deadline_ns, int64_t most, uint64_t *addresses, int32_t *lengths,
                        int64_t *positions, uint8_t *redelivered, int64_t *about) {
    columns to = {addresses, lengths, positions, redelivered, 0, most};
    int64_t now_ns = bl_now_ns();
    about[1] = c->first_ordinal + c->end;
    collect(c, &to, now_ns);
    while (!to.n) {
        int64_t got = nats_read(&c->link);
        now_ns = bl_now_ns();
        if (got) collect(c, &to, now_ns);
        if (c->ended && !to.n) return -2;
        refill(c, now_ns);
        nats_flush(&c->link);
        if (to.n || (got && now_ns < deadline_ns)) continue;
        if (c->link.state == NATS_DOWN) return -1;
        if (now_ns >= deadline_ns) {
            about[0] = now_ns;
            return c->link.state == NATS_UP ? 0 : -1;
        }
        nats_wait(&c->link, now_ns, deadline_ns);
    }
    about[0] = now_ns;
    refill(c, now_ns);
    nats_flush(&c->link);
    return to.n;
}

/* ---------------------------------------------------------------- giving back */

/* Until the server has seen all we wrote; what still arrives is given back. */
static void settle_with_server(consumer *c, int64_t deadline_ns) {
    nats_link *l = &c->link;
    nats_message m;
    int32_t number;
    int64_t wanted = l->pongs + 1, now_ns = bl_now_ns();
    nats_append(&l->out, "PING\r\n", 6);
    while (l->pongs < wanted && l->state == NATS_UP && now_ns < deadline_ns) {
        nats_flush(l);
        while (nats_next(l, &m))
            if (is_delivery(c, &m, now_ns, &number)) nats_publish(l, m.reply, m.reply_bytes, "-NAK", 4);
        if (l->pongs < wanted && !nats_read(l) && l->fd >= 0) nats_wait(l, now_ns, deadline_ns);
        now_ns = bl_now_ns();
    }
}

/* Give back what was not acknowledged, after ending the open pulls: the server would send it to them again. */
void bl_nats_give_back(consumer *c, int64_t deadline_ns) {
    if (c->policy == POLICY_NONE || c->link.state != NATS_UP) return;
    char line[32];
    for (int s = 0; s < c->streams; s++)
        nats_append(&c->link.out, line, (size_t)snprintf(line, sizeof line, "UNSUB %d\r\n", s + 1));
    settle_with_server(c, deadline_ns);
    for (int64_t i = c->first; i < c->end; i++)
        if (!c->held[i].done) tell(c, &c->held[i], "-NAK");
    c->first = c->end;
    forget_done(c);
    settle_with_server(c, deadline_ns);
}
