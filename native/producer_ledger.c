/* What one producer sent and what became of it. A ring remembers each message from hand-over to settlement. */
#include "brokerlab.h"
#include <stdlib.h>

typedef struct {
    int64_t scheduled_ns, handed_ns, sent_ns, sequence;
    int32_t partition;
    int32_t open;
} flight;

typedef struct {
    int64_t first, last;
    int32_t used;
} open_range;

struct bl_producer_ledger {
    bl_intervals intervals; /* first, so that a ledger can be read as its intervals */
    flight *ring;
    int64_t mask, next, lowest_open, in_flight;
    int32_t lanes;
    open_range *range; /* [outcome][lane] */
    bl_rows outcomes, messages;
    int32_t keep_messages;
    int64_t total[BL_OUTCOMES], total_bytes, late_settlements;
};
typedef bl_producer_ledger producer_ledger;

producer_ledger *bl_producer_ledger_new(int32_t lanes, int32_t partitions, int64_t ring_size, int32_t keep_messages) {
    producer_ledger *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    bl_intervals_init(&l->intervals, partitions);
    l->ring = calloc((size_t)ring_size, sizeof *l->ring);
    l->range = calloc((size_t)lanes * BL_OUTCOMES, sizeof *l->range);
    if (!l->ring || !l->range) abort();
    l->mask = ring_size - 1;
    l->lanes = lanes;
    l->outcomes.size = sizeof(bl_outcome_row);
    l->messages.size = sizeof(bl_message_row);
    l->keep_messages = keep_messages;
    return l;
}

void bl_producer_ledger_free(producer_ledger *l) {
    bl_intervals_free(&l->intervals);
    free(l->ring);
    free(l->range);
    free(l->outcomes.data);
    free(l->messages.data);
    free(l);
}

void bl_ledger_start(bl_intervals *t, int64_t unix_minus_mono_ns, int64_t measure_from_ns) {
    t->unix_minus_mono_ns = unix_minus_mono_ns;
    t->measure_from_ns = measure_from_ns;
}

static void close_range(producer_ledger *l, int outcome, int32_t lane) {
    open_range *r = &l->range[outcome * l->lanes + lane];
    if (!r->used) return;
    bl_outcome_row *row = bl_rows_grow(&l->outcomes);
    *row = (bl_outcome_row){lane, outcome, r->first, r->last};
    r->used = 0;
}

static void add_to_range(producer_ledger *l, int outcome, int32_t lane, int64_t sequence) {
    open_range *r = &l->range[outcome * l->lanes + lane];
    if (r->used && sequence == r->last + 1) {
        r->last = sequence;
        return;
    }
    close_range(l, outcome, lane);
    *r = (open_range){sequence, sequence, 1};
}

/* Messages the schedule made due, whether or not the client took them. */
void bl_due(producer_ledger *l, const int64_t *scheduled_ns, const int32_t *pattern, int64_t pattern_length,
            int64_t first_index, int64_t n) {
    int64_t at = first_index % pattern_length;
    for (int64_t i = 0; i < n; i++) {
        bl_slot_at(&l->intervals, scheduled_ns[i], pattern[at])->counter[BL_DUE]++;
        if (++at == pattern_length) at = 0;
    }
}

/* n messages, numbered from first_index, were handed over at handed_ns and taken by the client, which had last taken fewer
 * than were due at free_since_ns. */
void bl_sent(producer_ledger *l, int64_t first_index, const int64_t *scheduled_ns, const int32_t *partitions,
             const int64_t *sequences, const int32_t *lengths, int64_t handed_ns, int64_t free_since_ns, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        bl_slot *s = bl_slot_at(&l->intervals, scheduled_ns[i], partitions[i]);
        s->counter[BL_C_SENT]++;
        s->counter[BL_BYTES] += lengths[i];
        l->total_bytes += lengths[i];
        int64_t late_ns = bl_lateness(scheduled_ns[i], handed_ns, free_since_ns);
        bl_record(s, BL_SEND_DELAY, late_ns);
        add_to_range(l, BL_SENT, partitions[i], sequences[i]);
        l->ring[(first_index + i) & l->mask] =
            (flight){scheduled_ns[i], handed_ns, scheduled_ns[i] + late_ns, sequences[i], partitions[i], 1};
    }
    l->next = first_index + n;
    l->in_flight += n;
    l->total[BL_SENT] += n;
}

