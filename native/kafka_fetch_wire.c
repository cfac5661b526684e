/* Kafka's Fetch protocol on plain connections: requests, and responses in any cut. Nothing here blocks or allocates per
 * message. Fetch version 11 is the last with plain encoding; it names topics, and brokers from 2.3 to 4.x answer it.
 * Requests are without a session: each says all there is to say. See Kafka's documentation, "protocol".
 */
#define _GNU_SOURCE
#include "kafka_fetch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_MOST = BL_READ_BYTES, READ_LEAST = BL_READ_BYTES / 4, FRAME_MOST = 1 << 30 };
enum { FETCH = 1, FETCH_VERSION = 11 };
#define SILENT_NS 20000000000 /* beyond what the broker may wait with its answer */

/* Where in a response we are. */
enum { FRAME, HEAD, TOPIC, PARTITION, BATCH, REST };

/* ---------------------------------------------------------------- connections */

/* What was received whole stays; what was half written or half read is gone. */
void fetch_hang_up(connection *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->in_flight = 0;
    c->step = FRAME;
    c->out.head = c->out.tail = 0;
    c->in.head = c->in.tail; /* only after `head` may anything be moved: see bytes_room */
}

void fetch_lose(fetcher *f, connection *c, const char *why) {
    snprintf(f->why, sizeof f->why, "%s", why);
    fetch_hang_up(c);
}

/* Adopt a non-blocking socket, connected or connecting. What the last one brought and was not taken comes again. */
void bl_fetch_attach(fetcher *f, int number, int fd) {
    connection *c = &f->connection[number];
    fetch_hang_up(c);
    c->fd = fd;
    c->in.head = c->in.tail = 0;
    c->first = c->end = c->opened = 0;
    c->need = 1;
    c->heard_ns = bl_now_ns();
    for (int i = 0; i < f->lanes; i++)
        if (f->lane[i].connection == number) f->lane[i].fetch_offset = f->lane[i].next_offset;
}

/* ---------------------------------------------------------------- requests */

static int is_fetched(const fetcher *f, int i, int number) {
    return f->lane[i].connection == number && f->lane[i].fetch_offset >= 0 && !f->error[i];
}

