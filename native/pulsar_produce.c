/* The Pulsar path of a producer on plain connections: messages are written into batches as they come, and a lane's batch
 * is sent when it is full or has lingered. One thread, the agent's own: nothing is handed over and no thread is woken. */
#define _GNU_SOURCE
#include "pulsar_produce.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IDLE_NS 10000000 /* how often a connection over which no answer is awaited is looked at */

/* settings: linger in ns; most bytes and messages of a batch; whether there are batches; most bytes of a message;
 * after how many ns a message is given up. No lane has a connection yet. */
producer *bl_pulsar_sender_new(int lanes, const int64_t *settings) {
    producer *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->lanes = p->down = lanes;
    p->lane = calloc((size_t)lanes, sizeof *p->lane);
    if (!p->lane) abort();
    for (int i = 0; i < lanes; i++) p->lane[i].connection = -1;
    p->linger_ns = settings[0], p->batch_bytes = settings[1], p->batch_messages = settings[2];
    p->batching = settings[3] != 0, p->message_most = settings[4], p->timeout_ns = settings[5];
    for (int k = 0; k < PULSAR_CONNECTIONS; k++) p->connection[k].link.fd = -1;
    p->look_ns = INT64_MAX;
    return p;
}

void bl_pulsar_sender_free(producer *p) {
    for (int k = 0; k < PULSAR_CONNECTIONS; k++) {
        pulsar_drop(p, &p->connection[k], "closed", 0);
        pulsar_free(&p->connection[k].link);
    }
    for (int i = 0; i < p->lanes; i++) {
        batches_free(&p->lane[i].waiting);
        if (p->lane[i].open) batch_free(p->lane[i].open);
    }
    batches_free(&p->done);
    batches_free(&p->spare);
    free(p->lane);
    free(p);
}

/* Adopt a non-blocking socket on which these lanes have producers, with their names, and what was read from it already.
 * Lanes that have a connection stay there. Returns whether it was adopted: otherwise there is no place for it, or no lane
 * that needs it, and it is closed. */
int bl_pulsar_sender_attach(producer *p, int fd, const uint8_t *read, int64_t bytes_read, const int32_t *lanes,
                            const char **names, int n) {
    int number = 0, taken = 0;
    while (number < PULSAR_CONNECTIONS && p->connection[number].link.fd >= 0) number++;
    for (int i = 0; i < n; i++) taken += p->lane[lanes[i]].connection < 0;
    if (number == PULSAR_CONNECTIONS || !taken) {
        close(fd);
        return 0;
    }
    if (number >= p->used) p->used = number + 1;
    pulsar_attach(&p->connection[number].link, fd, read, bytes_read, bl_now_ns());
    for (int i = 0; i < n; i++) {
        lane *l = &p->lane[lanes[i]];
        if (l->connection >= 0) continue;
        l->connection = number;
        p->down--;
        snprintf(l->name, sizeof l->name, "%s", names[i]);
        for (batch *b; (b = batches_take(&l->waiting));) pulsar_begin(p, l, b);
    }
    p->look_ns = 0;
    return 1;
}

/* Which lanes have no connection. Returns how many of them were written. */
int bl_pulsar_sender_down(const producer *p, int32_t *lanes, int most) {
    int n = 0;
    for (int32_t i = 0; i < p->lanes && n < most; i++)
        if (p->lane[i].connection < 0) lanes[n++] = i;
    return n;
}

const char *bl_pulsar_sender_why(const producer *p) { return p->why; }
int64_t bl_pulsar_sender_unsettled(const producer *p) { return p->unsettled; }

/* ---------------------------------------------------------------- batches are sent */

static void open_batch(producer *p, lane *l, int32_t number, int64_t now_ns) {
    l->open = pulsar_batch_new(&p->spare, number, now_ns);
    l->older = p->newest, l->newer = NULL;
    if (p->newest)
        p->newest->newer = l;
    else
        p->oldest = l;
    p->newest = l;
    if (now_ns + p->linger_ns < p->look_ns) p->look_ns = now_ns + p->linger_ns;
}

static batch *take_open(producer *p, lane *l) {
    batch *b = l->open;
    l->open = NULL;
    *(l->older ? &l->older->newer : &p->oldest) = l->newer;
    *(l->newer ? &l->newer->older : &p->newest) = l->older;
    return b;
}

static void seal_open(producer *p, lane *l) {
    batch *b = take_open(p, l);
    if (l->connection < 0)
        batches_add(&l->waiting, b);
    else
        pulsar_begin(p, l, b);
}

/* Open batches that have lingered. Where the connection has not taken what was given to it, they go on filling. */
static void seal_lingered(producer *p, int64_t now_ns) {
    if (now_ns < p->look_ns) return;
    p->look_ns = INT64_MAX;
    for (int k = 0; k < p->used; k++) p->connection[k].held_back = p->connection[k].unwritten.first != NULL;
    for (lane *l = p->oldest, *next; l; l = next) {
        next = l->newer;
        if (l->connection < 0 || p->connection[l->connection].held_back) continue;
        int64_t at_ns = l->open->made_ns + p->linger_ns;
        if (at_ns > now_ns) {
            p->look_ns = at_ns;
            return;
        }
        seal_open(p, l);
    }
}

static void give_up(producer *p, batches *of, int64_t before_ns, int64_t now_ns, int *in_flight) {
    while (of->first && of->first->made_ns < before_ns) {
        pulsar_finish(p, batches_take(of), PULSAR_TIMED_OUT, now_ns);
        if (in_flight) --*in_flight;
    }
}