static int settle(producer_ledger *l, int64_t index, int outcome, int64_t at_ns) {
    flight *f = &l->ring[index & l->mask];
    if (index < l->lowest_open || index >= l->next || !f->open) {
        l->late_settlements++; /* already given up as unknown: it stays unknown */
        return 0;
    }
    f->open = 0;
    l->in_flight--;
    l->total[outcome]++;
    bl_slot *s = bl_slot_at(&l->intervals, f->scheduled_ns, f->partition);
    s->counter[BL_C_ACKNOWLEDGED + outcome]++;
    if (outcome == BL_ACKNOWLEDGED) {
        bl_record(s, BL_PUBLISH, at_ns - f->scheduled_ns);
        bl_record(s, BL_PUBLISH_FROM_SEND, at_ns - f->sent_ns);
    }
    add_to_range(l, outcome, f->partition, f->sequence);
    if (l->keep_messages) {
        bl_message_row *row = bl_rows_grow(&l->messages);
        *row = (bl_message_row){0, f->partition, outcome, 0, f->sequence, f->scheduled_ns, at_ns, index};
    }
    return 1;
}

static void advance(producer_ledger *l) {
    while (l->lowest_open < l->next && !l->ring[l->lowest_open & l->mask].open) l->lowest_open++;
}

/* Returns how many of them were still open. */
int64_t bl_settled(producer_ledger *l, const int64_t *indices, const uint8_t *outcomes, const int64_t *at_ns, int64_t n) {
    int64_t settled = 0;
    for (int64_t i = 0; i < n; i++) settled += settle(l, indices[i], outcomes[i], at_ns[i]);
    advance(l);
    return settled;
}

/* Whatever was handed over before the limit and has not settled is unknown from now on. Returns how many. */
int64_t bl_expire(producer_ledger *l, int64_t sent_before_ns, int64_t now_ns) {
    int64_t expired = 0;
    for (int64_t i = l->lowest_open; i < l->next; i++) {
        flight *f = &l->ring[i & l->mask];
        if (f->handed_ns >= sent_before_ns) break;
        if (f->open) expired += settle(l, i, BL_UNKNOWN, now_ns);
    }
    advance(l);
    return expired;
}

/* Room for that many more messages in the ring. */
int64_t bl_room(const producer_ledger *l) { return l->mask + 1 - (l->next - l->lowest_open); }

/* totals: acknowledged, rejected, unknown, sent, bytes, in flight, late settlements */
void bl_producer_totals(const producer_ledger *l, int64_t *totals) {
    for (int o = 0; o < BL_OUTCOMES; o++) totals[o] = l->total[o];
    totals[4] = l->total_bytes;
    totals[5] = l->in_flight;
    totals[6] = l->late_settlements;
}

/* Close every range and say how many rows wait; the rows stay valid until bl_producer_clear. */
void bl_producer_rows(producer_ledger *l, void **outcomes, int64_t *outcome_rows, void **messages,
                      int64_t *message_rows) {
    for (int o = 0; o < BL_OUTCOMES; o++)
        for (int32_t lane = 0; lane < l->lanes; lane++) close_range(l, o, lane);
    *outcomes = l->outcomes.data;
    *outcome_rows = l->outcomes.count;
    *messages = l->messages.data;
    *message_rows = l->messages.count;
}

void bl_producer_clear(producer_ledger *l) {
    bl_intervals_clear(&l->intervals);
    l->outcomes.count = 0;
    l->messages.count = 0;
}
