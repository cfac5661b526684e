/* Headers: stamping blocks of messages and their checksum. The layout is described in model/header.py. */
#include "brokerlab.h"
#include <stdlib.h>
#include <string.h>

static uint64_t *keys;
static int64_t keys_made;

/* k_i as model.header.checksum_keys makes them; the table only grows. */
static const uint64_t *keys_for(int64_t words) {
    if (words <= keys_made) return keys;
    int64_t want = keys_made ? keys_made : 512;
    while (want < words) want *= 2;
    uint64_t *grown = realloc(keys, (size_t)want * sizeof *keys);
    if (!grown) abort();
    for (int64_t i = keys_made; i < want; i++) {
        uint64_t z = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        grown[i] = (z ^ (z >> 31)) | 1;
    }
    grown[4] = 0; /* the checksum's own word */
    keys = grown;
    keys_made = want;
    return keys;
}

static uint64_t sum_words(const uint8_t *message, int64_t from_word, int64_t length) {
    int64_t whole = length / 8;
    const uint64_t *k = keys_for(whole + 1);
    uint64_t sum = 0;
    for (int64_t i = from_word; i < whole; i++) {
        uint64_t word;
        memcpy(&word, message + 8 * i, 8);
        sum += word * k[i];
    }
    if (length % 8 && whole >= from_word) {
        uint64_t word = 0;
        memcpy(&word, message + 8 * whole, (size_t)(length % 8));
        sum += word * k[whole];
    }
    return sum;
}

uint64_t bl_checksum(const uint8_t *message, int64_t length) { return sum_words(message, 0, length); }

/* The part of the checksum that stays the same however the header is stamped. */
uint64_t bl_body_sum(const uint8_t *message, int64_t length) {
    return sum_words(message, BL_HEADER_BYTES / 8, length);
}

/* Stamp n messages in consecutive slots of a payload pool whose constant header fields are already there.
 * Partitions follow the pattern by message number; each lane's sequence goes on from next_sequence. All are handed over at
 * one time; what the client does not take is stamped again when it is offered again. For as long as the client took
 * nothing, until free_since_ns, the wait is not ours: sent_ns leaves it out. */
void bl_stamp(uint8_t *buffer, const int64_t *offsets, const uint64_t *body_sums, int64_t first_slot, int64_t n,
              const int32_t *pattern, int64_t pattern_length, int64_t first_index, const int64_t *scheduled_ns,
              int64_t handed_ns, int64_t free_since_ns, int64_t *next_sequence, int32_t *partitions, int64_t *sequences) {
    const uint64_t *k = keys_for(8);
    int64_t at = first_index % pattern_length;
    for (int64_t i = 0; i < n; i++) {
        int32_t partition = pattern[at];
        if (++at == pattern_length) at = 0;
        bl_header *h = (bl_header *)(buffer + offsets[first_slot + i]);
        h->partition = (uint16_t)partition;
        h->sequence = next_sequence[partition]++;
        h->scheduled_ns = scheduled_ns[i];
        h->sent_ns = scheduled_ns[i] + bl_lateness(scheduled_ns[i], handed_ns, free_since_ns);
        uint64_t w[4];
        memcpy(w, h, sizeof w);
        h->checksum = w[0] * k[0] + w[1] * k[1] + w[2] * k[2] + w[3] * k[3] + (uint64_t)h->sent_ns * k[5] +
                      body_sums[first_slot + i];
        partitions[i] = partition;
        sequences[i] = h->sequence;
    }
}

/* The client took fewer than stamped: give the sequence numbers of the rest back. */
void bl_unstamp(const int32_t *partitions, int64_t from, int64_t n, int64_t *next_sequence) {
    for (int64_t i = from; i < n; i++) next_sequence[partitions[i]]--;
}