static void expire(producer *p, int64_t now_ns) {
    if (now_ns < p->expire_ns) return;
    p->expire_ns = now_ns + EXPIRE_NS;
    int64_t before_ns = now_ns - p->timeout_ns;
    for (int k = 0; k < p->used; k++) {
        connection *c = &p->connection[k];
        if (c->unwritten.first && c->unwritten.first->made_ns < before_ns)
            pulsar_drop(p, c, "the broker does not read", now_ns);
    }
    for (int i = 0; i < p->lanes; i++) {
        lane *l = &p->lane[i];
        if (l->connection >= 0) give_up(p, &l->in_flight, before_ns, now_ns, &p->connection[l->connection].in_flight);
        give_up(p, &l->waiting, before_ns, now_ns, NULL);
        if (l->open && l->open->made_ns < before_ns) pulsar_finish(p, take_open(p, l), PULSAR_TIMED_OUT, now_ns);
    }
}

static void work(producer *p) {
    int64_t now_ns = bl_now_ns();
    int idle_too = now_ns >= p->idle_ns;
    if (idle_too) p->idle_ns = now_ns + IDLE_NS;
    for (int k = 0; k < p->used; k++)
        if (p->connection[k].in_flight || idle_too) pulsar_hear(p, &p->connection[k], now_ns);
    for (int k = 0; k < p->used; k++) pulsar_write(p, &p->connection[k], now_ns);
    expire(p, now_ns);
    seal_lingered(p, now_ns);
    for (int k = 0; k < p->used; k++) pulsar_write(p, &p->connection[k], now_ns);
}

/* ---------------------------------------------------------------- what the agent calls */

static void refuse(producer *p, int32_t number, int64_t index, int64_t now_ns) {
    batch *b = pulsar_batch_new(&p->spare, number, now_ns);
    pulsar_batch_note(b, index);
    pulsar_finish(p, b, PULSAR_TOO_LARGE, now_ns);
}

/* Takes all messages: the window is the agent's. They are sent by the next `settled`, so that the others of this tick do
 * not wait for a socket. Keys are 4 bytes each; `keys` may be NULL. */
int64_t bl_pulsar_send(producer *p, const uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                       const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n) {
    int64_t now_ns = bl_now_ns();
    p->unsettled += n;
    for (int64_t i = 0; i < n; i++) {
        lane *l = &p->lane[partitions[i]];
        const uint8_t *value = buffer + offsets[i], *key = keys ? keys + 4 * i : NULL;
        if (lengths[i] > p->message_most) {
            refuse(p, partitions[i], first_index + i, now_ns);
            continue;
        }
        if (!l->open || !pulsar_batch_append(l->open, p->batch_bytes, p->batching, value, lengths[i], key, first_index + i)) {
            if (l->open) seal_open(p, l);
            open_batch(p, l, partitions[i], now_ns);
            pulsar_batch_append(l->open, p->batch_bytes, p->batching, value, lengths[i], key, first_index + i);
        }
        if (l->open->count >= p->batch_messages) seal_open(p, l);
    }
    return n;
}

/* Send and receive what is possible now, and say what has settled: message number, code (0 is an acknowledgement) and
 * time. At most `most`; CARE instead, when a lane has no connection. */
int64_t bl_pulsar_settled(producer *p, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most) {
    work(p);
    if (!most) return 0;
    int64_t now_ns = bl_now_ns();
    if (p->down && now_ns >= p->care_ns) {
        p->care_ns = now_ns + CARE_NS;
        return CARE;
    }
    return batches_report(&p->done, &p->spare, indices, codes, at_ns, most);
}

/* Connections that owe an answer, unless they owe more than in_flight_most, and those that have something unwritten. */
static int64_t awaited(const producer *p, int in_flight_most, struct pollfd *to, int64_t most) {
    int64_t n = 0;
    for (int k = 0; k < p->used && n < most; k++) {
        const connection *c = &p->connection[k];
        int owes = c->in_flight && c->in_flight <= in_flight_most;
        int unwritten = c->unwritten.first || c->link.out.head < c->link.out.tail;
        if (c->link.fd < 0 || (!owes && !unwritten)) continue;
        to[n++] = (struct pollfd){c->link.fd, (short)((owes ? POLLIN : 0) | (unwritten ? POLLOUT : 0)), 0};
    }
    return n;
}

/* What to wait for, and in *wake_ns the time at which something is to be done anyway. */
int64_t bl_pulsar_watch(const producer *p, struct pollfd *to, int64_t most, int64_t *wake_ns) {
    *wake_ns = p->look_ns;
    return awaited(p, PROMPT_MOST, to, most);
}

/* Wait until nothing is outstanding, or the deadline, or no connection is left. What settles meanwhile can still be asked
 * for. */
void bl_pulsar_sender_flush(producer *p, int64_t deadline_ns) {
    struct pollfd polled[PULSAR_CONNECTIONS];
    p->linger_ns = 0;
    p->look_ns = 0;
    for (;;) {
        work(p);
        int64_t now_ns = bl_now_ns(), n = awaited(p, INT32_MAX, polled, PULSAR_CONNECTIONS);
        if (!p->unsettled || (!n && p->look_ns == INT64_MAX) || now_ns >= deadline_ns) return;
        bl_poll_until(polled, n, p->look_ns < deadline_ns ? p->look_ns : deadline_ns);
    }
}
