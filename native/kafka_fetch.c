/* The Kafka path of a consumer on plain connections: Kafka's own Fetch requests, one connection to each leader, and
 * messages as addresses into the receive buffer. librdkafka makes an object of every message; here nothing is made.
 *
 * Python opens the sockets (non-blocking), says who leads which partition and deals with errors; see driver_fetch.py.
 */
#define _GNU_SOURCE
#include "kafka_fetch.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAD_MOST = 3 };
#define CARE_NS 10000000 /* how often Python is asked to look after what is broken */

/* What bl_fetch_receive returns when it has no messages: nothing came; something is to be mended; it cannot go on. */
enum { NOTHING = 0, CARE = -1, DAMAGED = -2, UNSUPPORTED = -3 };

fetcher *bl_fetch_new(const char *client, const char **topics, int n, int partitions, const int64_t *settings) {
    fetcher *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->client = bl_copied(client);
    f->topics = n;
    f->partitions = partitions;
    f->lanes = n * partitions;
    f->topic = calloc((size_t)n, sizeof *f->topic);
    f->lane = calloc((size_t)f->lanes, sizeof *f->lane);
    f->received = calloc((size_t)f->lanes, sizeof *f->received);
    f->error = calloc((size_t)f->lanes, sizeof *f->error);
    if (!f->client || !f->topic || !f->lane || !f->received || !f->error) abort();
    for (int t = 0; t < n; t++) f->topic[t] = bl_copied(topics[t]);
    for (int i = 0; i < f->lanes; i++) {
        f->lane[i] = (lane){-1, -1, -1, 0};
        f->received[i] = -1;
    }
    f->max_wait_ms = settings[0], f->min_bytes = settings[1], f->max_bytes = settings[2];
    f->partition_bytes = settings[3], f->check_crc = settings[4];
    for (int k = 0; k < FETCH_CONNECTIONS; k++) f->connection[k].fd = -1;
    return f;
}

void bl_fetch_free(fetcher *f) {
    for (int k = 0; k < FETCH_CONNECTIONS; k++) {
        fetch_hang_up(&f->connection[k]);
        free(f->connection[k].in.data);
        free(f->connection[k].out.data);
        free(f->connection[k].queue);
    }
    for (int t = 0; t < f->topics; t++) free(f->topic[t]);
    free(f->topic);
    free(f->client);
    free(f->lane);
    free(f->received);
    free(f->error);
    free(f);
}

/* From now on the partition is fetched over this connection, or over none (-1); its error is forgotten. */
void bl_fetch_lead(fetcher *f, int number, int connection_number) {
    lane *l = &f->lane[number];
    if (l->connection != connection_number || f->error[number]) l->fetch_offset = l->next_offset;
    l->connection = connection_number;
    f->error[number] = 0;
}

void bl_fetch_seek(fetcher *f, int number, int64_t offset) {
    f->lane[number].fetch_offset = f->lane[number].next_offset = offset;
    f->error[number] = 0;
}

int bl_fetch_is_up(const fetcher *f, int number) { return f->connection[number].fd >= 0; }
const int64_t *bl_fetch_positions(const fetcher *f) { return f->received; }
const int32_t *bl_fetch_errors(const fetcher *f) { return f->error; }
const char *bl_fetch_why(const fetcher *f) { return f->why; }

/* ---------------------------------------------------------------- handing out */

typedef struct {
    uint64_t *addresses;
    int32_t *lengths;
    int64_t *positions;
    int64_t n, most;
} columns;

/* A batch that cannot be right is fetched again; one that stays so ends it. */
static void refuse(fetcher *f, connection *c, const waiting *w) {
    lane *l = &f->lane[w->lane];
    c->first = c->end = c->opened = 0;
    fetch_lose(f, c, "a batch that is damaged");
    if (++l->bad < BAD_MOST) return;
    f->ended = DAMAGED;
    snprintf(f->why, sizeof f->why, "the batch of %.160s [%d] at offset %lld is damaged",
             f->topic[w->lane / f->partitions], w->lane % f->partitions, (long long)l->next_offset);
}

