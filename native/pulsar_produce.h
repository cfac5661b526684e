/* What the parts of Pulsar's producer share: pulsar_batch.c (batches of messages), pulsar_produce_wire.c (what is written
 * and answered) and pulsar_produce.c (the producer). */
#ifndef BROKERLAB_PULSAR_PRODUCE_H
#define BROKERLAB_PULSAR_PRODUCE_H

#include "batches.h"
#include "pulsar.h"

enum { PULSAR_NAME_MOST = 255 };
/* Codes of what no broker said; a broker's own ServerError is its number plus one, since 0 is an acknowledgement. */
enum { PULSAR_LOST = -1, PULSAR_TIMED_OUT = -2, PULSAR_TOO_LARGE = -3 };

batch *pulsar_batch_new(batches *spare, int32_t lane, int64_t now_ns);
int pulsar_batch_append(batch *, int64_t most, int batching, const uint8_t *value, int32_t bytes, const uint8_t *key,
                        int64_t index);
void pulsar_batch_note(batch *, int64_t index);
void pulsar_batch_address(batch *, int batching, uint64_t producer, const char *name, uint64_t sequence,
                          int64_t unix_ms);

typedef struct lane {
    struct lane *older, *newer; /* among lanes with an open batch, by the time of its first message */
    batches waiting;            /* sealed, while there is no connection */
    batches in_flight;          /* written whole, not answered */
    batch *open;
    int32_t connection; /* -1: none */
    uint64_t sequence;
    char name[PULSAR_NAME_MOST + 1];
} lane;

typedef struct {
    pulsar_link link;
    batches unwritten;
    size_t written; /* of the first of them */
    int in_flight, held_back; /* held back: open batches wait until all is written */
} connection;

typedef struct bl_pulsar_sender {
    int lanes, used, down, batching; /* used: connections that ever were; down: lanes without one */
    lane *lane;
    lane *oldest, *newest; /* with an open batch: of ten thousand lanes few have to be looked at */
    int64_t linger_ns, batch_bytes, batch_messages, message_most, timeout_ns;
    connection connection[PULSAR_CONNECTIONS];
    batches done, spare;
    int64_t unsettled; /* messages taken and not done */
    int64_t look_ns;   /* no open batch is to be sent before, unless something else happens */
    int64_t expire_ns, care_ns, idle_ns;
    char why[256];
} producer;

void pulsar_finish(producer *, batch *, int32_t code, int64_t at_ns);
void pulsar_begin(producer *, lane *, batch *);
void pulsar_write(producer *, connection *, int64_t now_ns);
void pulsar_hear(producer *, connection *, int64_t now_ns);
void pulsar_drop(producer *, connection *, const char *why, int64_t now_ns);

#endif
