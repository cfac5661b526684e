/* One producer's tick without Python: settle what the client learnt, give up what is too old, send what is due.
 *
 * The same steps as agent/sender.py takes with any driver, for drivers whose `send` and `settled` are C functions. All
 * state is in one struct that Python reads and writes between ticks; when due times or payload slots run out the tick
 * ends early and says what it needs.
 */
#define _GNU_SOURCE
#include "brokerlab.h"
#include <poll.h>
#include <time.h>

enum { POLLED_MOST = 256 };
enum { NEEDS_DUE = 1, NEEDS_SLOTS, NEEDS_JUDGEMENT, NEEDS_ATTENTION };
/* In a closed loop the thread looks for answers for this long before it sleeps. Waking a processor takes time, in a virtual
 * machine most of all, and a broker beside us whose threads wake each other pays for it too. Looking longer takes more CPU
 * than it is worth; docs/performance.md has the figures. */
enum { LOOK_NS = 30000 };

typedef bl_sender sender;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static int take_settlements(sender *s) {
    int64_t n = s->settled(s->client, s->indices, s->codes, s->at_ns, BL_REPORTS_MOST);
    if (n < 0) return NEEDS_ATTENTION;
    for (int64_t i = 0; i < n; i++)
        if (s->codes[i]) {
            s->reported = n;
            return NEEDS_JUDGEMENT;
        }
    if (!n) return 0;
    int64_t settled = bl_settled(s->ledger, s->indices, s->acknowledged, s->at_ns, n);
    s->in_flight -= settled;
    s->settled_since += settled;
    return 0;
}

/* A full window takes window / rate to settle; asking so many times in that time is exact enough and costs little. */
static void choose_tick(sender *s, int64_t elapsed_ns) {
    int64_t settled = s->settled_since ? s->settled_since : 1;
    int64_t wanted = s->window * elapsed_ns / settled / s->ticks_per_latency;
    s->tick_ns = wanted < s->tick_least_ns ? s->tick_least_ns : min64(wanted, s->tick_most_ns);
    s->settled_since = 0;
}

static void expire(sender *s, int64_t now_ns) {
    if (now_ns - s->last_expiry_ns <= s->expire_every_ns) return;
    if (s->window) choose_tick(s, now_ns - s->last_expiry_ns);
    s->last_expiry_ns = now_ns;
    int64_t expired = bl_expire(s->ledger, now_ns - s->timeout_ns, now_ns);
    s->in_flight -= expired;
    s->expired += expired;
}

/* Offer up to `wanted` messages as one block. Returns how many were taken, -1 when the client or the window is full or
 * slots are needed; a block that was taken in part counts as full at the next call. */
static int64_t offer(sender *s, int64_t wanted, int64_t now_ns) {
    int64_t n = min64(min64(wanted, s->block_most), min64(s->limit - s->in_flight, bl_room(s->ledger)));
    int64_t in_pattern = s->index % s->pattern_length;
    if (s->keys) n = min64(n, s->pattern_length - in_pattern);
    if (n <= 0) return -1;
    if (s->position == s->slots) s->position = 0;
    int64_t slot = s->position;
    n = min64(n, s->slots - slot);
    int64_t *scheduled = s->due + s->at, handed_ns = s->window ? now_ns : bl_now_ns();
    if (s->window) {
        scheduled = s->scheduled_now;
        for (int64_t i = 0; i < n; i++) scheduled[i] = now_ns;
    }
    bl_stamp(s->buffer, s->offsets, s->body_sums, slot, n, s->pattern, s->pattern_length, s->index, scheduled,
             handed_ns, s->free_since_ns, s->next_sequence, s->partitions, s->sequences);
    int64_t taken = s->send(s->client, s->buffer, s->offsets + slot, s->lengths + slot, s->partitions,
                            s->keys ? s->keys + 4 * in_pattern : NULL, s->index, n);
    if (taken < n) bl_unstamp(s->partitions, taken, n, s->next_sequence);
    if (taken) {
        if (s->window) bl_due(s->ledger, scheduled, s->pattern, s->pattern_length, s->index, taken);
        bl_sent(s->ledger, s->index, scheduled, s->partitions, s->sequences, s->lengths + slot, handed_ns,
                s->free_since_ns, taken);
        s->position += taken;
        s->index += taken;
        s->in_flight += taken;
        if (!s->window) s->at += taken;
    }
    return taken < n ? -1 : taken;
}

static int must_wait_for_slots(const sender *s) { return s->position == s->slots && !s->may_wrap; }

static int send_due(sender *s, int64_t now_ns, int64_t until_ns) {
    int64_t before = s->noted;
    while (s->noted < s->due_count && s->due[s->noted] <= now_ns) s->noted++;
    if (s->noted > before)
        bl_due(s->ledger, s->due + before, s->pattern, s->pattern_length, s->index + before - s->at, s->noted - before);
    while (s->noted > s->at) {
        if (must_wait_for_slots(s)) return NEEDS_SLOTS;
        if (offer(s, s->noted - s->at, now_ns) < 0) {
            s->buffer_full++;
            s->free_since_ns = bl_now_ns();
            break;
        }
        if (bl_now_ns() >= until_ns) return 0;
    }
    return s->noted == s->due_count && !s->no_more_due ? NEEDS_DUE : 0;
}

/* How many messages a closed loop may send now. */
static int64_t wanted(sender *s, int64_t now_ns) {
    int64_t left = now_ns >= s->measure_from_ns ? s->left : INT64_MAX, free = s->window - s->in_flight;
    int64_t least = s->window / 8 > 1 ? s->window / 8 : 1;
    if (!s->batch_sizes) return free >= min64(least, left) ? min64(free, left) : 0;
    if (!s->batch_left && !s->in_flight && left) s->batch_left = s->batch_sizes[s->batch_at++ % s->batch_count];
    return min64(s->batch_left, left);
}

