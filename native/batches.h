/* What the producers of Kafka and Pulsar share: messages of one lane that travel together, and queues of them. How a batch
 * looks on the wire is the broker's: kafka_produce_batch.c, pulsar_batch.c. */
#ifndef BROKERLAB_BATCHES_H
#define BROKERLAB_BATCHES_H

#include "brokerlab.h"

#define CARE_NS 10000000    /* how often Python is asked to look after what is broken */
#define EXPIRE_NS 100000000 /* how often what is too old is looked for */
enum { CARE = -1 };
/* With more than this under way the broker has enough to do, and answers wait until the next tick: waking up for each is
 * most of what they cost. */
enum { PROMPT_MOST = 8 };

/* Being filled, waiting, on the wire, or done. */
typedef struct batch {
    struct batch *next;
    uint8_t *data; /* as it is sent: data[from, size) */
    size_t from, size, capacity;
    int64_t *index; /* the number of each message */
    int32_t count, index_capacity, reported, lane;
    int32_t code;           /* how it ended */
    int64_t made_ns, at_ns; /* made: when its first message was taken; at: when it ended */
    union {
        struct {
            int64_t first_unix_ms, last_unix_ms;
            int32_t attempts;
        } kafka;
        struct {
            uint64_t sequence;
            int32_t orphan;    /* its producer is gone, and half of it is written */
            int32_t key_bytes; /* of a message that travels without a batch */
            uint8_t key[12];
        } pulsar;
    };
} batch;

typedef struct {
    batch *first, *last;
} batches;

/* A spare one or a new one: empty, with `head` bytes left free before its messages. */
batch *batch_take(batches *spare, int32_t lane, size_t head, int64_t now_ns);
void batch_grow(batch *, size_t want);
void batch_free(batch *);

/* Room for `want` bytes and the number of one more message. */
static inline void batch_make_room(batch *b, size_t want) {
    if (!b->capacity || b->capacity - b->size < want || b->count == b->index_capacity) batch_grow(b, want);
}

void batches_add(batches *, batch *);
batch *batches_take(batches *);
void batches_put_first(batches *to, batches *before);
void batches_free(batches *);
int64_t batches_report(batches *done, batches *spare, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most);

#endif
