/* What a NATS server sends, to a producer and to a consumer. */
#include "fuzz.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 8, TURNS = 64, STREAMS = 2 };
static const char hello[] = "CONNECT {}\r\nPING\r\n";

static const char *greetings[] = {
    "INFO {\"server_id\":\"x\",\"max_payload\":1000,\"headers\":true}\r\nPONG\r\n",
    "INFO {\"max_payload\":12345678901234567890}\r\nPONG\r\n",
    "INFO {\"max_payload\":\r\nPING\r\nPONG\r\n",
    "INFO {\"tls_required\":true}\r\n",
};
static const char *between[] = {
    "PING\r\n", "+OK\r\n", "-ERR 'Permissions Violation'\r\n", "INFO {\"max_payload\":1}\r\n", "PONG\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
};

static void make_greeting(dice *d, input *to) {
    put_text(to, greetings[dice_below(d, 4) ? 0 : dice_below(d, sizeof greetings / sizeof *greetings)]);
}

static void put_between(dice *d, input *to) {
    if (!dice_below(d, 4)) put_text(to, between[dice_below(d, sizeof between / sizeof *between - !!dice_below(d, 8))]);
}

/* MSG, or HMSG where there is a header. */
static void put_message(input *to, const char *subject, int sid, const char *reply, const char *header,
                        const char *data) {
    char line[256];
    size_t header_bytes = strlen(header), all = header_bytes + strlen(data);
    if (header_bytes)
        snprintf(line, sizeof line, "HMSG %s %d %s %zu %zu\r\n", subject, sid, reply, header_bytes, all);
    else
        snprintf(line, sizeof line, "MSG %s %d %s %zu\r\n", subject, sid, reply, all);
    put_text(to, line), put_text(to, header), put_text(to, data), put_text(to, "\r\n");
}

/* ---------------------------------------------------------------- producer */

static void make_answers(dice *d, input *to) {
    static const char *answers[] = {"{\"stream\":\"d\",\"seq\":12}", "{\"error\":{\"code\":503}}", "", "\r\nMSG"};
    make_greeting(d, to);
    for (int64_t n = dice_below(d, 10); n > 0; n--) {
        char subject[64];
        snprintf(subject, sizeof subject, "_R.%012lld", (long long)dice_below(d, 10));
        put_message(to, subject, 1, "", dice_below(d, 6) ? "" : "NATS/1.0 503\r\n\r\n",
                    answers[dice_below(d, 3) ? 0 : dice_below(d, sizeof answers / sizeof *answers)]);
        put_between(d, to);
    }
}

static int64_t feed_producer(dice *d, const input *in) {
    static const char *prefixes[] = {"PUB d.0 _R.", "PUB d.1 _R."};
    static uint8_t value[64] = "the value of a message";
    const int64_t offsets[MOST] = {0};
    const int32_t lengths[MOST] = {1, 2, 3, 0, 64, 5, 6, 7}, partitions[MOST] = {0, 1, 0, 1, 0, 1, 0, 1};
    int64_t indices[MOST], at_ns[MOST], understood = 0, sent = 0;
    int32_t codes[MOST], status;
    bl_nats_producer *p = bl_nats_producer_new(hello, sizeof hello - 1, prefixes, 2, 3, 1 << 16);
    bl_nats_attach((bl_nats_link *)p, WIRE_FD);
    if (dice_below(d, 2)) { /* so that messages wait for their answers */
        input greeting = {.bytes = 0};
        put_text(&greeting, greetings[0]);
        wire_feed(d, &greeting);
        while (wire_left()) bl_nats_settled(p, indices, codes, at_ns, MOST);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        if (sent < MOST)
            sent += bl_nats_send(p, value, offsets, lengths + sent, partitions + sent, NULL, sent, MOST - sent);
        if (!turn) wire_feed(d, in);
        int64_t n = bl_nats_settled(p, indices, codes, at_ns, 1 + dice_below(d, MOST));
        for (int64_t i = 0; i < n; i++) {
            understood += codes[i] == 0;
            if (codes[i] >= 3) touch(bl_nats_answer(p, codes[i] - 3, &status), 1);
        }
        if (!wire_left() && n <= 0) break;
    }
    bl_nats_flush((bl_nats_link *)p, bl_now_ns() + 5000000);
    touch(bl_nats_why((bl_nats_link *)p), 1);
    bl_nats_producer_free(p);
    return understood;
}

const target nats_producer_target = {"nats_producer", make_answers, feed_producer};

/* ---------------------------------------------------------------- consumer */

static void make_deliveries(dice *d, input *to) {
    static const char *replies[] = {
        "$JS.ACK.a.g.1.%lld.5.1700000000000000000.0",
        "$JS.ACK.hub.hash.a.g.2.%lld.5.1700000000000000000.0.random",
        "$JS.ACK.%lld",
        "$JS.ACK.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t%lld",
    };
    static const char *headers[] = {
        "NATS/1.0 100 Idle Heartbeat\r\n\r\n",
        "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\nNats-Pending-Bytes: 0\r\n\r\n",
        "NATS/1.0 409 Consumer Deleted\r\n\r\n",
        "NATS/1.0 503\r\n\r\n",
        "NATS/1.0 404 No Messages\r\nNats-Pending-Messages: 99999999999999999999",
    };
    make_greeting(d, to);
    for (int64_t n = dice_below(d, 10); n > 0; n--) {
        char reply[128];
        snprintf(reply, sizeof reply, replies[dice_below(d, 4) ? 0 : dice_below(d, sizeof replies / sizeof *replies)],
                 (long long)dice_below(d, 1000));
        int sid = 1 + (int)dice_below(d, STREAMS);
        if (dice_below(d, 4))
            put_message(to, "a.0", sid, reply, dice_below(d, 4) ? "" : "NATS/1.0\r\nKey: value\r\n\r\n", "some data");
        else
            put_message(to, "i.0", sid, "", headers[dice_below(d, sizeof headers / sizeof *headers)], "");
        put_between(d, to);
    }
}

static int64_t feed_consumer(dice *d, const input *in) {
    static const char *pulls[STREAMS] = {"PUB pull.0 i.0", "PUB pull.1 i.1"};
    uint64_t addresses[MOST];
    int32_t lengths[MOST];
    int64_t positions[MOST], about[2], understood = 0;
    uint8_t redelivered[MOST];
    bl_nats_consumer *c = bl_nats_consumer_new(hello, sizeof hello - 1, pulls, STREAMS, ",\"expires\":1}",
                                               1 + dice_below(d, 20), 1 + dice_below(d, 10000), (int)dice_below(d, 3));
    bl_nats_attach((bl_nats_link *)c, WIRE_FD);
    wire_feed(d, in);
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t n = bl_nats_receive(c, 0, 1 + dice_below(d, MOST), addresses, lengths, positions, redelivered, about);
        for (int64_t i = 0; i < n; i++) touch((const void *)(uintptr_t)addresses[i], lengths[i]);
        if (n > 0) understood += n;
        if (n > 0 && dice_below(d, 2)) bl_nats_acknowledge(c, about[1] + dice_below(d, 2), n);
        if (n < 0 || (!n && !wire_left())) break;
    }
    if (dice_below(d, 2)) bl_nats_give_back(c, bl_now_ns() + 5000000);
    bl_nats_consumer_free(c);
    return understood;
}

const target nats_consumer_target = {"nats_consumer", make_deliveries, feed_consumer};
