/* What a Pulsar broker says to a producer and to a consumer. */
#include "fuzz.h"
#include "../pulsar.h"
#include <string.h>

enum { LANES = 3, MOST = 8, TURNS = 64, BATCHES = 2 };

/* ---------------------------------------------------------------- frames */

static void put_number(input *to, uint32_t number, uint64_t value) {
    uint8_t field[2 * PULSAR_NUMBER_MOST];
    put_bytes(to, field, (size_t)(pulsar_put_number(field, number, value) - field));
}

static void put_inside(input *to, uint32_t number, const input *inside) {
    uint8_t head[2 * PULSAR_NUMBER_MOST];
    uint8_t *end = pulsar_put_varint(pulsar_put_varint(head, number << 3 | 2), inside->bytes);
    put_bytes(to, head, (size_t)(end - head));
    put_bytes(to, inside->data, inside->bytes);
}

static void put_command(input *to, int type, const input *fields, const input *behind) {
    input base = {.bytes = 0};
    put_number(&base, 1, (uint64_t)type);
    put_inside(&base, (uint32_t)type, fields);
    put_big(to, (int64_t)(4 + base.bytes + (behind ? behind->bytes : 0)), 4);
    put_big(to, (int64_t)base.bytes, 4);
    put_bytes(to, base.data, base.bytes);
    if (behind) put_bytes(to, behind->data, behind->bytes);
}

/* What either may hear between two answers: a PING, a closed lane, something new. */
static void put_between(dice *d, input *to, int closing) {
    input fields = {.bytes = 0};
    int64_t what = dice_below(d, 12);
    if (what == 0) put_command(to, dice_below(d, 2) ? PULSAR_PING : PULSAR_PONG, &fields, NULL);
    put_number(&fields, 1, 1 + (uint64_t)dice_below(d, LANES + 1));
    put_number(&fields, 2, (uint64_t)dice_below(d, 1000));
    if (what == 1) put_command(to, closing, &fields, NULL);
    if (what == 2) put_command(to, 100, &fields, NULL);
    if (what == 3) put_command(to, PULSAR_SUCCESS, &fields, NULL);
}

/* ---------------------------------------------------------------- to a producer */

static void make_receipts(dice *d, input *to) {
    for (uint64_t sequence = 0; sequence < BATCHES; sequence++)
        for (uint64_t lane = 0; lane < LANES; lane++) {
            input fields = {.bytes = 0}, id = {.bytes = 0};
            put_number(&fields, 1, lane + 1), put_number(&fields, 2, sequence);
            put_number(&id, 1, 7), put_number(&id, 2, sequence);
            int refused = !dice_below(d, 6);
            if (refused) {
                put_number(&fields, 3, (uint64_t)dice_below(d, 30));
                put_inside(&fields, 4, &id);
            } else
                put_inside(&fields, 3, &id);
            put_command(to, refused ? PULSAR_SEND_ERROR : PULSAR_SEND_RECEIPT, &fields, NULL);
            put_between(d, to, PULSAR_CLOSE_PRODUCER);
        }
}

/* Two batches of every lane are under way when the answers come. */
static int64_t feed_producer(dice *d, const input *in) {
    static const uint8_t value[64] = "the value of a message";
    static const int32_t lanes[LANES] = {0, 1, 2};
    static const char *names[LANES] = {"a", "b", "c"};
    const int64_t settings[] = {0, 1 << 16, 1, dice_below(d, 2), 60, 60000000000};
    int64_t offsets[LANES] = {0}, indices[LANES * BATCHES], at_ns[LANES * BATCHES], understood = 0;
    int32_t lengths[LANES], codes[LANES * BATCHES];
    bl_pulsar_sender *p = bl_pulsar_sender_new(LANES, settings);
    size_t early = (size_t)dice_below(d, (int64_t)in->bytes + 1); /* read before the connection was handed over */
    input late = {.bytes = 0};
    for (int lane = 0; lane < LANES; lane++) lengths[lane] = (int32_t)dice_below(d, 64);
    wire_feed(d, &late);
    bl_pulsar_send(p, value, offsets, lengths, lanes, NULL, 0, LANES);
    int all_late = dice_below(d, 4) != 0;
    bl_pulsar_sender_attach(p, WIRE_FD, in->data, all_late ? 0 : (int64_t)early, lanes, names, LANES);
    bl_pulsar_send(p, value, offsets, lengths, lanes, dice_below(d, 2) ? value : NULL, LANES, LANES);
    if (all_late) early = 0, bl_pulsar_settled(p, NULL, NULL, NULL, 0);
    put_bytes(&late, in->data + early, in->bytes - early);
    wire_feed(d, &late);
    for (int turn = 0; turn < TURNS && bl_pulsar_sender_unsettled(p); turn++) {
        int64_t n = bl_pulsar_settled(p, indices, codes, at_ns, 1 + dice_below(d, LANES * BATCHES));
        for (int64_t i = 0; i < n; i++) understood += codes[i] == 0;
        if (n < 0 && dice_below(d, 2)) bl_pulsar_sender_attach(p, WIRE_FD, NULL, 0, lanes, names, LANES);
        if (!wire_left() && turn > 8) break;
    }
    touch(bl_pulsar_sender_why(p), 1);
    if (dice_below(d, 2)) bl_pulsar_sender_flush(p, bl_now_ns() + 5000000);
    bl_pulsar_sender_free(p);
    return understood;
}

