/* Batches of messages as Pulsar's producers make them: each message behind its SingleMessageMetadata, all of them behind
 * one MessageMetadata with a checksum. Without batching a message is the whole payload. */
#include "pulsar_produce.h"
#include <string.h>

enum { HEAD_ROOM = 512 };
enum { KEY_MOST = 11 }; /* a number of 32 bits in decimal */
_Static_assert(PULSAR_NAME_MOST + 128 < HEAD_ROOM, "the head must fit in front of the messages");

batch *pulsar_batch_new(batches *spare, int32_t lane, int64_t now_ns) {
    batch *b = batch_take(spare, lane, HEAD_ROOM, now_ns);
    b->pulsar.orphan = b->pulsar.key_bytes = 0;
    return b;
}

/* Only the number of a message that is not sent. */
void pulsar_batch_note(batch *b, int64_t index) {
    batch_make_room(b, 0);
    b->index[b->count++] = index;
}

/* A key of 4 bytes, big-endian, as the text of a signed number. */
static int key_text(const uint8_t *key, uint8_t *to) {
    int64_t value = bl_big32(key);
    uint64_t left = (uint64_t)(value < 0 ? -value : value);
    uint8_t digits[KEY_MOST];
    int n = 0, bytes_put = 0;
    do digits[n++] = (uint8_t)('0' + left % 10);
    while (left /= 10);
    if (value < 0) to[bytes_put++] = '-';
    while (n) to[bytes_put++] = digits[--n];
    return bytes_put;
}

/* One message more, unless the batch would become longer than `most`; the first always goes in. Returns whether it did.
 * The key, if any, is 4 bytes. */
int pulsar_batch_append(batch *b, int64_t most, int batching, const uint8_t *value, int32_t bytes, const uint8_t *key,
                        int64_t index) {
    uint8_t about[4 + 2 + KEY_MOST + PULSAR_NUMBER_MOST], *at = about + 4;
    if (b->count && (int64_t)(b->size - HEAD_ROOM) + bytes + (int64_t)sizeof about > most) return 0;
    if (!batching) {
        if (key) b->pulsar.key_bytes = key_text(key, b->pulsar.key);
        at = about;
    } else {
        if (key) {
            *at++ = 2 << 3 | 2; /* partition_key */
            *at = (uint8_t)key_text(key, at + 1);
            at += 1 + *at;
        }
        at = pulsar_put_number(at, 3, (uint64_t)bytes); /* payload_size */
        pulsar_put_big32(about, (uint32_t)(at - about - 4));
    }
    size_t head = (size_t)(at - about);
    batch_make_room(b, head + (size_t)bytes);
    memcpy(b->data + b->size, about, head);
    memcpy(b->data + b->size + head, value, (size_t)bytes);
    b->size += head + (size_t)bytes;
    b->index[b->count++] = index;
    return 1;
}

static uint8_t *put_text(uint8_t *at, uint32_t number, const void *text, size_t n) {
    at = pulsar_put_varint(pulsar_put_varint(at, number << 3 | 2), n);
    memcpy(at, text, n);
    return at + n;
}

/* Put the SEND command and the metadata in front: it can be sent by this producer. */
void pulsar_batch_address(batch *b, int batching, uint64_t producer, const char *name, uint64_t sequence,
                          int64_t unix_ms) {
    uint8_t metadata[HEAD_ROOM], command[64], fields[4 * PULSAR_NUMBER_MOST], *m = metadata, *c = command, *f = fields;
    m = put_text(m, 1, name, strlen(name));
    m = pulsar_put_number(m, 2, sequence);
    m = pulsar_put_number(m, 3, (uint64_t)unix_ms);
    if (b->pulsar.key_bytes) m = put_text(m, 6, b->pulsar.key, (size_t)b->pulsar.key_bytes);
    if (batching) m = pulsar_put_number(m, 11, (uint64_t)b->count);
    f = pulsar_put_number(f, 1, producer);
    f = pulsar_put_number(f, 2, sequence);
    f = pulsar_put_number(f, 3, (uint64_t)b->count);
    c = put_text(pulsar_put_number(c, 1, PULSAR_SEND), PULSAR_SEND, fields, (size_t)(f - fields));
    size_t metadata_bytes = (size_t)(m - metadata), command_bytes = (size_t)(c - command);
    size_t head = 4 + 4 + command_bytes + 2 + 4 + 4 + metadata_bytes;
    b->from = HEAD_ROOM - head;
    b->pulsar.sequence = sequence;
    uint8_t *at = pulsar_put_big32(b->data + b->from, (uint32_t)(b->size - b->from - 4));
    at = pulsar_put_big32(at, (uint32_t)command_bytes);
    memcpy(at, command, command_bytes);
    at += command_bytes;
    *at++ = PULSAR_CHECKSUM >> 8, *at++ = PULSAR_CHECKSUM & 255;
    uint8_t *summed = pulsar_put_big32(at + 4, (uint32_t)metadata_bytes) - 4;
    memcpy(summed + 4, metadata, metadata_bytes);
    pulsar_put_big32(at, bl_crc32c(summed, (int64_t)(b->data + b->size - summed), 0));
}
