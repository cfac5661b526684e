/* Kafka's record batches (magic 2) as a producer makes them. The layout is in Kafka's documentation, "message format". */
#include "kafka_produce.h"
#include <string.h>

enum { HEADER = BL_BATCH_HEADER_BYTES, AT_LENGTH = 8, AT_EPOCH = 12, AT_MAGIC = 16, AT_CRC = 17, AT_ATTRIBUTES = 21 };
enum { AT_LAST_DELTA = 23, AT_FIRST_MS = 27, AT_LAST_MS = 35, AT_PRODUCER = 43, AT_COUNT = 57 };

batch *batch_new(batches *spare, int32_t lane, int64_t now_ns, int64_t unix_ms) {
    batch *b = batch_take(spare, lane, HEADER, now_ns);
    b->from = 0; /* the header is written when it is sealed */
    b->kafka.attempts = 0;
    b->kafka.first_unix_ms = b->kafka.last_unix_ms = unix_ms;
    return b;
}

/* A number of variable length, zigzag. */
static inline uint8_t *number(uint8_t *at, int64_t value) {
    uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    for (; left > 127; left >>= 7) *at++ = (uint8_t)(left | 128);
    *at++ = (uint8_t)left;
    return at;
}

static inline int number_bytes(int64_t value) {
    uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    int n = 1;
    for (; left > 127; left >>= 7) n++;
    return n;
}

/* One message more, unless the batch would become longer than `most`; the first always goes in. Returns whether it did.
 * The key, if any, is 4 bytes. */
int batch_append(batch *b, int64_t most, const uint8_t *value, int32_t bytes, const uint8_t *key, int64_t index,
                 int64_t unix_ms) {
    int64_t later_ms = unix_ms - b->kafka.first_unix_ms;
    int64_t length = 1 + number_bytes(later_ms) + number_bytes(b->count) + (key ? 5 : 1) + number_bytes(bytes) + bytes + 1;
    int64_t record_bytes = number_bytes(length) + length;
    if (b->count && (int64_t)b->size + record_bytes > most) return 0;
    batch_make_room(b, (size_t)record_bytes);
    uint8_t *at = number(b->data + b->size, length);
    *at++ = 0; /* attributes */
    at = number(at, later_ms);
    at = number(at, b->count);
    at = number(at, key ? 4 : -1);
    if (key) {
        memcpy(at, key, 4);
        at += 4;
    }
    at = number(at, bytes);
    memcpy(at, value, (size_t)bytes);
    at += bytes;
    *at++ = 0; /* headers */
    b->size = (size_t)(at - b->data);
    b->index[b->count++] = index;
    if (unix_ms > b->kafka.last_unix_ms) b->kafka.last_unix_ms = unix_ms;
    return 1;
}

static void put(uint8_t *at, int64_t value, int width) {
    for (int i = 0; i < width; i++) at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

/* Nothing more goes in; it can be sent. */
void batch_seal(batch *b) {
    uint8_t *at = b->data;
    put(at, 0, 8); /* the broker gives offsets */
    put(at + AT_LENGTH, (int64_t)b->size - AT_EPOCH, 4);
    put(at + AT_EPOCH, -1, 4);
    at[AT_MAGIC] = 2;
    put(at + AT_ATTRIBUTES, 0, 2);
    put(at + AT_LAST_DELTA, b->count - 1, 4);
    put(at + AT_FIRST_MS, b->kafka.first_unix_ms, 8);
    put(at + AT_LAST_MS, b->kafka.last_unix_ms, 8);
    memset(at + AT_PRODUCER, 0xff, 14); /* no producer id, epoch or sequence: not idempotent */
    put(at + AT_COUNT, b->count, 4);
    put(at + AT_CRC, bl_crc32c(at + AT_ATTRIBUTES, (int64_t)b->size - AT_ATTRIBUTES, 0), 4);
}

/* A batch made at once, for tests: its bytes and, returned, how many. */
int64_t bl_batch_write(const uint8_t *values, const int64_t *offsets, const int32_t *lengths, const uint8_t *keys,
                       const int64_t *unix_ms, int64_t n, uint8_t *to, int64_t most) {
    batches none = {NULL, NULL};
    batch *b = batch_new(&none, 0, 0, n ? unix_ms[0] : 0);
    for (int64_t i = 0; i < n; i++)
        batch_append(b, INT64_MAX, values + offsets[i], lengths[i], keys ? keys + 4 * i : NULL, i, unix_ms[i]);
    batch_seal(b);
    int64_t size = (int64_t)b->size;
    if (size <= most) memcpy(to, b->data, b->size);
    batch_free(b);
    return size;
}
