/* What one consumer received: every message checked, timed and added to its lane's run of sequence numbers. */
#include "brokerlab.h"
#include <stdlib.h>
#include <string.h>

typedef struct bl_consumer_ledger {
    bl_intervals intervals; /* first, so that a ledger can be read as its intervals */
    uint32_t run_tag;
    int32_t producers, partitions; /* partitions of all destinations together */
    bl_sequence_row *open;         /* [producer][partition]; pad = 1 while in use */
    int64_t *highest;              /* highest sequence seen per lane, -1 before the first */
    bl_rows runs, messages;
    int32_t keep_messages;
    int64_t next_ordinal, received, corrupted, unexpected, bytes;
} consumer_ledger;

consumer_ledger *bl_consumer_ledger_new(uint32_t run_tag, int32_t producers, int32_t destinations, int32_t partitions,
                                        int32_t keep_messages) {
    consumer_ledger *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    bl_intervals_init(&l->intervals, partitions);
    l->run_tag = run_tag;
    l->producers = producers;
    l->partitions = destinations * partitions;
    size_t lanes = (size_t)producers * (size_t)l->partitions;
    l->open = calloc(lanes, sizeof *l->open);
    l->highest = malloc(lanes * sizeof *l->highest);
    if (!l->open || !l->highest) abort();
    for (size_t i = 0; i < lanes; i++) l->highest[i] = -1;
    l->runs.size = sizeof(bl_sequence_row);
    l->messages.size = sizeof(bl_message_row);
    l->keep_messages = keep_messages;
    return l;
}

void bl_consumer_ledger_free(consumer_ledger *l) {
    bl_intervals_free(&l->intervals);
    free(l->open);
    free(l->highest);
    free(l->runs.data);
    free(l->messages.data);
    free(l);
}

static void close_run(consumer_ledger *l, bl_sequence_row *run) {
    if (!run->pad) return;
    bl_sequence_row *row = bl_rows_grow(&l->runs);
    *row = *run;
    row->pad = 0;
    run->pad = 0;
}

static void add_to_run(consumer_ledger *l, const bl_header *h, int64_t arrived_ns, int64_t position, int redelivered,
                       int32_t epoch) {
    size_t lane = (size_t)h->producer * (size_t)l->partitions + h->partition;
    if (h->sequence > l->highest[lane]) l->highest[lane] = h->sequence;
    bl_sequence_row *run = &l->open[lane];
    if (run->pad && h->sequence == run->last + 1 && run->epoch == epoch) {
        run->last = h->sequence;
        run->last_ns = arrived_ns;
        run->last_position = position;
        run->redelivered += redelivered;
        return;
    }
    close_run(l, run);
    *run = (bl_sequence_row){h->producer, h->partition, epoch, 1, h->sequence, h->sequence, arrived_ns, arrived_ns,
                             l->next_ordinal++, redelivered, position, position};
}

/* One delivery: damaged, of another run, or ours. Damage is a wrong checksum, whatever else the header says; only what
 * carries no trace of our magic is a stranger. */
static int classify(const consumer_ledger *l, const uint8_t *message, int64_t length, bl_header *h) {
    if (length < BL_HEADER_BYTES) return length >= 2 && message[0] == 0x42 && message[1] == 0x4C ? 1 : 2;
    memcpy(h, message, sizeof *h);
    if (h->length != length || h->checksum != bl_checksum(message, length))
        return message[0] == 0x42 || message[1] == 0x4C ? 1 : 2;
    if (h->magic != BL_MAGIC || h->version != BL_VERSION || h->run_tag != l->run_tag || h->producer >= l->producers ||
        h->partition >= l->partitions)
        return 2;
    return 0;
}

void bl_received(consumer_ledger *l, const uint64_t *addresses, const int32_t *lengths, const int64_t *positions,
                 const uint8_t *redelivered, int64_t n, int64_t arrived_ns, int32_t epoch) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *message = (const uint8_t *)(uintptr_t)addresses[i];
        bl_header h;
        int kind = classify(l, message, lengths[i], &h);
        if (kind == 1) l->corrupted++;
        if (kind == 2) l->unexpected++;
        if (kind) continue;
        l->received++;
        l->bytes += lengths[i];
        bl_slot *s = bl_slot_at(&l->intervals, h.scheduled_ns, h.partition);
        s->counter[BL_RECEIVED]++;
        s->counter[BL_REDELIVERED] += redelivered[i] != 0;
        s->counter[BL_BYTES] += lengths[i];
        bl_record(s, BL_END_TO_END, arrived_ns - h.scheduled_ns);
        bl_record(s, BL_END_TO_END_FROM_SEND, arrived_ns - h.sent_ns);
        add_to_run(l, &h, arrived_ns, positions[i], redelivered[i] != 0, epoch);
        if (l->keep_messages) {
            bl_message_row *row = bl_rows_grow(&l->messages);
            *row = (bl_message_row){h.producer, h.partition, -1, 0, h.sequence, h.scheduled_ns, arrived_ns,
                                    l->received + l->corrupted + l->unexpected - 1};
        }
    }
}

/* totals: received, corrupted, unexpected, bytes */
void bl_consumer_totals(const consumer_ledger *l, int64_t *totals) {
    totals[0] = l->received;
    totals[1] = l->corrupted;
    totals[2] = l->unexpected;
    totals[3] = l->bytes;
}

const int64_t *bl_highest(const consumer_ledger *l) { return l->highest; }

void bl_consumer_rows(consumer_ledger *l, void **runs, int64_t *run_rows, void **messages, int64_t *message_rows) {
    for (size_t lane = 0; lane < (size_t)l->producers * (size_t)l->partitions; lane++) close_run(l, &l->open[lane]);
    *runs = l->runs.data;
    *run_rows = l->runs.count;
    *messages = l->messages.data;
    *message_rows = l->messages.count;
}

void bl_consumer_clear(consumer_ledger *l) {
    bl_intervals_clear(&l->intervals);
    l->runs.count = 0;
    l->messages.count = 0;
}
