/* What stands behind the command that brings an entry: its metadata, and the messages one after the other. Nothing here
 * reads outside the frame, whatever it says. */
#include "pulsar_consume.h"

enum { SINGLE_LEAST = 6 }; /* bytes of a message in a batch, besides its content */

static int big16(const uint8_t *at) { return at[0] << 8 | at[1]; }

/* Find the metadata behind a command; its checksum is verified. Returns NULL, or what is wrong. */
static const char *find_metadata(const pulsar_frame *f, pulsar_reader *metadata, const uint8_t **payload) {
    const uint8_t *at = f->rest, *end = f->end;
    if (end - at >= 6 && big16(at) == PULSAR_BROKER_METADATA) {
        int64_t n = bl_big32(at + 2);
        if (n < 0 || n > end - at - 6) return "a message without an end";
        at += 6 + n;
    }
    if (end - at >= 6 && big16(at) == PULSAR_CHECKSUM) {
        if ((uint32_t)bl_big32(at + 2) != bl_crc32c(at + 6, end - at - 6, 0)) return "a message with a wrong checksum";
        at += 6;
    }
    int64_t n = end - at >= 4 ? bl_big32(at) : -1;
    if (n < 0 || n > end - at - 4) return "a message without metadata";
    *metadata = (pulsar_reader){at + 4, at + 4 + n, 0};
    *payload = at + 4 + n;
    return NULL;
}

/* How many messages the entry has, and whether they are a batch. Returns NULL, or why it cannot be read. */
static const char *read_metadata(pulsar_reader fields, int64_t payload_bytes, pulsar_payload *to) {
    pulsar_field f;
    uint64_t messages = 1;
    while (pulsar_next_field(&fields, &f)) {
        if (f.number == 11)
            to->is_batch = 1, messages = f.value;
        else if ((f.number == 8 && f.value) || f.number == 13 || (f.number == 27 && f.value > 1) || f.number == 20)
            return "a message that is compressed, encrypted, in chunks or a marker: use driver: python";
    }
    if (fields.malformed || !messages || (to->is_batch && messages > (uint64_t)payload_bytes / SINGLE_LEAST))
        return "a batch that is none";
    to->messages = (int32_t)messages;
    return NULL;
}

/* Begin to read the messages of an entry. Returns NULL, or why it cannot be read. */
const char *pulsar_open(const pulsar_frame *f, pulsar_payload *to) {
    pulsar_reader metadata;
    *to = (pulsar_payload){.end = f->end};
    const char *wrong = find_metadata(f, &metadata, &to->at);
    return wrong ? wrong : read_metadata(metadata, to->end - to->at, to);
}

/* The content of the next message. Returns its length, -1 when it is none. */
int64_t pulsar_next_content(pulsar_payload *b, const uint8_t **value) {
    *value = b->at;
    int64_t there = b->end - b->at;
    if (!b->is_batch) {
        b->at = b->end;
        return there;
    }
    int64_t n = there >= 4 ? bl_big32(b->at) : -1;
    if (n < 0 || n > there - 4) return -1;
    pulsar_reader about = {b->at + 4, b->at + 4 + n, 0};
    pulsar_field f;
    uint64_t size = UINT64_MAX;
    while (pulsar_next_field(&about, &f))
        if (f.number == 3) size = f.value;
    if (about.malformed || size > (uint64_t)(there - 4 - n)) return -1;
    *value = b->at + 4 + n;
    b->at = *value + size;
    return (int64_t)size;
}
