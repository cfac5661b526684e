/* Kafka's Produce protocol on plain connections: requests of one batch for each partition, and their answers. Nothing
 * here blocks. Produce version 7 is answered by brokers from 2.1 to 4.x. See Kafka's documentation, "protocol".
 */
#define _GNU_SOURCE
#include "kafka_produce.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PRODUCE = 0, PRODUCE_VERSION = 7 };
enum { READ_LEAST = 16 << 10, FRAME_MOST = 16 << 20, PIECES_AT_ONCE = 256 };

/* ---------------------------------------------------------------- how a batch ends */

void produce_finish(producer *p, batch *b, int32_t code, int64_t at_ns) {
    b->code = code;
    b->at_ns = at_ns;
    batches_add(&p->done, b);
    p->unsettled -= b->count;
}

/* Codes after which the client tries again: the same as librdkafka's. 0 is none, 1 retries, 2 after asking who leads. */
static int is_retried(int32_t code) {
    switch (code) {
    case 2:  /* CORRUPT_MESSAGE */
    case 7:  /* REQUEST_TIMED_OUT */
    case 19: /* NOT_ENOUGH_REPLICAS */
    case 20: /* NOT_ENOUGH_REPLICAS_AFTER_APPEND */
        return 1;
    case 3:  /* UNKNOWN_TOPIC_OR_PARTITION */
    case 5:  /* LEADER_NOT_AVAILABLE */
    case 6:  /* NOT_LEADER_OR_FOLLOWER */
    case 8:  /* BROKER_NOT_AVAILABLE */
    case 9:  /* REPLICA_NOT_AVAILABLE */
    case 13: /* NETWORK_EXCEPTION */
    case 56: /* KAFKA_STORAGE_ERROR */
    case 74: /* FENCED_LEADER_EPOCH */
    case 75: /* UNKNOWN_LEADER_EPOCH */
    case PRODUCE_TRANSPORT:
        return 2;
    default: return 0;
    }
}

/* A batch was answered, or its connection is gone. One to be tried again goes to its lane's `again`. */
static void answered(producer *p, batch *b, int32_t code, int64_t now_ns) {
    lane *l = &p->lane[b->lane];
    int again = is_retried(code);
    if (again && b->kafka.attempts++ < p->retries) {
        batches_add(&l->again, b);
        p->tried_again = 1;
        l->not_before_ns = now_ns + p->backoff_ns;
        if (again == 2 && code > 0) l->error = code;
    } else {
        produce_finish(p, b, code, now_ns);
    }
}

/* What is tried again goes before what waits. Later requests of the lane are still under way when it is a request in
 * the middle that failed: then messages change places, as with any Kafka client that is not idempotent. */
static void put_again_first(producer *p) {
    for (int i = 0; i < p->lanes && p->tried_again; i++) batches_put_first(&p->lane[i].waiting, &p->lane[i].again);
    p->tried_again = 0;
    p->look_ns = 0;
}

/* ---------------------------------------------------------------- requests */

request *produce_request(producer *p) {
    request *r = p->spare_requests;
    if (r)
        p->spare_requests = r->next;
    else if (!(r = calloc(1, sizeof *r)))
        abort();
    r->next = NULL;
    r->head.head = r->head.tail = 0;
    r->batches = r->pieces = 0;
    return r;
}

static void release(producer *p, request *r) {
    r->next = p->spare_requests;
    p->spare_requests = r;
}

/* One batch more, of a lane behind those already there. */
void produce_add(request *r, batch *b) {
    if (r->batches == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 8;
        r->batch = realloc(r->batch, (size_t)r->capacity * sizeof *r->batch);
        r->piece = realloc(r->piece, (size_t)r->capacity * 2 * sizeof *r->piece);
        if (!r->batch || !r->piece) abort();
    }
    r->batch[r->batches++] = b;
}

static int topic_of(const producer *p, const batch *b) { return b->lane / p->partitions; }

static int count_topics(const producer *p, const request *r) {
    int n = 0;
    for (int i = 0; i < r->batches; i++) n += !i || topic_of(p, r->batch[i]) != topic_of(p, r->batch[i - 1]);
    return n;
}

static int partitions_of(const producer *p, const request *r, int from) {
    int n = 1;
    while (from + n < r->batches && topic_of(p, r->batch[from + n]) == topic_of(p, r->batch[from])) n++;
    return n;
}

