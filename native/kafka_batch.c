/* Kafka's record batches (magic 2): their checksum, and their messages as addresses. Nothing here reads outside the
 * bytes it is given, whatever they say. The layout is in Kafka's documentation, "message format". */
#include "brokerlab.h"
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* ---------------------------------------------------------------- CRC-32C */

enum { LANE = 512 }; /* bytes of each of three streams that are summed side by side */

static uint32_t table[8][256];
static uint32_t behind[4][256]; /* what LANE zero bytes make of a sum, by each of its bytes */

__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >> 1) ^ 0x82F63B78u : sum >> 1;
        table[0][i] = sum;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) table[t][i] = table[0][table[t - 1][i] & 255] ^ (table[t - 1][i] >> 8);
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t sum = i << (8 * byte);
            for (int n = 0; n < LANE; n++) sum = table[0][sum & 255] ^ (sum >> 8);
            behind[byte][i] = sum;
        }
}

static uint64_t word(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

static uint32_t sum_portable(uint32_t sum, const uint8_t *at, int64_t bytes) {
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint32_t low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        sum = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
    }
    for (; bytes > 0; at++, bytes--) sum = table[0][(sum ^ *at) & 255] ^ (sum >> 8);
    return sum;
}

#if defined(__x86_64__)
static uint32_t moved(uint32_t sum) {
    return behind[0][sum & 255] ^ behind[1][sum >> 8 & 255] ^ behind[2][sum >> 16 & 255] ^ behind[3][sum >> 24];
}

/* Three streams at once: the instruction takes three cycles, and one can begin in each. */
__attribute__((target("sse4.2"))) static uint32_t sum_by_instruction(uint32_t sum, const uint8_t *at, int64_t bytes) {
    for (; bytes >= 3 * LANE; at += 3 * LANE, bytes -= 3 * LANE) {
        uint64_t a = sum, b = 0, c = 0;
        for (int i = 0; i < LANE; i += 8) {
            a = _mm_crc32_u64(a, word(at + i));
            b = _mm_crc32_u64(b, word(at + LANE + i));
            c = _mm_crc32_u64(c, word(at + 2 * LANE + i));
        }
        sum = moved(moved((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    }
    for (; bytes >= 8; at += 8, bytes -= 8) sum = (uint32_t)_mm_crc32_u64(sum, word(at));
    for (; bytes > 0; at++, bytes--) sum = _mm_crc32_u8(sum, *at);
    return sum;
}
#endif

/* The checksum of Kafka's batches, by the processor's own instruction where it has one (unless portable is asked for). */
uint32_t bl_crc32c(const uint8_t *data, int64_t bytes, int portable) {
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("sse4.2")) return ~sum_by_instruction(~0u, data, bytes);
#endif
    (void)portable;
    return ~sum_portable(~0u, data, bytes);
}

/* ---------------------------------------------------------------- batches */

enum { AT_MAGIC = 16, AT_CRC = 17, AT_ATTRIBUTES = 21, AT_LAST_DELTA = 23, AT_COUNT = 57 };
enum { COMPRESSION = 7, CONTROL = 32 };

/* Begin to read a whole batch, its length checked already. What it holds, or why it cannot be read: BL_BATCH_... */
int bl_batch_open(const uint8_t *batch, int64_t bytes, int check_crc, bl_batch *b) {
    if (bytes < BL_BATCH_HEADER_BYTES || batch[AT_MAGIC] > 2) return BL_BATCH_DAMAGED;
    if (batch[AT_MAGIC] != 2) return BL_BATCH_UNSUPPORTED;
    if (check_crc &&
        bl_crc32c(batch + AT_ATTRIBUTES, bytes - AT_ATTRIBUTES, 0) != (uint32_t)bl_big32(batch + AT_CRC))
        return BL_BATCH_DAMAGED;
    int32_t last_delta = bl_big32(batch + AT_LAST_DELTA), count = bl_big32(batch + AT_COUNT);
    int64_t base = bl_big64(batch);
    if (count < 0 || last_delta < 0 || base < 0 || base > INT64_MAX - INT32_MAX - 1) return BL_BATCH_DAMAGED;
    *b = (bl_batch){batch + BL_BATCH_HEADER_BYTES, batch + bytes, base, base + last_delta + 1, count, 0};
    int attributes = batch[AT_ATTRIBUTES] << 8 | batch[AT_ATTRIBUTES + 1];
    if (attributes & CONTROL) b->left = 0, b->at = b->end;
    return attributes & COMPRESSION ? BL_BATCH_UNSUPPORTED : BL_BATCH_READABLE;
}

/* A number of variable length, zigzag; NULL when it does not end in time. */
static inline const uint8_t *number(const uint8_t *at, const uint8_t *end, int64_t *value) {
    uint64_t found = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        found |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = (int64_t)(found >> 1) ^ -(int64_t)(found & 1);
            return at;
        }
    }
    return NULL;
}

/* One record: where its value is and its offset. Returns the record's end, NULL when it is not one. */
static inline const uint8_t *record(const bl_batch *b, const uint8_t **value, int64_t *value_bytes, int64_t *delta) {
    int64_t length, ignored, key_bytes;
    const uint8_t *at = number(b->at, b->end, &length);
    if (!at || length < 1 || length > b->end - at) return NULL;
    const uint8_t *end = at + length;
    at = number(at + 1, end, &ignored); /* behind the attributes: the time */
    if (!at || !(at = number(at, end, delta)) || *delta < 0 || *delta > INT32_MAX) return NULL;
    if (!(at = number(at, end, &key_bytes)) || key_bytes > end - at) return NULL;
    if (key_bytes > 0) at += key_bytes;
    if (!(at = number(at, end, value_bytes)) || *value_bytes > end - at) return NULL;
    if (*value_bytes < 0) *value_bytes = 0; /* no value at all */
    *value = at;
    return end; /* the headers are passed over */
}

/* The next messages of a batch, without those before the offset `wanted`. Returns how many. A batch with `damaged` set
 * ends there; it is finished when none are left. */
int64_t bl_batch_next(bl_batch *b, int64_t wanted, uint64_t *addresses, int32_t *lengths, int64_t *positions,
                      int64_t most) {
    int64_t n = 0;
    while (n < most && b->left > 0) {
        const uint8_t *value;
        int64_t bytes, delta;
        const uint8_t *end = record(b, &value, &bytes, &delta);
        if (!end || b->base_offset + delta >= b->end_offset) {
            b->damaged = 1;
            return n;
        }
        b->at = end;
        b->left--;
        if (b->base_offset + delta < wanted) continue;
        addresses[n] = (uint64_t)(uintptr_t)value;
        lengths[n] = (int32_t)bytes;
        positions[n++] = b->base_offset + delta;
    }
    if (!b->left && b->at != b->end) b->damaged = 1;
    return n;
}

/* A batch read at once, for tests: what bl_batch_open says, and in about[0] how many messages it has, in about[1]
 * whether it is damaged within. */
int bl_batch_read(const uint8_t *batch, int64_t bytes, int check_crc, int64_t wanted, uint64_t *addresses,
                  int32_t *lengths, int64_t *positions, int64_t most, int64_t *about) {
    bl_batch b;
    int found = bl_batch_open(batch, bytes, check_crc, &b);
    about[0] = about[1] = 0;
    if (found != BL_BATCH_READABLE) return found;
    about[0] = bl_batch_next(&b, wanted, addresses, lengths, positions, most);
    about[1] = b.damaged;
    return found;
}
