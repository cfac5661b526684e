/* The Kafka path of a producer on plain connections: messages are written into record batches as they come, and the
 * batches of a leader's partitions are sent as one request when they are full or have lingered. One thread, the
 * agent's own: nothing is handed over and no thread is woken. What fails and may be tried again is, as by librdkafka.
 */
#define _GNU_SOURCE
#include "kafka_produce.h"
#include <stdlib.h>

producer *bl_produce_new(const char *client, const char **topics, int n, int partitions, const int64_t *settings) {
    producer *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->client = bl_copied(client);
    p->topics = n;
    p->partitions = partitions;
    p->lanes = n * partitions;
    p->topic = calloc((size_t)n, sizeof *p->topic);
    p->lane = calloc((size_t)p->lanes, sizeof *p->lane);
    if (!p->client || !p->topic || !p->lane) abort();
    for (int t = 0; t < n; t++) p->topic[t] = bl_copied(topics[t]);
    for (int i = 0; i < p->lanes; i++) p->lane[i].connection = -1;
    p->acks = settings[0], p->linger_ns = settings[1], p->batch_bytes = settings[2], p->batch_messages = settings[3];
    p->in_flight_most = settings[4], p->request_bytes = settings[5], p->request_timeout_ms = settings[6];
    p->message_timeout_ns = settings[7], p->retries = settings[8], p->backoff_ns = settings[9];
    for (int k = 0; k < PRODUCE_CONNECTIONS; k++) p->connection[k].fd = -1;
    p->look_ns = INT64_MAX;
    return p;
}

void bl_produce_free(producer *p) {
    for (int k = 0; k < PRODUCE_CONNECTIONS; k++) {
        produce_lose(p, &p->connection[k], "closed", 0);
        free(p->connection[k].in.data);
    }
    for (int i = 0; i < p->lanes; i++) {
        batches_free(&p->lane[i].waiting);
        if (p->lane[i].open) batch_free(p->lane[i].open);
    }
    batches_free(&p->done);
    batches_free(&p->spare_batches);
    for (request *r; (r = p->spare_requests);) {
        p->spare_requests = r->next;
        free(r->head.data);
        free(r->piece);
        free(r->batch);
        free(r);
    }
    for (int t = 0; t < p->topics; t++) free(p->topic[t]);
    free(p->topic);
    free(p->client);
    free(p->lane);
    free(p);
}

/* From now on the partition is sent over this connection, or over none (-1); its error is forgotten. */
void bl_produce_lead(producer *p, int number, int connection_number) {
    p->lane[number].connection = connection_number;
    p->lane[number].error = 0;
    p->look_ns = 0;
}

int bl_produce_is_up(const producer *p, int number) { return p->connection[number].fd >= 0; }
/* For tests. */
int bl_produce_error(const producer *p, int number) { return p->lane[number].error; }
const char *bl_produce_why(const producer *p) { return p->why; }
int64_t bl_produce_unsettled(const producer *p) { return p->unsettled; }

/* ---------------------------------------------------------------- batches become requests */

static void seal_open(producer *p, lane *l) {
    batch_seal(l->open);
    batches_add(&l->waiting, l->open);
    l->open = NULL;
    p->look_ns = 0;
}

/* When the lane's first batch may go; INT64_MAX while it has none, or an error. */
static int64_t ready_ns(const producer *p, const lane *l) {
    int64_t at = INT64_MAX;
    if (l->error) return at;
    if (l->waiting.first)
        at = 0;
    else if (l->open)
        at = l->open->made_ns + p->linger_ns;
    return at > l->not_before_ns ? at : l->not_before_ns;
}

/* One request with a batch of every lane of this connection that is ready. Returns whether there was one; *next gets
 * the earliest time at which a lane that is not ready will be. */
static int request_what_is_ready(producer *p, int number, int64_t now_ns, int64_t *next_ns) {
    connection *c = &p->connection[number];
    request *r = NULL;
    int64_t size = 0;
    for (int i = 0; i < p->lanes; i++) {
        lane *l = &p->lane[i];
        if (l->connection != number) continue;
        int64_t at = ready_ns(p, l);
        if (at > now_ns) {
            if (at < *next_ns) *next_ns = at;
            continue;
        }
        if (!l->waiting.first) seal_open(p, l);
        if (r && size + (int64_t)l->waiting.first->size > p->request_bytes) continue;
        if (!r) r = produce_request(p);
        size += (int64_t)l->waiting.first->size;
        produce_add(r, batches_take(&l->waiting));
    }
    if (r) produce_begin(p, c, r, now_ns);
    return r != NULL;
}

static void send_what_is_ready(producer *p, int64_t now_ns) {
    if (now_ns < p->look_ns) return;
    int64_t next_ns = INT64_MAX;
    for (int k = 0; k < p->used; k++) {
        connection *c = &p->connection[k];
        if (c->fd < 0) continue;
        int more = 1; /* where no answer is waited for (acks=0), as long as the socket takes all there is */
        while (more && c->fd >= 0) {
            more = c->in_flight > 0; /* what was not written before may have kept others from being asked for */
            while (c->in_flight < p->in_flight_most && request_what_is_ready(p, k, now_ns, &next_ns)) more = 1;
            produce_flush(p, c, now_ns);
            more = more && !c->in_flight;
        }
    }
    p->look_ns = next_ns;
}

