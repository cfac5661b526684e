/* brokerlab's small C core: clock and pacing, message headers, the ledger, the Kafka, NATS and Pulsar paths.
 *
 * Everything here works on blocks of messages given as columns. Nothing allocates per message, nothing locks: an agent
 * is one thread. The numpy twins in src/brokerlab/agent give identical evidence on the same input; a test holds that.
 */
#ifndef BROKERLAB_H
#define BROKERLAB_H

#include "border.h"

#define BL_HEADER_BYTES 48
#define BL_MAGIC 0x4C42
#define BL_VERSION 2

/* The most that one read brings; all of it shares one time. The fuzz builds with less, so that buffers fill and move. */
#ifndef BL_READ_BYTES
#define BL_READ_BYTES (256 << 10)
#endif

/* The most reports that a client is asked for at a time: every bl_sender has room for them. */
#define BL_REPORTS_MOST 16384

/* A copy of a text. Ends the process where there is no memory for it. */
char *bl_copied(const char *text);

/* ---- clock.c, beside what border.h has of it ---- */
int64_t bl_unix_ms(void);
void bl_poll_until(struct pollfd *sockets, int64_t n, int64_t mono_ns);

enum { BL_ACKNOWLEDGED = 0, BL_REJECTED = 1, BL_UNKNOWN = 2, BL_SENT = 3, BL_OUTCOMES = 4 };

/* ---- message.c ---- */
typedef struct {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t run_tag;
    uint16_t producer, partition;
    uint32_t length;
    int64_t sequence, scheduled_ns;
    uint64_t checksum;
    int64_t sent_ns; /* scheduled_ns plus our own lateness */
} bl_header;
_Static_assert(sizeof(bl_header) == BL_HEADER_BYTES, "the header has no padding");

/* How late we ourselves were: since the message was due, or since the client last took fewer than were due. */
static inline int64_t bl_lateness(int64_t scheduled_ns, int64_t handed_ns, int64_t free_since_ns) {
    return handed_ns - (scheduled_ns > free_since_ns ? scheduled_ns : free_since_ns);
}

/* ---- interval.c: counters and histograms by destination, second and phase ---- */
#define BL_BITS 7
#define BL_LARGEST_NS (((int64_t)1 << 42) - 1)
#define BL_BUCKETS (((42 - BL_BITS - 1) << BL_BITS) + (1 << (BL_BITS + 1)))

/* In the order of model/metrics.py; up to BL_SEND_DELAY they count from the scheduled time, then from the hand-over. */
enum { BL_PUBLISH, BL_END_TO_END, BL_SEND_DELAY, BL_PUBLISH_FROM_SEND, BL_END_TO_END_FROM_SEND, BL_MEASURES };
enum { BL_DUE, BL_C_SENT, BL_C_ACKNOWLEDGED, BL_C_REJECTED, BL_C_UNKNOWN, BL_RECEIVED, BL_REDELIVERED, BL_BYTES,
       BL_NEGATIVE, BL_NEGATIVE_FROM_SEND, BL_COUNTERS };

typedef struct {
    uint32_t *count; /* BL_BUCKETS of them, made when first used */
    int32_t lowest, highest;
    int64_t samples, min_ns, max_ns, sum_ns;
} bl_histogram;

typedef struct {
    int64_t second;
    int32_t destination, phase;
    int64_t counter[BL_COUNTERS];
    bl_histogram histogram[BL_MEASURES];
} bl_slot;

struct bl_intervals {
    int64_t unix_minus_mono_ns, measure_from_ns; /* set at the agreed start */
    int32_t partitions;                          /* per destination */
    bl_slot **slot;
    int32_t slots, capacity;
    bl_slot **spare;
    int32_t spares;
    bl_slot *last;
    int64_t last_from_ns, last_to_ns;
};

void bl_intervals_init(bl_intervals *, int32_t partitions);
void bl_intervals_free(bl_intervals *);
bl_slot *bl_slot_at(bl_intervals *, int64_t scheduled_ns, int32_t partition);
void bl_record(bl_slot *, int measure, int64_t value_ns);
void bl_intervals_clear(bl_intervals *);

/* ---- rows that leave the ledger ---- */
/* A growing array; `grow` makes room for one more and returns where it goes. */
typedef struct {
    char *data;
    int64_t count, capacity;
    size_t size;
} bl_rows;
void *bl_rows_grow(bl_rows *);

/* ---- kafka_batch.c: record batches, as the consumer of kafka_fetch.c receives them ---- */
enum { BL_BATCH_READABLE = 0, BL_BATCH_UNSUPPORTED = 1, BL_BATCH_DAMAGED = 2, BL_BATCH_HEADER_BYTES = 61 };

typedef struct {
    const uint8_t *at, *end;
    int64_t base_offset, end_offset; /* of its first message; behind its last */
    int32_t left, damaged;           /* messages not read yet */
} bl_batch;

int bl_batch_open(const uint8_t *batch, int64_t bytes, int check_crc, bl_batch *);
int64_t bl_batch_next(bl_batch *, int64_t wanted, uint64_t *addresses, int32_t *lengths, int64_t *positions,
                      int64_t most);

static inline int32_t bl_big32(const uint8_t *at) {
    return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}
static inline int64_t bl_big64(const uint8_t *at) {
    return (int64_t)((uint64_t)(uint32_t)bl_big32(at) << 32 | (uint32_t)bl_big32(at + 4));
}

#endif
