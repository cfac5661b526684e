/* What the parts of the producer that speaks Kafka's Produce protocol share: kafka_produce_batch.c (batches of
 * messages), kafka_produce_wire.c (connections, requests, responses) and kafka_produce.c (the producer).
 *
 * A partition is called by its cell-wide number, its lane. Python opens the sockets, says who leads which partition and
 * mends what is broken; see driver_produce.py. */
#ifndef BROKERLAB_KAFKA_PRODUCE_H
#define BROKERLAB_KAFKA_PRODUCE_H

#include "batches.h"
#include "kafka_bytes.h"
#include <sys/uio.h>

enum { PRODUCE_CONNECTIONS = 64 };
/* librdkafka's numbers for what no broker said; brokers' own codes are positive. */
enum { PRODUCE_TRANSPORT = -195, PRODUCE_TIMED_OUT = -192 };

batch *batch_new(batches *spare, int32_t lane, int64_t now_ns, int64_t unix_ms);
int batch_append(batch *, int64_t most, const uint8_t *value, int32_t bytes, const uint8_t *key, int64_t index,
                 int64_t unix_ms);
void batch_seal(batch *);

typedef struct {
    batches waiting; /* sealed, in order */
    batches again;   /* while a connection is given up: what it had taken, to go before the others */
    batch *open;
    int32_t connection, error; /* Kafka's code; nothing is sent until it has a leader again */
    int64_t not_before_ns;
} lane;

typedef struct request {
    struct request *next;
    bytes head; /* all but the batches */
    struct iovec *piece;
    batch **batch;
    int pieces, batches, capacity;
    int32_t correlation;
    int64_t made_ns;
} request;

typedef struct {
    int fd, in_flight;
    int32_t correlation;
    request *first, *last; /* not answered yet */
    request *writing;      /* the first that is not written whole, and how far it is */
    int piece;
    size_t piece_done;
    bytes in;
} connection;

typedef struct bl_kafka_sender {
    char *client, **topic;
    int topics, partitions, lanes, used; /* used: connections that ever were */
    lane *lane;
    int64_t acks, linger_ns, batch_bytes, batch_messages, in_flight_most, request_bytes;
    int64_t request_timeout_ms, message_timeout_ns, retries, backoff_ns;
    connection connection[PRODUCE_CONNECTIONS];
    batches done, spare_batches;
    int tried_again; /* whether a lane has batches in `again` */
    request *spare_requests;
    int64_t unsettled;  /* messages taken and not done */
    int64_t look_ns;    /* nothing can be sent before, unless something else happens */
    int64_t expire_ns, care_ns;
    char why[256];
} producer;

void produce_finish(producer *, batch *, int32_t code, int64_t at_ns);
void produce_lose(producer *, connection *, const char *why, int64_t now_ns);
request *produce_request(producer *);
void produce_add(request *, batch *);
void produce_begin(producer *, connection *, request *, int64_t now_ns);
void produce_flush(producer *, connection *, int64_t now_ns);
void produce_read(producer *, connection *);

#endif