static int fill_window(sender *s, int64_t now_ns, int64_t until_ns) {
    if (now_ns >= s->end_ns) return 0;
    int64_t stop_ns = min64(until_ns, s->end_ns);
    for (int64_t count; (count = wanted(s, now_ns));) {
        if (must_wait_for_slots(s)) return NEEDS_SLOTS;
        int64_t before = s->index, taken = offer(s, count, now_ns);
        if (now_ns >= s->measure_from_ns) s->left -= s->index - before;
        if (s->batch_sizes) s->batch_left -= s->index - before;
        if (taken < 0) {
            s->buffer_full++;
            return 0;
        }
        int needed = taken == s->block_most ? take_settlements(s) : 0;
        if (needed) return needed;
        now_ns = bl_now_ns();
        if (now_ns >= stop_ns) return 0;
    }
    return 0;
}

/* One sender's part of a tick. However slow the client is, no block is begun after `until_ns` but the first. Returns 0,
 * or what is needed before it can go on. */
int bl_sender_step(sender *s, int64_t now_ns, int64_t until_ns) {
    int needed = take_settlements(s);
    if (needed) return needed;
    expire(s, now_ns);
    if (s->window) return fill_window(s, now_ns, until_ns);
    if (s->at < s->due_count && s->due[s->at] > now_ns && s->noted == s->at) return 0;
    return send_due(s, now_ns, until_ns);
}

/* A tick from now when messages are dense, or answers are to be asked for; when they are sparse (no more than two in
 * the next two ticks) the next one's own time, but not within a quarter of a tick; at the latest after idle_ns. */
static int64_t next_wake(sender *const *senders, int64_t n, int64_t now_ns, int64_t idle_ns) {
    int64_t tick = senders[0]->tick_ns, soonest = INT64_MAX, due_soon = 0;
    int awaited = 0;
    for (int64_t i = 0; i < n; i++) {
        tick = min64(tick, senders[i]->tick_ns);
        awaited |= senders[i]->in_flight > 0 && (!senders[i]->watch || senders[i]->window);
    }
    for (int64_t i = 0; i < n; i++) {
        const sender *s = senders[i];
        if (s->at < s->due_count) soonest = min64(soonest, s->due[s->at]);
        for (int64_t d = s->at; d < s->due_count && d < s->at + 3; d++) due_soon += s->due[d] < now_ns + 2 * tick;
    }
    if (due_soon > 2) return now_ns + tick;
    if (soonest < now_ns + tick) return soonest > now_ns + tick / 4 ? soonest : now_ns + tick / 4;
    return awaited ? now_ns + tick : min64(soonest, now_ns + idle_ns);
}

/* Wait for one of the sockets, until the given time at the latest. Returns whether one is ready. */
static int wait_for(struct pollfd *polled, int64_t count, int64_t look_ns, int64_t *now_ns, int64_t until_ns) {
    int64_t asleep_ns = min64(*now_ns + look_ns, until_ns);
    struct timespec limit = {0, 0};
    int ready = 0;
    for (; !ready && *now_ns < asleep_ns; *now_ns = bl_now_ns()) ready = ppoll(polled, (nfds_t)count, &limit, NULL) > 0;
    if (ready || *now_ns >= until_ns) return ready;
    limit = (struct timespec){(until_ns - *now_ns) / 1000000000, (until_ns - *now_ns) % 1000000000};
    ready = ppoll(polled, (nfds_t)count, &limit, NULL) > 0;
    *now_ns = bl_now_ns();
    return ready;
}

/* Sleep until the given time; clients that have to be watched work meanwhile. In a closed loop an answer ends it: then
 * there is room for more. Returns the time. */
static int64_t rest_until(sender *const *senders, int64_t n, int64_t now_ns, int64_t until_ns) {
    if (!senders[0]->watch) return bl_sleep_until(until_ns);
    struct pollfd polled[POLLED_MOST];
    while (now_ns < until_ns) {
        int64_t count = 0, first_ns = until_ns;
        for (int64_t i = 0; i < n; i++) {
            int64_t wake_ns;
            count += senders[i]->watch(senders[i]->client, polled + count, POLLED_MOST - count, &wake_ns);
            first_ns = min64(first_ns, wake_ns);
        }
        int came = 0;
        if (first_ns > now_ns) {
            if (count)
                came = wait_for(polled, count, senders[0]->window ? LOOK_NS : 0, &now_ns, first_ns);
            else
                now_ns = bl_sleep_until(first_ns);
            if (now_ns >= until_ns) break;
        }
        for (int64_t i = 0; i < n; i++) senders[i]->settled(senders[i]->client, NULL, NULL, NULL, 0);
        if (came && senders[0]->window) return now_ns;
        now_ns = bl_now_ns();
    }
    return now_ns;
}

/* Tick all senders until `until_ns`. `clock` holds the time, `ticks` counts. Returns 0 at the end; before it, when
 * sender i needs something, 8 * i + what: then the same tick is begun again. */
int64_t bl_senders_run(sender *const *senders, int64_t n, int64_t until_ns, int64_t idle_ns, int64_t *clock,
                       int64_t *ticks) {
    while (*clock < until_ns) {
        for (int64_t i = 0; i < n; i++) {
            int needed = bl_sender_step(senders[i], *clock, until_ns);
            if (needed) return 8 * i + needed;
        }
        ++*ticks;
        *clock = rest_until(senders, n, *clock, min64(next_wake(senders, n, *clock, idle_ns), until_ns));
    }
    return 0;
}
