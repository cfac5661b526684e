/* The Pulsar path of a consumer on plain connections: the broker pushes batches as far as it has permits, messages are
 * handed out as addresses into the receive buffer, and acknowledgements of a tenth of a second are told together. */
#define _GNU_SOURCE
#include "pulsar_consume.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CARE_NS 10000000  /* how often Python is asked to look after what is broken */
#define TELL_NS 100000000 /* how long acknowledgements are collected, as by Pulsar's own clients */
enum { CARE = -1, ENDED = -2 };
enum { LEDGER_BITS = 24, ENTRY_BITS = 28, BATCH_BITS = 11 }; /* of a position: see consumer.py */
enum { CLOSING = 1 << 24 };                                  /* numbers of requests that close consumers begin here */

/* The entry that is being handed out. */
typedef struct {
    int connection; /* -1: none */
    pulsar_payload payload;
    int64_t entry; /* counted from the first ever */
    int32_t lane, next; /* next: the place in the batch of the message that follows */
    uint8_t redelivered;
} current;

typedef struct bl_pulsar_receiver {
    int lanes, used, down, closed; /* used: connections that ever were; down: lanes without one; closed: answers to that */
    lane *lane;
    int64_t queue;
    pulsar_link link[PULSAR_CONNECTIONS];
    int lanes_on[PULSAR_CONNECTIONS];
    entries held;
    current batch;
    int ended, untold;
    int64_t tell_ns, care_ns;
    char why[256];
} consumer;

typedef struct {
    uint64_t *addresses;
    int32_t *lengths;
    int64_t *positions;
    uint8_t *redelivered;
    int64_t n, most;
} columns;

/* `queue`: how many messages the broker may have sent of a lane that were not handed out. No lane has a connection yet. */
consumer *bl_pulsar_receiver_new(int lanes, int64_t queue) {
    consumer *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->lanes = c->down = lanes;
    c->queue = queue;
    c->lane = calloc((size_t)lanes, sizeof *c->lane);
    if (!c->lane) abort();
    for (int i = 0; i < lanes; i++) c->lane[i].connection = -1;
    for (int k = 0; k < PULSAR_CONNECTIONS; k++) c->link[k].fd = -1;
    c->batch.connection = -1;
    return c;
}

void bl_pulsar_receiver_free(consumer *c) {
    for (int k = 0; k < PULSAR_CONNECTIONS; k++) pulsar_free(&c->link[k]);
    for (int i = 0; i < c->lanes; i++) free(c->lane[i].acknowledged.data);
    pulsar_entries_free(&c->held);
    free(c->lane);
    free(c);
}

const char *bl_pulsar_receiver_why(const consumer *c) { return c->why; }

/* Which lanes have no connection. Returns how many of them were written. */
int bl_pulsar_receiver_down(const consumer *c, int32_t *lanes, int most) {
    int n = 0;
    for (int32_t i = 0; i < c->lanes && n < most; i++)
        if (c->lane[i].connection < 0) lanes[n++] = i;
    return n;
}

/* ---------------------------------------------------------------- commands */

static void allow(consumer *c, int32_t number, int64_t messages) {
    uint8_t fields[2 * PULSAR_NUMBER_MOST];
    uint8_t *end = pulsar_put_number(pulsar_put_number(fields, 1, (uint64_t)number + 1), 2, (uint64_t)messages);
    pulsar_command(&c->link[c->lane[number].connection].out, PULSAR_FLOW, fields, (size_t)(end - fields));
}

