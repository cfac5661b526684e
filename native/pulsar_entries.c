/* Entries that were handed out, and what the broker is told of them. */
#include "pulsar_consume.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_ENTRIES = 256, SETTLED_MOST = 1024 };

static size_t words(const entry *e) { return ((size_t)e->messages + 63) / 64; }

/* A new entry behind the others; none of its messages is handed out yet. The pointer holds until the next one is held or
 * one is forgotten. */
entry *pulsar_hold(entries *all, int32_t lane_number, uint64_t ledger, uint64_t number, int32_t messages) {
    if (all->end == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : FIRST_ENTRIES;
        all->entry = realloc(all->entry, (size_t)all->capacity * sizeof *all->entry);
        if (!all->entry) abort();
    }
    entry *e = &all->entry[all->end++];
    *e = (entry){.ledger = ledger, .entry = number, .first_ordinal = all->next_ordinal, .lane = lane_number,
                 .messages = messages, .deliverable = messages};
    return e;
}

static void make_bits(entry *e) {
    if (e->left) return;
    e->left = calloc(words(e), sizeof *e->left);
    if (!e->left) abort();
    for (int32_t i = 0; i < e->messages; i++) e->left[i / 64] |= 1ull << (i % 64);
}

/* `ack_set` of the command that brought it (words, packed or one by one) says which messages were not acknowledged
 * before: the others are not handed out. */
void pulsar_leave_out(entry *e, pulsar_reader command) {
    pulsar_field f;
    size_t n = 0;
    while (pulsar_next_field(&command, &f)) {
        if (f.number != 4) continue;
        make_bits(e);
        pulsar_reader packed = f.inside;
        if (packed.at == packed.end && n < words(e)) e->left[n++] &= f.value;
        while (packed.at < packed.end && n < words(e)) e->left[n++] &= pulsar_varint(&packed);
    }
    if (!e->left) return;
    for (size_t i = n; i < words(e); i++) e->left[i] = 0; /* a bit set ends where no bit follows */
    e->deliverable = 0;
    for (size_t i = 0; i < words(e); i++) e->deliverable += __builtin_popcountll(e->left[i]);
    e->number = malloc(((size_t)e->deliverable + 1) * sizeof *e->number);
    if (!e->number) abort();
}

int pulsar_is_left_out(const entry *e, int32_t number) {
    return e->number && !(e->left[number / 64] >> (number % 64) & 1);
}

/* The message with this place in the batch is handed out. */
void pulsar_hand_out(entry *e, int32_t number) {
    if (e->number && e->handed < e->deliverable) e->number[e->handed] = number;
    e->handed++;
}

/* ---------------------------------------------------------------- acknowledging */

/* MessageIdData behind the others of its lane; with what is left of it, where that is not nothing. */
static void note(lane *l, const entry *e, int partly) {
    size_t most = 4 * PULSAR_NUMBER_MOST + (partly ? words(e) * PULSAR_NUMBER_MOST : 0);
    uint8_t small[8 * PULSAR_NUMBER_MOST], *fields = most <= sizeof small ? small : malloc(most);
    if (!fields) abort();
    uint8_t *at = pulsar_put_number(pulsar_put_number(fields, 1, e->ledger), 2, e->entry);
    for (size_t i = 0; partly && i < words(e); i++) at = pulsar_put_number(at, 5, e->left[i]);
    if (partly) at = pulsar_put_number(at, 6, (uint64_t)e->messages);
    size_t n = (size_t)(at - fields);
    uint8_t *to = bytes_room(&l->acknowledged, n + PULSAR_NUMBER_MOST, 4096), *from = to;
    *to++ = 3 << 3 | 2;
    to = pulsar_put_varint(to, n);
    memcpy(to, fields, n);
    l->acknowledged.tail += (size_t)(to - from) + n;
    l->count++;
    if (fields != small) free(fields);
}

static int is_settled(const entry *e) {
    return e->acknowledged == e->handed && !e->untold && (e->handed >= e->deliverable || e->cut_off);
}

/* Forget what is settled at the front; the memory is used again when that is all, or most of it. */
static void forget_settled(entries *all) {
    for (; all->first < all->end && is_settled(&all->entry[all->first]); all->first++) {
        free(all->entry[all->first].left);
        free(all->entry[all->first].number);
    }
    if (!all->first || (all->first < all->end && (all->first < SETTLED_MOST || 2 * all->first < all->end))) return;
    memmove(all->entry, all->entry + all->first, (size_t)(all->end - all->first) * sizeof *all->entry);
    all->base += all->first;
    all->end -= all->first;
    all->first = 0;
}

/* Messages [from, to) of those handed out of this entry. */
static void acknowledge_some(lane *lanes, entry *e, int32_t from, int32_t to) {
    int before = e->acknowledged;
    if (!e->left && from == 0 && to == e->deliverable) {
        e->acknowledged = before == 0 ? to : before;
    } else {
        make_bits(e);
        for (int32_t i = from; i < to; i++) {
            int32_t number = e->number ? e->number[i] : i;
            uint64_t bit = 1ull << (number % 64);
            e->acknowledged += (e->left[number / 64] & bit) != 0;
            e->left[number / 64] &= ~bit;
        }
    }
    if (e->acknowledged == before) return;
    e->untold = e->acknowledged < e->deliverable;
    if (!e->untold) note(&lanes[e->lane], e, 0);
}

/* The first entry whose messages are not all before this ordinal. */
static int64_t entry_at(const entries *all, int64_t ordinal) {
    int64_t low = all->first, high = all->end;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const entry *e = &all->entry[middle];
        if (e->first_ordinal + e->handed <= ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What was handed out with these ordinals. Whole entries are noted for the broker at once, parts when it is told. */
void pulsar_acknowledge(entries *all, lane *lanes, int64_t first_ordinal, int64_t n) {
    int64_t end = first_ordinal + n;
    for (int64_t i = entry_at(all, first_ordinal); i < all->end && all->entry[i].first_ordinal < end; i++) {
        entry *e = &all->entry[i];
        int64_t from = first_ordinal - e->first_ordinal, to = end - e->first_ordinal;
        if (from < 0) from = 0;
        if (to > e->handed) to = e->handed;
        if (from < to) acknowledge_some(lanes, e, (int32_t)from, (int32_t)to);
    }
    forget_settled(all);
}

/* Note what is left of entries that are acknowledged in part. */
void pulsar_tell_parts(entries *all, lane *lanes) {
    for (int64_t i = all->first; i < all->end; i++) {
        entry *e = &all->entry[i];
        if (!e->untold) continue;
        e->untold = 0;
        note(&lanes[e->lane], e, 1);
    }
    forget_settled(all);
}

void pulsar_entries_free(entries *all) {
    for (int64_t i = all->first; i < all->end; i++) {
        free(all->entry[i].left);
        free(all->entry[i].number);
    }
    free(all->entry);
}