const target pulsar_producer_target = {"pulsar_producer", make_receipts, feed_producer};

/* ---------------------------------------------------------------- to a consumer */

static void put_entry(dice *d, input *behind) {
    input metadata = {.bytes = 0}, name = {.bytes = 0}, summed = {.bytes = 0};
    int64_t messages = 1 + dice_below(d, 4);
    int is_batch = dice_below(d, 4) != 0;
    put_text(&name, "name");
    put_inside(&metadata, 1, &name);
    put_number(&metadata, 2, 5), put_number(&metadata, 3, 1700000000000);
    if (!dice_below(d, 16)) put_number(&metadata, 8, (uint64_t)dice_below(d, 3));
    if (is_batch) put_number(&metadata, 11, (uint64_t)messages);
    put_big(&summed, (int64_t)metadata.bytes, 4);
    put_bytes(&summed, metadata.data, metadata.bytes);
    for (int64_t i = 0; is_batch && i < messages; i++) {
        input single = {.bytes = 0};
        size_t size = (size_t)dice_below(d, 20);
        if (!dice_below(d, 3)) put_inside(&single, 2, &name);
        put_number(&single, 3, size);
        put_big(&summed, (int64_t)single.bytes, 4);
        put_bytes(&summed, single.data, single.bytes);
        put_bytes(&summed, "the content of a message", size);
    }
    if (!is_batch) put_text(&summed, "alone");
    if (!dice_below(d, 8)) put_big(behind, PULSAR_BROKER_METADATA, 2), put_big(behind, 4, 4), put_text(behind, "meta");
    if (dice_below(d, 2)) { /* without a checksum what is damaged is read all the same */
        put_big(behind, PULSAR_CHECKSUM, 2);
        put_big(behind, bl_crc32c(summed.data, (int64_t)summed.bytes, 0), 4);
    }
    put_bytes(behind, summed.data, summed.bytes);
}

static void make_entries(dice *d, input *to) {
    for (int64_t n = 1 + dice_below(d, 6); n > 0; n--) {
        input fields = {.bytes = 0}, id = {.bytes = 0}, behind = {.bytes = 0}, packed = {.bytes = 0};
        put_number(&id, 1, 3), put_number(&id, 2, (uint64_t)dice_below(d, 100));
        put_number(&fields, 1, 1 + (uint64_t)dice_below(d, LANES));
        put_inside(&fields, 2, &id);
        if (!dice_below(d, 4)) put_number(&fields, 3, (uint64_t)dice_below(d, 3));
        if (!dice_below(d, 4)) put_number(&fields, 4, (uint64_t)dice_below(d, 16));
        put_big(&packed, dice_below(d, 128), 1);
        if (!dice_below(d, 8)) put_inside(&fields, 4, &packed);
        put_entry(d, &behind);
        put_command(to, PULSAR_MESSAGE, &fields, &behind);
        put_between(d, to, PULSAR_CLOSE_CONSUMER);
    }
}

static int64_t feed_consumer(dice *d, const input *in) {
    static const int32_t lanes[LANES] = {0, 1, 2};
    uint64_t addresses[MOST];
    int32_t lengths[MOST];
    int64_t positions[MOST], about[2], understood = 0;
    uint8_t redelivered[MOST];
    bl_pulsar_receiver *c = bl_pulsar_receiver_new(LANES, 1 + dice_below(d, 20));
    size_t early = dice_below(d, 4) ? 0 : (size_t)dice_below(d, (int64_t)in->bytes + 1);
    input late = {.bytes = 0};
    bl_pulsar_receiver_attach(c, WIRE_FD, in->data, (int64_t)early, lanes, LANES);
    put_bytes(&late, in->data + early, in->bytes - early);
    wire_feed(d, &late);
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t n = bl_pulsar_receive(c, 0, 1 + dice_below(d, MOST), addresses, lengths, positions, redelivered, about);
        for (int64_t i = 0; i < n; i++) touch((const void *)(uintptr_t)addresses[i], lengths[i]);
        if (n > 0) understood += n;
        if (n > 0 && dice_below(d, 2)) bl_pulsar_acknowledge(c, about[1] + dice_below(d, 2), 1 + dice_below(d, n));
        if (!dice_below(d, 8)) bl_pulsar_tell(c);
        if (n == -1 && dice_below(d, 2)) bl_pulsar_receiver_attach(c, WIRE_FD, NULL, 0, lanes, LANES);
        if (n == -2 || (n <= 0 && !wire_left() && turn > 8)) break;
    }
    touch(bl_pulsar_receiver_why(c), 1);
    if (dice_below(d, 2)) bl_pulsar_receiver_close(c, bl_now_ns() + 5000000);
    bl_pulsar_receiver_free(c);
    return understood;
}

const target pulsar_consumer_target = {"pulsar_consumer", make_entries, feed_consumer};