/* Say what was acknowledged, of lanes that have a connection; what the others have waits for one. */
static void tell(consumer *c, int64_t now_ns) {
    c->tell_ns = now_ns + TELL_NS;
    pulsar_tell_parts(&c->held, c->lane);
    c->untold = 0;
    for (int i = 0; i < c->lanes; i++) {
        lane *l = &c->lane[i];
        if (!l->count) continue;
        if (l->connection < 0) {
            c->untold = 1;
            continue;
        }
        size_t n = l->acknowledged.tail - l->acknowledged.head;
        uint8_t *fields = malloc(n + 2 * PULSAR_NUMBER_MOST);
        if (!fields) abort();
        uint8_t *at = pulsar_put_number(pulsar_put_number(fields, 1, (uint64_t)i + 1), 2, 0); /* each by itself */
        memcpy(at, l->acknowledged.data + l->acknowledged.head, n);
        pulsar_command(&c->link[l->connection].out, PULSAR_ACK, fields, (size_t)(at - fields) + n);
        free(fields);
        l->acknowledged.head = l->acknowledged.tail = 0;
        l->count = 0;
    }
}

static void flush_all(consumer *c) {
    for (int k = 0; k < c->used; k++) pulsar_flush(&c->link[k]);
}

/* Adopt a non-blocking socket on which these lanes have consumers, and what was read from it already. Lanes that have a
 * connection stay there. Returns whether it was adopted; otherwise it is closed. */
int bl_pulsar_receiver_attach(consumer *c, int fd, const uint8_t *read, int64_t bytes_read, const int32_t *lanes,
                              int n) {
    int number = 0, taken = 0;
    while (number < PULSAR_CONNECTIONS && c->link[number].fd >= 0) number++;
    for (int i = 0; i < n; i++) taken += c->lane[lanes[i]].connection < 0;
    if (number == PULSAR_CONNECTIONS || !taken) {
        close(fd);
        return 0;
    }
    if (number >= c->used) c->used = number + 1;
    pulsar_attach(&c->link[number], fd, read, bytes_read, bl_now_ns());
    for (int i = 0; i < n; i++) {
        if (c->lane[lanes[i]].connection >= 0) continue;
        c->lane[lanes[i]].connection = number;
        c->lanes_on[number]++;
        c->lane[lanes[i]].permits = 0;
        c->down--;
        allow(c, lanes[i], c->queue);
    }
    flush_all(c);
    return 1;
}

/* ---------------------------------------------------------------- what breaks */

static int64_t end_with(consumer *c, const char *why) {
    c->ended = 1;
    c->batch.connection = -1;
    snprintf(c->why, sizeof c->why, "%s", why);
    return 0;
}

static void close_lane(consumer *c, int32_t number) {
    c->lanes_on[c->lane[number].connection]--;
    c->lane[number].connection = -1;
    c->down++;
    if (c->batch.connection < 0 || c->batch.lane != number) return;
    c->held.entry[c->batch.entry - c->held.base].cut_off = 1; /* the rest comes again */
    c->batch.connection = -1;
}

/* Lanes of connections that were lost have none. */
static void notice_lost(consumer *c) {
    for (int k = 0; k < c->used; k++) {
        if (c->link[k].fd >= 0 || !c->lanes_on[k]) continue;
        snprintf(c->why, sizeof c->why, "%s", c->link[k].why);
        for (int32_t i = 0; i < c->lanes; i++)
            if (c->lane[i].connection == k) close_lane(c, i);
    }
}

/* ---------------------------------------------------------------- entries come */

/* The lane that a consumer's id stands for, if it is on this connection; otherwise -1: the word comes too late. */
static int32_t lane_of(const consumer *c, int k, pulsar_reader command) {
    uint64_t id = pulsar_number(command, 1, 0);
    return id && id <= (uint64_t)c->lanes && c->lane[id - 1].connection == k ? (int32_t)id - 1 : -1;
}