static int open_batch(fetcher *f, connection *c, const waiting *w) {
    if (c->opened) return 1;
    int found = bl_batch_open(c->in.data + w->at, (int64_t)w->bytes, (int)f->check_crc, &c->batch);
    if (found == BL_BATCH_DAMAGED) refuse(f, c, w);
    if (found == BL_BATCH_UNSUPPORTED) f->ended = UNSUPPORTED;
    c->opened = found == BL_BATCH_READABLE;
    return c->opened;
}

static void hand_out(fetcher *f, connection *c, columns *to) {
    while (c->first < c->end && to->n < to->most) {
        const waiting *w = &c->queue[c->first];
        lane *l = &f->lane[w->lane];
        if (!open_batch(f, c, w)) break;
        int64_t got = bl_batch_next(&c->batch, l->next_offset, to->addresses + to->n, to->lengths + to->n,
                                    to->positions + to->n, to->most - to->n);
        to->n += got;
        if (got) {
            f->received[w->lane] = l->next_offset = to->positions[to->n - 1] + 1;
            l->bad = 0;
        }
        if (c->batch.damaged) {
            refuse(f, c, w);
            break;
        }
        if (c->batch.left) break;
        if (c->batch.end_offset > l->next_offset) l->next_offset = c->batch.end_offset;
        f->received[w->lane] = l->next_offset;
        c->opened = 0;
        c->first++;
    }
    if (c->first == c->end) c->first = c->end = 0;
}

/* Whether a partition has an error, no leader to fetch it from, or a connection that is down. */
static int needs_care(const fetcher *f) {
    for (int i = 0; i < f->lanes; i++) {
        const lane *l = &f->lane[i];
        if (l->next_offset >= 0 && (f->error[i] || l->connection < 0 || f->connection[l->connection].fd < 0)) return 1;
    }
    return 0;
}

static void wait_until(const fetcher *f, int64_t now_ns, int64_t until_ns) {
    struct pollfd polled[FETCH_CONNECTIONS];
    nfds_t n = 0;
    for (int k = 0; k < FETCH_CONNECTIONS; k++) {
        const connection *c = &f->connection[k];
        if (c->fd >= 0)
            polled[n++] = (struct pollfd){c->fd, (short)(POLLIN | (c->out.head < c->out.tail ? POLLOUT : 0)), 0};
    }
    int64_t left = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec limit = {left / 1000000000, left % 1000000000};
    ppoll(polled, n, &limit, NULL);
}

/* Messages that were read already, of the next connection in turn that has some. */
static int64_t take(fetcher *f, columns *to, int64_t *arrived_ns) {
    for (int k = 0; k < FETCH_CONNECTIONS && !to->n; k++) {
        connection *c = &f->connection[(f->turn + k) % FETCH_CONNECTIONS];
        if (c->first == c->end) continue;
        *arrived_ns = c->arrived_ns;
        hand_out(f, c, to);
        if (c->first == c->end) f->turn = (f->turn + k + 1) % FETCH_CONNECTIONS;
    }
    return to->n;
}

/* What is there, or the first that comes before the deadline; addresses hold until the next call. about[0] gets the
 * time of arrival, about[1] whether something needs care. Returns how many, or one of the codes above. */
int64_t bl_fetch_receive(fetcher *f, int64_t deadline_ns, int64_t most, uint64_t *addresses, int32_t *lengths,
                         int64_t *positions, int64_t *about) {
    columns to = {addresses, lengths, positions, 0, most};
    int64_t now_ns = bl_now_ns(), care_ns = now_ns + CARE_NS;
    for (;;) {
        if (take(f, &to, &about[0])) {
            about[1] = needs_care(f);
            return to.n;
        }
        if (f->ended) return f->ended;
        int came = 0;
        for (int k = 0; k < FETCH_CONNECTIONS && most > 0; k++) {
            connection *c = &f->connection[k];
            if (c->fd < 0) continue;
            fetch_request(f, c);
            fetch_flush(f, c);
            came += fetch_read(f, c);
        }
        now_ns = bl_now_ns();
        if (came && now_ns < deadline_ns) continue;
        about[1] = needs_care(f);
        int64_t until_ns = about[1] && care_ns < deadline_ns ? care_ns : deadline_ns;
        if (now_ns >= until_ns || most <= 0) {
            about[0] = now_ns;
            if (take(f, &to, &about[0])) return to.n; /* what came with the last read */
            return about[1] ? CARE : NOTHING;
        }
        wait_until(f, now_ns, until_ns);
    }
}
