/* Kafka's answers to fetches and to produce requests. */
#include "fuzz.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOPICS = 2, PARTITIONS = 2, LANES = TOPICS * PARTITIONS, MOST = 8, TURNS = 64 };
static const char *topics[TOPICS] = {"a", "long-name"};

static void put_topic(input *to, int topic) {
    static const int16_t length[TOPICS] = {1, 9};
    put_big(to, length[topic], 2);
    put_text(to, topics[topic]);
}

/* The size before what was put since. */
static void close_frame(input *to, size_t from) {
    input sized = {.bytes = 0};
    put_big(&sized, (int64_t)(to->bytes - from) - 4, 4);
    for (int i = 0; i < 4; i++) to->data[from + (size_t)i] = sized.data[i];
}

/* ---------------------------------------------------------------- fetches */

static void put_records(dice *d, input *to) {
    input records = {.bytes = 0};
    for (int64_t n = dice_below(d, 3); n > 0; n--) make_batch(d, &records);
    if (records.bytes && !dice_below(d, 4)) records.bytes -= (size_t)dice_below(d, (int64_t)records.bytes);
    put_big(to, (int64_t)records.bytes, 4);
    put_bytes(to, records.data, records.bytes);
}

static void put_fetched(dice *d, input *to, int32_t correlation) {
    size_t from = to->bytes;
    put_big(to, 0, 4), put_big(to, correlation, 4), put_big(to, 0, 4), put_big(to, 0, 2), put_big(to, 0, 4);
    put_big(to, TOPICS, 4);
    for (int topic = 0; topic < TOPICS; topic++) {
        put_topic(to, topic);
        put_big(to, 1, 4);
        put_big(to, dice_below(d, PARTITIONS), 4), put_big(to, dice_below(d, 8) ? 0 : dice_below(d, 10), 2);
        put_big(to, 100, 8), put_big(to, 100, 8), put_big(to, 0, 8);
        int64_t aborted = dice_below(d, 4) ? -1 : dice_below(d, 3);
        put_big(to, aborted, 4);
        for (; aborted > 0; aborted--) put_big(to, 1, 8), put_big(to, 2, 8);
        put_big(to, -1, 4);
        put_records(d, to);
    }
    close_frame(to, from);
}

static void make_fetch(dice *d, input *to) {
    for (int32_t n = 1; n <= 1 + (int32_t)dice_below(d, 3) && to->bytes < INPUT_MOST / 3; n++) put_fetched(d, to, n);
}

static int64_t feed_fetch(dice *d, const input *in) {
    uint64_t addresses[MOST];
    int32_t lengths[MOST];
    int64_t positions[MOST], about[2], settings[] = {500, 1, 1 << 20, 1 << 16, !dice_below(d, 4)}, understood = 0;
    bl_fetcher *f = bl_fetch_new("fuzz", topics, TOPICS, PARTITIONS, settings);
    bl_fetch_attach(f, 0, WIRE_FD);
    for (int lane = 0; lane < LANES; lane++) bl_fetch_seek(f, lane, dice_below(d, 3)), bl_fetch_lead(f, lane, 0);
    input nothing = {.bytes = 0};
    wire_feed(d, &nothing);
    bl_fetch_receive(f, 0, MOST, addresses, lengths, positions, about); /* asks */
    wire_feed(d, in);
    for (int turn = 0; turn < TURNS && bl_fetch_is_up(f, 0); turn++) {
        int64_t most = 1 + dice_below(d, MOST);
        int64_t n = bl_fetch_receive(f, 0, most, addresses, lengths, positions, about);
        for (int64_t i = 0; i < n; i++) touch((const void *)(uintptr_t)addresses[i], lengths[i]);
        if (n > 0) understood += n;
        if (n == 0 && !wire_left()) break;
    }
    if (dice_below(d, 2)) { /* what was left on a lost connection, and the next one */
        bl_fetch_receive(f, 0, MOST, addresses, lengths, positions, about);
        bl_fetch_attach(f, 0, WIRE_FD);
        bl_fetch_receive(f, 0, MOST, addresses, lengths, positions, about);
    }
    bl_fetch_free(f);
    return understood;
}

const target fetch_target = {"fetch", make_fetch, feed_fetch};

/* ---------------------------------------------------------------- produce requests */

static void make_produce(dice *d, input *to) {
    for (int32_t correlation = 1; correlation <= 2; correlation++) {
        size_t from = to->bytes;
        put_big(to, 0, 4), put_big(to, correlation, 4), put_big(to, TOPICS, 4);
        for (int topic = 0; topic < TOPICS; topic++) {
            put_topic(to, topic);
            put_big(to, PARTITIONS, 4);
            for (int partition = 0; partition < PARTITIONS; partition++) {
                put_big(to, partition, 4), put_big(to, dice_below(d, 4) ? 0 : dice_below(d, 90), 2);
                put_big(to, 7, 8), put_big(to, -1, 8), put_big(to, 0, 8);
            }
        }
        put_big(to, 0, 4);
        close_frame(to, from);
    }
}

/* Something that waits must have a socket or a time to wait for, however little the sockets take. */
static void check_wakes(const bl_kafka_sender *p) {
    struct pollfd sockets[4];
    int64_t wake_ns;
    if (!bl_produce_unsettled(p) || bl_produce_watch(p, sockets, 4, &wake_ns) || wake_ns < INT64_MAX) return;
    fprintf(stderr, "messages wait, and nothing wakes the producer\n");
    abort();
}

/* Two requests of all partitions are under way when the answers come; with acks=0 none come, and more is sent. */
static int64_t feed_produce(dice *d, const input *in) {
    static const uint8_t value[64] = "the value of a message";
    int64_t acks = dice_below(d, 16) ? -1 : 0;
    const int64_t settings[] = {acks, 0, 1 << 16, acks ? 100 : 1, 5, 1 << 20, 30000, 60000000000, dice_below(d, 3), 1000000};
    int64_t offsets[LANES] = {0}, indices[LANES * 4], at_ns[LANES * 4], understood = 0;
    int32_t lengths[LANES], partitions[LANES], codes[LANES * 4];
    bl_kafka_sender *p = bl_produce_new("fuzz", topics, TOPICS, PARTITIONS, settings);
    bl_produce_attach(p, 0, WIRE_FD);
    for (int lane = 0; lane < LANES; lane++) {
        bl_produce_lead(p, lane, 0);
        partitions[lane] = lane;
        lengths[lane] = (int32_t)dice_below(d, 64);
    }
    input nothing = {.bytes = 0};
    wire_feed(d, &nothing);
    if (!acks) wire_slow_down();
    for (int64_t n = 0; n < (acks ? 2 : 40); n++) {
        bl_produce_send(p, value, offsets, lengths, partitions, NULL, n * LANES, LANES);
        bl_produce_settled(p, indices, codes, at_ns, LANES);
        check_wakes(p);
    }
    wire_feed(d, in);
    for (int turn = 0; turn < TURNS && (bl_produce_unsettled(p) || !acks); turn++) {
        int64_t n = bl_produce_settled(p, indices, codes, at_ns, 1 + dice_below(d, LANES * 4));
        if (n > 0) understood += n;
        if (!wire_left() && turn > 4) break;
        if (n < 0 && dice_below(d, 2)) bl_produce_lead(p, (int)dice_below(d, LANES), 0);
    }
    bl_produce_free(p);
    return understood;
}

const target produce_target = {"produce", make_produce, feed_produce};
