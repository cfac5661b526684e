/* Counters and log-linear histograms by destination, second and phase of the *scheduled* time. */
#include "brokerlab.h"
#include <stdlib.h>
#include <string.h>

void *bl_rows_grow(bl_rows *r) {
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 256;
        r->data = realloc(r->data, (size_t)r->capacity * r->size);
        if (!r->data) abort();
    }
    return r->data + (size_t)(r->count++) * r->size;
}

void bl_intervals_init(bl_intervals *t, int32_t partitions) {
    memset(t, 0, sizeof *t);
    t->partitions = partitions;
}

static void slot_free(bl_slot *s) {
    for (int m = 0; m < BL_MEASURES; m++) free(s->histogram[m].count);
    free(s);
}

void bl_intervals_free(bl_intervals *t) {
    for (int32_t i = 0; i < t->slots; i++) slot_free(t->slot[i]);
    for (int32_t i = 0; i < t->spares; i++) slot_free(t->spare[i]);
    free(t->slot);
    free(t->spare);
}

static int64_t floor_seconds(int64_t ns) { return ns >= 0 ? ns / 1000000000 : -((-ns + 999999999) / 1000000000); }

static bl_slot *slot_new(bl_intervals *t) {
    if (t->spares) return t->spare[--t->spares];
    bl_slot *s = calloc(1, sizeof *s);
    if (!s) abort();
    return s;
}

/* A slot holds one second of one phase, so it covers the second cut at the phase border. */
bl_slot *bl_slot_at(bl_intervals *t, int64_t scheduled_ns, int32_t partition) {
    int32_t destination = partition / t->partitions;
    if (t->last && scheduled_ns >= t->last_from_ns && scheduled_ns < t->last_to_ns && t->last->destination == destination)
        return t->last;
    int64_t second = floor_seconds(scheduled_ns + t->unix_minus_mono_ns);
    int32_t phase = scheduled_ns >= t->measure_from_ns;
    bl_slot *found = NULL;
    for (int32_t i = t->slots - 1; i >= 0 && !found; i--) {
        bl_slot *s = t->slot[i];
        if (s->second == second && s->destination == destination && s->phase == phase) found = s;
    }
    if (!found) {
        if (t->slots == t->capacity) {
            t->capacity = t->capacity ? t->capacity * 2 : 64;
            t->slot = realloc(t->slot, (size_t)t->capacity * sizeof *t->slot);
            t->spare = realloc(t->spare, (size_t)t->capacity * sizeof *t->spare);
            if (!t->slot || !t->spare) abort();
        }
        found = slot_new(t);
        found->second = second;
        found->destination = destination;
        found->phase = phase;
        t->slot[t->slots++] = found;
    }
    t->last = found;
    t->last_from_ns = second * 1000000000 - t->unix_minus_mono_ns;
    t->last_to_ns = t->last_from_ns + 1000000000;
    if (phase && t->last_from_ns < t->measure_from_ns) t->last_from_ns = t->measure_from_ns;
    if (!phase && t->last_to_ns > t->measure_from_ns) t->last_to_ns = t->measure_from_ns;
    return found;
}

void bl_record(bl_slot *s, int measure, int64_t value_ns) {
    if (value_ns < 0) {
        s->counter[measure > BL_SEND_DELAY ? BL_NEGATIVE_FROM_SEND : BL_NEGATIVE]++;
        return;
    }
    bl_histogram *h = &s->histogram[measure];
    if (!h->count) {
        h->count = calloc(BL_BUCKETS, sizeof *h->count);
        if (!h->count) abort();
    }
    int64_t v = value_ns < BL_LARGEST_NS ? value_ns : BL_LARGEST_NS;
    int bits = 64 - __builtin_clzll((uint64_t)v | 1);
    int shift = bits > BL_BITS + 1 ? bits - (BL_BITS + 1) : 0;
    int32_t bucket = (int32_t)((shift << BL_BITS) + (v >> shift));
    h->count[bucket]++;
    if (!h->samples++) {
        h->min_ns = h->max_ns = value_ns;
        h->lowest = h->highest = bucket;
    } else {
        if (value_ns < h->min_ns) h->min_ns = value_ns, h->lowest = bucket;
        if (value_ns > h->max_ns) h->max_ns = value_ns, h->highest = bucket;
    }
    h->sum_ns = (int64_t)((uint64_t)h->sum_ns + (uint64_t)value_ns); /* wraps for times that no clock shows, as in numpy */
}

/* Empty all slots for reuse. */
void bl_intervals_clear(bl_intervals *t) {
    for (int32_t i = 0; i < t->slots; i++) {
        bl_slot *s = t->slot[i];
        for (int m = 0; m < BL_MEASURES; m++) {
            bl_histogram *h = &s->histogram[m];
            if (h->samples) memset(h->count + h->lowest, 0, (size_t)(h->highest - h->lowest + 1) * sizeof *h->count);
            uint32_t *keep = h->count;
            memset(h, 0, sizeof *h);
            h->count = keep;
        }
        memset(s->counter, 0, sizeof s->counter);
        t->spare[t->spares++] = s;
    }
    t->slots = 0;
    t->last = NULL;
}

/* How many slots hold something, for taking them one by one. */
int32_t bl_slots(const bl_intervals *t) { return t->slots; }

/* Copy slot i out: identity[3] = second, destination, phase; counters; per measure its sparse histogram (bucket and
 * count arrays of BL_BUCKETS each, back to back) with length, min, max, sum in shape[4 x measure ..]. */
void bl_slot_copy(const bl_intervals *t, int32_t i, int64_t *identity, int64_t *counters, int32_t *buckets,
                  int64_t *counts, int64_t *shape) {
    const bl_slot *s = t->slot[i];
    identity[0] = s->second;
    identity[1] = s->destination;
    identity[2] = s->phase;
    memcpy(counters, s->counter, sizeof s->counter);
    for (int m = 0; m < BL_MEASURES; m++) {
        const bl_histogram *h = &s->histogram[m];
        int64_t n = 0;
        if (h->samples)
            for (int32_t b = h->lowest; b <= h->highest; b++)
                if (h->count[b]) {
                    buckets[m * BL_BUCKETS + n] = b;
                    counts[m * BL_BUCKETS + n++] = h->count[b];
                }
        shape[4 * m] = n;
        shape[4 * m + 1] = h->min_ns;
        shape[4 * m + 2] = h->max_ns;
        shape[4 * m + 3] = h->sum_ns;
    }
}
