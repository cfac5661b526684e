/* What the producer and the consumer that speak Pulsar's binary protocol share: connections, frames, and the fields of
 * commands (pulsar_link.c). The protocol is in Pulsar's documentation, "binary protocol", its commands in PulsarApi.proto.
 *
 * A partition is called by its cell-wide number, its lane; on every connection its producer or consumer has the id lane + 1.
 * Python looks up who serves a lane, opens the connection and the lanes on it, and hands both over: see driver_native.py. */
#ifndef BROKERLAB_PULSAR_H
#define BROKERLAB_PULSAR_H

#include "brokerlab.h"
#include "kafka_bytes.h"

enum { PULSAR_CONNECTIONS = 64 };
enum {
    PULSAR_SEND = 6, PULSAR_SEND_RECEIPT = 7, PULSAR_SEND_ERROR = 8, PULSAR_MESSAGE = 9, PULSAR_ACK = 10,
    PULSAR_FLOW = 11, PULSAR_SUCCESS = 13, PULSAR_CLOSE_PRODUCER = 15, PULSAR_CLOSE_CONSUMER = 16, PULSAR_PING = 18,
    PULSAR_PONG = 19
};
enum { PULSAR_CHECKSUM = 0x0e01, PULSAR_BROKER_METADATA = 0x0e02 }; /* what may stand behind a command */

typedef struct {
    int fd;
    bytes in, out; /* out: commands, never messages */
    int64_t heard_ns;
    int asked; /* whether a PING of ours waits for any word */
    char why[256];
} pulsar_link;

/* Fields that are left to read. Nothing is read behind `end`. */
typedef struct {
    const uint8_t *at, *end;
    int malformed;
} pulsar_reader;

typedef struct {
    uint32_t number;
    uint64_t value;       /* of a number */
    pulsar_reader inside; /* of text, bytes or a message; empty otherwise */
} pulsar_field;

typedef struct {
    int type;
    pulsar_reader command;
    const uint8_t *rest, *end; /* of a message: metadata and payload */
} pulsar_frame;

void pulsar_attach(pulsar_link *, int fd, const uint8_t *read, int64_t bytes_read, int64_t now_ns);
void pulsar_lose(pulsar_link *, const char *why);
void pulsar_free(pulsar_link *);
int64_t pulsar_read(pulsar_link *, int64_t now_ns);
int pulsar_next(pulsar_link *, pulsar_frame *);
void pulsar_tend(pulsar_link *, int64_t now_ns);
void pulsar_flush(pulsar_link *);
void pulsar_command(bytes *out, int type, const uint8_t *fields, size_t n);

uint64_t pulsar_varint(pulsar_reader *);
int pulsar_next_field(pulsar_reader *, pulsar_field *);
uint64_t pulsar_number(pulsar_reader fields, uint32_t number, uint64_t otherwise);

/* Writing: where the next byte goes is returned. */
enum { PULSAR_NUMBER_MOST = 12 }; /* bytes of a numbered field */
static inline uint8_t *pulsar_put_varint(uint8_t *at, uint64_t value) {
    for (; value > 127; value >>= 7) *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

/* Fields below 16 have a key of one byte, those below 2048 of two. */
static inline uint8_t *pulsar_put_number(uint8_t *at, uint32_t number, uint64_t value) {
    return pulsar_put_varint(pulsar_put_varint(at, number << 3), value);
}

static inline uint8_t *pulsar_put_big32(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)(value >> 24), at[1] = (uint8_t)(value >> 16), at[2] = (uint8_t)(value >> 8), at[3] = (uint8_t)value;
    return at + 4;
}

#endif
