/* What needs no connection: Kafka's record batches, and the messages themselves. */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MOST = 8, RUN_TAG = 77, PRODUCERS = 3, DESTINATIONS = 2, PARTITIONS = 2 };

/* ---------------------------------------------------------------- batches */

void make_batch(dice *d, input *to) {
    static const uint8_t values[256] = "the values of messages";
    int64_t offsets[MESSAGES_MOST], unix_ms[MESSAGES_MOST], n = 1 + dice_below(d, MESSAGES_MOST);
    int32_t lengths[MESSAGES_MOST];
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = dice_below(d, 100);
        lengths[i] = (int32_t)dice_below(d, 100);
        unix_ms[i] = 1700000000000 + dice_below(d, 1000);
    }
    uint8_t batch[2048];
    int64_t bytes = bl_batch_write(values, offsets, lengths, dice_below(d, 2) ? values : NULL, unix_ms, n, batch,
                                   sizeof batch);
    put_bytes(to, batch, (size_t)bytes);
}

/* In memory of just its length, so that a byte too far is seen. */
static uint8_t *exactly(const input *in) {
    uint8_t *data = malloc(in->bytes ? in->bytes : 1);
    if (!data) abort();
    memcpy(data, in->data, in->bytes);
    return data;
}

static int64_t feed_batch(dice *d, const input *in) {
    uint64_t addresses[MESSAGES_MOST];
    int32_t lengths[MESSAGES_MOST];
    int64_t positions[MESSAGES_MOST], about[2];
    uint8_t *data = exactly(in);
    bl_batch_read(data, (int64_t)in->bytes, !dice_below(d, 8), dice_below(d, 4), addresses, lengths, positions,
                  1 + dice_below(d, MESSAGES_MOST), about);
    for (int64_t i = 0; i < about[0]; i++) touch((const void *)(uintptr_t)addresses[i], lengths[i]);
    free(data);
    return about[0];
}

const target batch_target = {"batch", make_batch, feed_batch};

/* ---------------------------------------------------------------- messages */

static void seal(uint8_t *message, size_t bytes) {
    bl_header h;
    memcpy(&h, message, sizeof h);
    h.length = (uint32_t)bytes;
    memcpy(message, &h, sizeof h);
    h.checksum = bl_checksum(message, (int64_t)bytes);
    memcpy(message, &h, sizeof h);
}

static void make_message(dice *d, input *to) {
    bl_header h = {
        .magic = BL_MAGIC,
        .version = BL_VERSION,
        .run_tag = RUN_TAG,
        .producer = (uint16_t)dice_below(d, PRODUCERS),
        .partition = (uint16_t)dice_below(d, DESTINATIONS * PARTITIONS),
        .sequence = dice_below(d, 100),
        .scheduled_ns = 1000000000 + dice_below(d, 1000000000),
        .sent_ns = 1000000000 + dice_below(d, 1000000000),
    };
    put_bytes(to, &h, sizeof h);
    for (int64_t n = dice_below(d, 80); n > 0; n--) put_big(to, dice_below(d, 256), 1);
    seal(to->data, to->bytes);
}

/* Half of them are sealed again after the damage: what a header says then counts, however odd, but for its times. Where
 * the checksum is right those are ours, and no sum of them comes near an overflow. */
static void seal_again(dice *d, uint8_t *message, size_t bytes) {
    bl_header h;
    memcpy(&h, message, sizeof h);
    h.scheduled_ns = dice_below(d, 1LL << 42);
    h.sent_ns = dice_below(d, 1LL << 42);
    memcpy(message, &h, sizeof h);
    seal(message, bytes);
}

static int64_t feed_message(dice *d, const input *in) {
    bl_consumer_ledger *ledger =
        bl_consumer_ledger_new(RUN_TAG, PRODUCERS, DESTINATIONS, PARTITIONS, (int32_t)dice_below(d, 2));
    bl_ledger_start((bl_intervals *)ledger, 1700000000000000000, 1500000000);
    uint8_t *data = exactly(in);
    if (in->bytes >= BL_HEADER_BYTES && dice_below(d, 2)) seal_again(d, data, in->bytes);
    uint64_t addresses[2] = {(uint64_t)(uintptr_t)data, (uint64_t)(uintptr_t)data};
    int32_t lengths[2] = {(int32_t)in->bytes, (int32_t)in->bytes};
    int64_t positions[2] = {-1, 5}, totals[4], rows;
    uint8_t redelivered[2] = {0, 1};
    bl_received(ledger, addresses, lengths, positions, redelivered, 2, 2000000000, 0);
    bl_consumer_totals(ledger, totals);
    void *runs, *messages;
    bl_consumer_rows(ledger, &runs, &rows, &messages, &rows);
    bl_consumer_clear(ledger);
    bl_consumer_ledger_free(ledger);
    free(data);
    return totals[0];
}

const target message_target = {"message", make_message, feed_message};