static void expire(producer *p, int64_t now_ns) {
    if (now_ns < p->expire_ns) return;
    p->expire_ns = now_ns + EXPIRE_NS;
    int64_t before_ns = now_ns - p->message_timeout_ns;
    for (int i = 0; i < p->lanes; i++) {
        lane *l = &p->lane[i];
        while (l->waiting.first && l->waiting.first->made_ns < before_ns)
            produce_finish(p, batches_take(&l->waiting), PRODUCE_TIMED_OUT, now_ns);
        if (l->open && l->open->made_ns < before_ns) {
            produce_finish(p, l->open, PRODUCE_TIMED_OUT, now_ns);
            l->open = NULL;
        }
    }
}

/* Whether a partition with messages has an error, no leader to send to, or a connection that is down. */
int bl_produce_needs_care(const producer *p) {
    for (int i = 0; i < p->lanes; i++) {
        const lane *l = &p->lane[i];
        int has = l->open || l->waiting.first;
        if (l->error || (has && (l->connection < 0 || p->connection[l->connection].fd < 0))) return 1;
    }
    return 0;
}

/* A connection over which nothing is awaited is not looked at: should it be gone, its next request finds out. With acks=0
 * it is: closing it is how a broker refuses such a request, and the next one would be lost in a socket that is gone. */
static void work(producer *p) {
    for (int k = 0; k < p->used; k++)
        if (p->connection[k].in_flight || !p->acks) produce_read(p, &p->connection[k]);
    int64_t now_ns = bl_now_ns();
    for (int k = 0; k < p->used; k++) produce_flush(p, &p->connection[k], now_ns);
    expire(p, now_ns);
    send_what_is_ready(p, now_ns);
}

/* ---------------------------------------------------------------- what the agent calls */

/* Takes all messages: the window is the agent's. They are sent by the next `settled`, so that the others of this tick do
 * not wait for a socket. Keys are 4 bytes each; `keys` may be NULL. */
int64_t bl_produce_send(producer *p, const uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                        const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n) {
    int64_t now_ns = bl_now_ns(), now_ms = bl_unix_ms();
    for (int64_t i = 0; i < n; i++) {
        lane *l = &p->lane[partitions[i]];
        const uint8_t *value = buffer + offsets[i], *key = keys ? keys + 4 * i : NULL;
        if (l->open && l->open->count < p->batch_messages &&
            batch_append(l->open, p->batch_bytes, value, lengths[i], key, first_index + i, now_ms))
            continue;
        if (l->open) seal_open(p, l);
        l->open = batch_new(&p->spare_batches, partitions[i], now_ns, now_ms);
        if (now_ns + p->linger_ns < p->look_ns) p->look_ns = now_ns + p->linger_ns;
        batch_append(l->open, p->batch_bytes, value, lengths[i], key, first_index + i, now_ms);
    }
    p->unsettled += n;
    return n;
}

/* Send and receive what is possible now, and say what has settled: message number, code (0 is an acknowledgement) and
 * time. At most `most`; CARE instead, when something is to be mended. */
int64_t bl_produce_settled(producer *p, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most) {
    work(p);
    if (!most) return 0;
    int64_t now_ns = bl_now_ns();
    if (now_ns >= p->care_ns && bl_produce_needs_care(p)) {
        p->care_ns = now_ns + CARE_NS;
        return CARE;
    }
    return batches_report(&p->done, &p->spare_batches, indices, codes, at_ns, most);
}

/* Connections that owe an answer, but no more than in_flight_most of them. */
static int64_t awaited(const producer *p, int in_flight_most, struct pollfd *to, int64_t most) {
    int64_t n = 0;
    for (int k = 0; k < p->used && n < most; k++) {
        const connection *c = &p->connection[k];
        if (c->fd < 0 || !c->in_flight || c->in_flight > in_flight_most) continue;
        to[n++] = (struct pollfd){c->fd, (short)(POLLIN | (c->writing ? POLLOUT : 0)), 0};
    }
    return n;
}

/* What to wait for, and in *wake_ns the time at which something is to be done anyway. */
int64_t bl_produce_watch(const producer *p, struct pollfd *to, int64_t most, int64_t *wake_ns) {
    *wake_ns = p->look_ns;
    return awaited(p, PROMPT_MOST, to, most);
}

/* Wait until nothing is outstanding, or the deadline. What settles meanwhile can still be asked for. */
void bl_produce_flush(producer *p, int64_t deadline_ns) {
    struct pollfd polled[PRODUCE_CONNECTIONS];
    p->linger_ns = 0;
    p->look_ns = 0;
    for (;;) {
        work(p);
        int64_t now_ns = bl_now_ns(), n = awaited(p, INT32_MAX, polled, PRODUCE_CONNECTIONS);
        if (!p->unsettled || (!n && p->look_ns == INT64_MAX) || now_ns >= deadline_ns) return;
        bl_poll_until(polled, n, p->look_ns < deadline_ns ? p->look_ns : deadline_ns);
    }
}