/* Write the head around the batches. `from[i]` is where the part before batch i begins. */
static void encode(const producer *p, connection *c, request *r, size_t *from) {
    bytes *h = &r->head;
    size_t all = 0;
    for (int i = 0; i < r->batches; i++) all += r->batch[i]->size;
    bytes_put(h, 0, 4); /* the size, known at the end */
    bytes_put(h, PRODUCE, 2), bytes_put(h, PRODUCE_VERSION, 2), bytes_put(h, r->correlation = ++c->correlation, 4);
    bytes_put_text(h, p->client);
    bytes_put(h, -1, 2), bytes_put(h, p->acks, 2), bytes_put(h, p->request_timeout_ms, 4); /* no transaction */
    bytes_put(h, count_topics(p, r), 4);
    for (int i = 0; i < r->batches; i++) {
        from[i] = i ? h->tail : 0;
        const batch *b = r->batch[i];
        if (!i || topic_of(p, b) != topic_of(p, r->batch[i - 1])) {
            bytes_put_text(h, p->topic[topic_of(p, b)]);
            bytes_put(h, partitions_of(p, r, i), 4);
        }
        bytes_put(h, b->lane % p->partitions, 4), bytes_put(h, (int64_t)b->size, 4);
    }
    bytes_put_at(h, 0, (int64_t)(h->tail - 4 + all), 4);
}

/* The request is whole: it is written as the connection takes it. */
void produce_begin(producer *p, connection *c, request *r, int64_t now_ns) {
    size_t from[r->batches];
    encode(p, c, r, from);
    for (int i = 0; i < r->batches; i++) {
        size_t to = i + 1 < r->batches ? from[i + 1] : r->head.tail;
        r->piece[r->pieces++] = (struct iovec){r->head.data + from[i], to - from[i]};
        r->piece[r->pieces++] = (struct iovec){r->batch[i]->data, r->batch[i]->size};
    }
    r->made_ns = now_ns;
    if (c->last)
        c->last->next = r;
    else
        c->first = r;
    c->last = r;
    if (!c->writing) c->writing = r, c->piece = 0, c->piece_done = 0;
    c->in_flight++;
}

/* `done` bytes were written. */
static void advance(connection *c, size_t done) {
    while (c->writing) {
        size_t left = c->writing->piece[c->piece].iov_len - c->piece_done;
        if (done < left) {
            c->piece_done += done;
            return;
        }
        done -= left;
        c->piece_done = 0;
        if (++c->piece == c->writing->pieces) c->writing = c->writing->next, c->piece = 0;
    }
}

static int gather(const connection *c, struct iovec *to) {
    int n = 0;
    size_t skip = c->piece_done;
    int i = c->piece;
    for (const request *r = c->writing; r && n < PIECES_AT_ONCE; r = r->next, i = 0)
        for (; i < r->pieces && n < PIECES_AT_ONCE; i++, skip = 0)
            to[n++] = (struct iovec){(uint8_t *)r->piece[i].iov_base + skip, r->piece[i].iov_len - skip};
    return n;
}

/* With acks=0 no answer comes. A message has settled when the socket has taken its request whole: what becomes of it is
 * not known, and "handed to the network" is all that is said of it. */
static void settle_written(producer *p, connection *c) {
    int64_t now_ns = bl_now_ns();
    while (c->first && c->first != c->writing) {
        request *r = c->first;
        c->first = r->next;
        for (int i = 0; i < r->batches; i++) produce_finish(p, r->batch[i], 0, now_ns);
        c->in_flight--;
        release(p, r);
        p->look_ns = 0;
    }
    if (!c->first) c->last = NULL;
}

void produce_flush(producer *p, connection *c, int64_t now_ns) {
    struct iovec piece[PIECES_AT_ONCE];
    while (c->fd >= 0 && c->writing) {
        struct msghdr what = {.msg_iov = piece, .msg_iovlen = (size_t)gather(c, piece)};
        ssize_t done = sendmsg(c->fd, &what, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done > 0) {
            advance(c, (size_t)done);
            if (!p->acks) settle_written(p, c);
        } else if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN))
            return; /* not connected: a socket that is still connecting */
        else
            produce_lose(p, c, strerror(errno), now_ns);
    }
}

/* ---------------------------------------------------------------- connections */

static void hang_up(connection *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->in_flight = 0;
    c->writing = NULL;
    c->in.head = c->in.tail = 0;
}

/* What became of the requests under way is unknown: their batches are tried again. */
void produce_lose(producer *p, connection *c, const char *why, int64_t now_ns) {
    snprintf(p->why, sizeof p->why, "%s", why);
    hang_up(c);
    while (c->first) {
        request *r = c->first;
        c->first = r->next;
        for (int i = 0; i < r->batches; i++)
            if (r->batch[i]) answered(p, r->batch[i], PRODUCE_TRANSPORT, now_ns);
        release(p, r);
    }
    c->last = NULL;
    put_again_first(p);
}