void fetch_flush(fetcher *f, connection *c) {
    if (c->fd < 0 || c->out.head == c->out.tail) return;
    ssize_t done = send(c->fd, c->out.data + c->out.head, c->out.tail - c->out.head, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0) c->out.head += (size_t)done;
    if (done < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fetch_lose(f, c, strerror(errno));
}

/* Ask for more from every partition of this connection. Each request begins with another one, so that none starves
 * when an answer is full; each stands with its topic, which may be said again. */
void fetch_request(fetcher *f, connection *c) {
    int number = (int)(c - f->connection), n = 0;
    for (int i = 0; i < f->lanes; i++) n += is_fetched(f, i, number);
    if (c->fd < 0 || c->in_flight || !n) return;
    bytes *b = &c->out;
    b->head = b->tail = 0;
    bytes_put(b, 0, 4); /* the size, known at the end */
    bytes_put(b, FETCH, 2), bytes_put(b, FETCH_VERSION, 2), bytes_put(b, ++c->correlation, 4);
    bytes_put_text(b, f->client);
    bytes_put(b, -1, 4), bytes_put(b, f->max_wait_ms, 4), bytes_put(b, f->min_bytes, 4), bytes_put(b, f->max_bytes, 4);
    bytes_put(b, 0, 1), bytes_put(b, 0, 4), bytes_put(b, -1, 4); /* uncommitted too; no session */
    bytes_put(b, n, 4);
    f->first_lane = (f->first_lane + 1) % f->lanes;
    for (int k = 0; k < f->lanes; k++) {
        int i = (f->first_lane + k) % f->lanes;
        if (!is_fetched(f, i, number)) continue;
        bytes_put_text(b, f->topic[i / f->partitions]);
        bytes_put(b, 1, 4), bytes_put(b, i % f->partitions, 4), bytes_put(b, -1, 4);
        bytes_put(b, f->lane[i].fetch_offset, 8), bytes_put(b, -1, 8), bytes_put(b, f->partition_bytes, 4);
    }
    bytes_put(b, 0, 4), bytes_put_text(b, "");
    bytes_put_at(b, 0, (int64_t)b->tail - 4, 4);
    c->in_flight = 1;
    c->heard_ns = bl_now_ns();
    fetch_flush(f, c);
}

/* ---------------------------------------------------------------- responses */

static void enqueue(connection *c, size_t length) {
    if (c->end == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->queue = realloc(c->queue, (size_t)c->capacity * sizeof *c->queue);
        if (!c->queue) abort();
    }
    c->queue[c->end++] = (waiting){c->in.head, length, c->lane};
}

static int topic_number(const fetcher *f, const uint8_t *name, size_t n) {
    for (int t = 0; t < f->topics; t++)
        if (strlen(f->topic[t]) == n && !memcmp(f->topic[t], name, n)) return t;
    return -1;
}

/* The next `n` bytes of the frame, NULL when they are not there yet (then `need` says so) or beyond its end (-1). */
static const uint8_t *peek(connection *c, int64_t n, int *malformed) {
    if (n > c->frame_left) {
        *malformed = 1;
        return NULL;
    }
    c->need = (size_t)n;
    return (int64_t)(c->in.tail - c->in.head) < n ? NULL : c->in.data + c->in.head;
}

static void pass(connection *c, int64_t n) {
    c->in.head += (size_t)n;
    c->frame_left -= n;
}

static int read_frame(connection *c, int *malformed) {
    c->frame_left = 8;
    const uint8_t *at = peek(c, 8, malformed);
    if (!at) return 0;
    int64_t size = bl_big32(at);
    if (size < 18 || size > FRAME_MOST || !c->in_flight || bl_big32(at + 4) != c->correlation) *malformed = 1;
    pass(c, 8);
    c->frame_left = size - 4;
    c->step = HEAD;
    return 1;
}

static int read_head(fetcher *f, connection *c, int *malformed) {
    const uint8_t *at = peek(c, 14, malformed);
    if (!at) return 0;
    int error = at[4] << 8 | at[5];
    c->topics_left = bl_big32(at + 10);
    if (error || c->topics_left < 0) {
        char why[64];
        snprintf(why, sizeof why, "the broker refused a fetch with error %d", error);
        fetch_lose(f, c, why);
        return 0;
    }
    pass(c, 14);
    c->step = TOPIC;
    return 1;
}

/* The end of a response is known here, before its messages are handed out: the next one is asked for meanwhile. */
static int read_topic(fetcher *f, connection *c, int *malformed) {
    if (!c->topics_left) {
        if (c->frame_left) *malformed = 1;
        c->step = FRAME;
        c->in_flight = 0;
        if (!*malformed) fetch_request(f, c);
        return 1;
    }
    const uint8_t *at = peek(c, 2, malformed);
    if (!at) return 0;
    int64_t n = at[0] << 8 | at[1];
    if (!(at = peek(c, 2 + n + 4, malformed))) return 0;
    c->topic = topic_number(f, at + 2, (size_t)n);
    c->partitions_left = bl_big32(at + 2 + n);
    if (c->partitions_left < 0) *malformed = 1;
    pass(c, 2 + n + 4);
    c->topics_left--;
    c->step = PARTITION;
    return 1;
}

static int read_partition(fetcher *f, connection *c, int *malformed) {
    if (!c->partitions_left) {
        c->step = TOPIC;
        return 1;
    }
    const uint8_t *at = peek(c, 34, malformed);
    if (!at) return 0;
    int32_t partition = bl_big32(at), error = (int16_t)(at[4] << 8 | at[5]), aborted = bl_big32(at + 30);
    int64_t n = 34 + (aborted > 0 ? 16 * (int64_t)aborted : 0) + 8; /* ...preferred replica, size of the records */
    if (!(at = peek(c, n, malformed))) return 0;
    int32_t size = bl_big32(at + n - 4);
    int known = c->topic >= 0 && partition >= 0 && partition < f->partitions;
    c->lane = known ? c->topic * f->partitions + partition : -1;
    /* Another node leads it now: what this one still says does not count. */
    if (known && f->lane[c->lane].connection != (int)(c - f->connection)) c->lane = -1;
    if (c->lane >= 0) f->error[c->lane] = error;
    c->records_left = size > 0 ? size : 0;
    pass(c, n);
    if (c->records_left > c->frame_left) *malformed = 1;
    c->partitions_left--;
    c->step = c->lane >= 0 && !error ? BATCH : REST;
    return 1;
}

/* A whole batch goes to the queue. The last of a partition may be cut off by the broker: it comes with the next fetch. */
static int read_batch(fetcher *f, connection *c, int *malformed) {
    c->step = REST;
    if (c->records_left < BL_BATCH_HEADER_BYTES) return 1;
    c->step = BATCH;
    const uint8_t *at = peek(c, BL_BATCH_HEADER_BYTES, malformed);
    if (!at) return 0;
    int64_t length = (int64_t)bl_big32(at + 8) + 12;
    if (length < BL_BATCH_HEADER_BYTES) {
        *malformed = 1;
        return 0;
    }
    if (length > c->records_left) {
        c->step = REST;
        return 1;
    }
    if (!(at = peek(c, length, malformed))) return 0;
    int64_t base = bl_big64(at), last_delta = bl_big32(at + 23);
    if (base < 0 || base > INT64_MAX - INT32_MAX - 1 || last_delta < 0) {
        *malformed = 1;
        return 0;
    }
    int64_t behind = base + last_delta + 1;
    if (behind > f->lane[c->lane].fetch_offset) f->lane[c->lane].fetch_offset = behind;
    enqueue(c, (size_t)length);
    pass(c, length);
    c->records_left -= length;
    return 1;
}

static int pass_rest(connection *c) {
    int64_t there = (int64_t)(c->in.tail - c->in.head), n = there < c->records_left ? there : c->records_left;
    pass(c, n);
    c->records_left -= n;
    c->need = 1;
    if (c->records_left) return 0;
    c->step = PARTITION;
    return 1;
}

/* Understand what was read, as far as it goes. */
static void understand(fetcher *f, connection *c) {
    int more = 1, malformed = 0;
    while (more && !malformed && c->fd >= 0) switch (c->step) {
        case FRAME: more = read_frame(c, &malformed); break;
        case HEAD: more = read_head(f, c, &malformed); break;
        case TOPIC: more = read_topic(f, c, &malformed); break;
        case PARTITION: more = read_partition(f, c, &malformed); break;
        case BATCH: more = read_batch(f, c, &malformed); break;
        default: more = pass_rest(c);
        }
    if (malformed) fetch_lose(f, c, "an answer that is no fetch response");
}

/* One read, only when all that was read before was handed out. Returns whether anything came or was lost. */
int fetch_read(fetcher *f, connection *c) {
    if (c->fd < 0 || c->first < c->end) return 0;
    size_t there = c->in.tail - c->in.head;
    uint8_t *at = bytes_room(&c->in, c->need > there + READ_LEAST ? c->need - there : READ_LEAST, 2 * READ_MOST);
    size_t free_bytes = c->in.capacity - c->in.tail;
    ssize_t got = recv(c->fd, at, free_bytes < READ_MOST ? free_bytes : READ_MOST, MSG_DONTWAIT);
    int64_t now_ns = bl_now_ns();
    if (got > 0) {
        c->in.tail += (size_t)got;
        c->heard_ns = c->arrived_ns = now_ns;
        if (there + (size_t)got >= c->need) understand(f, c);
        return 1;
    }
    if (got == 0)
        fetch_lose(f, c, "the broker closed the connection");
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        fetch_lose(f, c, strerror(errno));
    else if (c->in_flight && now_ns - c->heard_ns > SILENT_NS + 1000000 * f->max_wait_ms)
        fetch_lose(f, c, "the broker does not answer");
    return c->fd < 0;
}