static void begin_entry(consumer *c, int k, const pulsar_frame *f) {
    current b = {.connection = k, .lane = lane_of(c, k, f->command)};
    if (b.lane < 0) return;
    pulsar_reader fields = f->command;
    pulsar_field one;
    uint64_t ledger = 0, number = 0;
    while (pulsar_next_field(&fields, &one)) {
        if (one.number == 2) ledger = pulsar_number(one.inside, 1, 0), number = pulsar_number(one.inside, 2, 0);
        if (one.number == 3) b.redelivered = one.value > 0;
    }
    const char *wrong = fields.malformed ? "a message without an id" : pulsar_open(f, &b.payload);
    if (wrong) {
        end_with(c, wrong);
        return;
    }
    entry *e = pulsar_hold(&c->held, b.lane, ledger, number, b.payload.messages);
    pulsar_leave_out(e, f->command);
    b.entry = c->held.base + (e - c->held.entry);
    c->batch = b;
}

static int64_t position(const entry *e, int32_t number) {
    if (e->ledger >> LEDGER_BITS || e->entry >> ENTRY_BITS || number >> BATCH_BITS) return -1;
    return (int64_t)(e->ledger << (ENTRY_BITS + BATCH_BITS) | e->entry << BATCH_BITS | (uint64_t)number);
}

static void end_entry(consumer *c) {
    lane *l = &c->lane[c->batch.lane];
    l->permits += c->batch.payload.messages;
    if (l->permits >= (c->queue + 1) / 2) {
        allow(c, c->batch.lane, l->permits);
        l->permits = 0;
    }
    c->batch.connection = -1;
}

/* Messages of the current entry, as far as there is room. */
static void hand_out(consumer *c, columns *to) {
    current *b = &c->batch;
    entry *e = &c->held.entry[b->entry - c->held.base];
    for (; b->next < b->payload.messages && to->n < to->most; b->next++) {
        const uint8_t *value;
        int64_t length = pulsar_next_content(&b->payload, &value);
        if (length < 0) {
            end_with(c, "a batch that ends before its last message");
            return;
        }
        if (pulsar_is_left_out(e, b->next)) continue;
        to->addresses[to->n] = (uint64_t)(uintptr_t)value;
        to->lengths[to->n] = (int32_t)length;
        to->positions[to->n] = position(e, b->next);
        to->redelivered[to->n++] = b->redelivered;
        pulsar_hand_out(e, b->next);
        c->held.next_ordinal++;
    }
    if (e->handed == e->deliverable) end_entry(c); /* what may follow was left out */
}

static void on_frame(consumer *c, int k, const pulsar_frame *f) {
    if (f->type == PULSAR_MESSAGE)
        begin_entry(c, k, f);
    else if (f->type == PULSAR_SUCCESS)
        c->closed += pulsar_number(f->command, 1, 0) >= CLOSING;
    else if (f->type == PULSAR_CLOSE_CONSUMER) {
        int32_t number = lane_of(c, k, f->command);
        if (number >= 0) close_lane(c, number);
        if (!c->lanes_on[k]) pulsar_lose(&c->link[k], "the broker closed all consumers");
    }
}

/* What was received, until there is no room or no more. */
static void collect(consumer *c, columns *to) {
    pulsar_frame f;
    for (int k = 0; k < c->used; k++) {
        while (!c->ended && to->n < to->most) {
            if (c->batch.connection >= 0)
                hand_out(c, to);
            else if (pulsar_next(&c->link[k], &f))
                on_frame(c, k, &f);
            else
                break;
        }
    }
}

/* ---------------------------------------------------------------- what the agent calls */

static void keep_going(consumer *c, int64_t now_ns) {
    if (c->untold && now_ns >= c->tell_ns) tell(c, now_ns);
    for (int k = 0; k < c->used; k++) pulsar_tend(&c->link[k], now_ns);
    flush_all(c);
    notice_lost(c);
}

static void wait_for_words(const consumer *c, int64_t now_ns, int64_t deadline_ns) {
    struct pollfd polled[PULSAR_CONNECTIONS];
    nfds_t n = 0;
    for (int k = 0; k < c->used; k++) {
        const pulsar_link *l = &c->link[k];
        short events = (short)(POLLIN | (l->out.head < l->out.tail ? POLLOUT : 0));
        if (l->fd >= 0) polled[n++] = (struct pollfd){l->fd, events, 0};
    }
    if (c->untold && c->tell_ns < deadline_ns) deadline_ns = c->tell_ns;
    if (c->down && c->care_ns < deadline_ns) deadline_ns = c->care_ns;
    int64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec limit = {left / 1000000000, left % 1000000000};
    ppoll(polled, n, &limit, NULL);
}