/* Adopt a non-blocking socket, connected or connecting. */
void bl_produce_attach(producer *p, int number, int fd) {
    connection *c = &p->connection[number];
    if (number >= p->used) p->used = number + 1;
    if (c->fd >= 0) produce_lose(p, c, "another connection took its place", bl_now_ns());
    c->fd = fd;
    p->look_ns = 0;
}

/* ---------------------------------------------------------------- answers */

typedef struct {
    const uint8_t *at, *end;
    int malformed;
} reader;

static int64_t get(reader *r, int width) {
    if (r->end - r->at < width) {
        r->malformed = 1;
        return 0;
    }
    int64_t value = (int8_t)r->at[0];
    for (int i = 1; i < width; i++) value = (int64_t)((uint64_t)value << 8 | r->at[i]);
    r->at += width;
    return value;
}

static int topic_number(const producer *p, reader *r) {
    int64_t n = get(r, 2);
    if (n < 0 || r->end - r->at < n) {
        r->malformed = 1;
        return -1;
    }
    const uint8_t *name = r->at;
    r->at += n;
    for (int t = 0; t < p->topics; t++)
        if (strlen(p->topic[t]) == (size_t)n && !memcmp(p->topic[t], name, (size_t)n)) return t;
    return -1;
}

/* What the broker says of one partition; a partition that was not asked about makes the answer malformed. */
static void settle_lane(producer *p, request *asked, int lane_number, int32_t code, reader *r, int64_t now_ns) {
    for (int i = 0; i < asked->batches; i++) {
        batch *b = asked->batch[i];
        if (!b || b->lane != lane_number) continue;
        asked->batch[i] = NULL;
        answered(p, b, code, now_ns);
        return;
    }
    r->malformed = 1;
}

static void understand(producer *p, request *asked, reader *r, int64_t now_ns) {
    for (int64_t topics = get(r, 4); topics > 0 && !r->malformed; topics--) {
        int topic = topic_number(p, r);
        for (int64_t n = get(r, 4); n > 0 && !r->malformed; n--) {
            int64_t partition = get(r, 4);
            int32_t code = (int32_t)get(r, 2);
            get(r, 8), get(r, 8), get(r, 8); /* offset, time, beginning of the log */
            int known = topic >= 0 && partition >= 0 && partition < p->partitions;
            if (!r->malformed)
                settle_lane(p, asked, known ? topic * p->partitions + (int)partition : -1, code, r, now_ns);
        }
    }
    get(r, 4); /* throttled for so long */
    if (r->at != r->end) r->malformed = 1;
    for (int i = 0; i < asked->batches; i++)
        if (asked->batch[i]) r->malformed = 1;
}

/* The next whole answer, if there is one. Returns whether there was. */
static int take_answer(producer *p, connection *c, int64_t now_ns) {
    size_t there = c->in.tail - c->in.head;
    if (there < 4 || c->fd < 0) return 0;
    const uint8_t *at = c->in.data + c->in.head;
    int64_t size = bl_big32(at);
    request *asked = c->first;
    int malformed = size < 4 || size > FRAME_MOST || !asked;
    if (!malformed && (int64_t)there < 4 + size) return 0;
    malformed = malformed || c->writing == asked || bl_big32(at + 4) != asked->correlation;
    if (!malformed) {
        reader r = {at + 8, at + 4 + size, 0};
        understand(p, asked, &r, now_ns);
        malformed = r.malformed;
    }
    if (malformed) {
        produce_lose(p, c, "an answer that is no produce response", now_ns);
        return 0;
    }
    c->in.head += (size_t)(4 + size);
    c->first = asked->next;
    if (!c->first) c->last = NULL;
    c->in_flight--;
    release(p, asked);
    put_again_first(p);
    return 1;
}

/* What has come, and whether the oldest request waits for too long. */
void produce_read(producer *p, connection *c) {
    while (c->fd >= 0) {
        uint8_t *at = bytes_room(&c->in, READ_LEAST, READ_LEAST);
        size_t free_bytes = c->in.capacity - c->in.tail;
        ssize_t got = recv(c->fd, at, free_bytes, MSG_DONTWAIT);
        int64_t now_ns = bl_now_ns();
        if (got > 0) {
            c->in.tail += (size_t)got;
            while (take_answer(p, c, now_ns)) {
            }
            if ((size_t)got < free_bytes) return;
            continue;
        }
        int late = c->first && now_ns - c->first->made_ns > (p->request_timeout_ms + 1000) * 1000000;
        if (got == 0)
            produce_lose(p, c, "the broker closed the connection", now_ns);
        else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOTCONN)
            produce_lose(p, c, strerror(errno), now_ns);
        else if (late)
            produce_lose(p, c, "the broker does not answer", now_ns);
        return;
    }
}