/* What is there, or the first that comes before the deadline. Addresses hold until the next call. about[0] gets the time
 * of arrival, about[1] the ordinal of the first, for bl_pulsar_acknowledge. Returns how many; -1: none, and a lane has no
 * connection; -2: it cannot go on, bl_pulsar_receiver_why says why. */
int64_t bl_pulsar_receive(consumer *c, int64_t deadline_ns, int64_t most, uint64_t *addresses, int32_t *lengths,
                          int64_t *positions, uint8_t *redelivered, int64_t *about) {
    columns to = {addresses, lengths, positions, redelivered, 0, most};
    about[0] = bl_now_ns();
    about[1] = c->held.next_ordinal;
    collect(c, &to);
    while (!to.n && most > 0) {
        int64_t got = 0;
        for (int k = 0; k < c->used; k++) got += pulsar_read(&c->link[k], about[0]); /* nothing is being handed out */
        about[0] = bl_now_ns();
        collect(c, &to);
        if (c->ended && !to.n) return ENDED;
        keep_going(c, about[0]);
        if (to.n || (got && about[0] < deadline_ns)) continue;
        if (c->down && about[0] >= c->care_ns) {
            c->care_ns = about[0] + CARE_NS;
            return CARE;
        }
        if (about[0] >= deadline_ns) return 0;
        wait_for_words(c, about[0], deadline_ns);
    }
    keep_going(c, about[0]);
    return to.n;
}

/* What was handed out with these ordinals need not come again. The broker is told within a tenth of a second. */
void bl_pulsar_acknowledge(consumer *c, int64_t first_ordinal, int64_t n) {
    int64_t now_ns = bl_now_ns();
    if (!c->untold) c->tell_ns = now_ns + TELL_NS;
    c->untold = 1;
    pulsar_acknowledge(&c->held, c->lane, first_ordinal, n);
    if (now_ns < c->tell_ns) return;
    tell(c, now_ns);
    flush_all(c);
}

/* Tell the broker now. */
void bl_pulsar_tell(consumer *c) {
    tell(c, bl_now_ns());
    flush_all(c);
    notice_lost(c);
}

/* Tell the broker what was acknowledged and that the consumers end; until it has answered, or the deadline. What it sends
 * meanwhile is not acknowledged, so it comes again. */
void bl_pulsar_receiver_close(consumer *c, int64_t deadline_ns) {
    int64_t now_ns = bl_now_ns();
    int asked = 0;
    tell(c, now_ns);
    c->closed = 0;
    for (int i = 0; i < c->lanes; i++) {
        if (c->lane[i].connection < 0) continue;
        uint8_t fields[2 * PULSAR_NUMBER_MOST];
        uint8_t *end = pulsar_put_number(pulsar_put_number(fields, 1, (uint64_t)i + 1), 2, (uint64_t)(CLOSING + i));
        pulsar_command(&c->link[c->lane[i].connection].out, PULSAR_CLOSE_CONSUMER, fields, (size_t)(end - fields));
        asked++;
    }
    c->batch.connection = -1;
    while (c->closed < asked && c->down < c->lanes && now_ns < deadline_ns) {
        pulsar_frame f;
        int64_t got = 0;
        flush_all(c);
        for (int k = 0; k < c->used; k++) {
            got += pulsar_read(&c->link[k], now_ns);
            while (pulsar_next(&c->link[k], &f))
                if (f.type == PULSAR_SUCCESS) on_frame(c, k, &f);
        }
        notice_lost(c);
        now_ns = bl_now_ns();
        if (!got) wait_for_words(c, now_ns, deadline_ns);
    }
}
