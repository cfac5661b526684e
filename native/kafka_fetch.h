/* What kafka_fetch_wire.c (connections, requests, responses) and kafka_fetch.c (the consumer) share.
 *
 * A partition is called by its cell-wide number, its lane. */
#ifndef BROKERLAB_KAFKA_FETCH_H
#define BROKERLAB_KAFKA_FETCH_H

#include "brokerlab.h"
#include "kafka_bytes.h"

enum { FETCH_CONNECTIONS = 64 };

typedef struct {
    int64_t fetch_offset; /* of the next request: behind the batches received whole */
    int64_t next_offset;  /* behind what was handed out */
    int32_t connection, bad;
} lane;

typedef struct {
    size_t at, bytes;
    int32_t lane;
} waiting;

typedef struct {
    int fd, in_flight, step;
    bytes in, out;
    size_t need; /* how much the next step needs in one piece */
    int64_t frame_left, records_left;
    int32_t correlation, topics_left, partitions_left, topic, lane;
    waiting *queue; /* batches received whole: [first, end) */
    int first, end, capacity, opened;
    bl_batch batch; /* the first of them, when opened */
    int64_t heard_ns, arrived_ns;
} connection;

typedef struct bl_fetcher {
    char *client, **topic;
    int topics, partitions, lanes;
    lane *lane;
    int64_t *received; /* per lane, the offset behind the last message handed out; -1 before the first */
    int32_t *error;    /* per lane, Kafka's code; not fetched until it has a leader again */
    int64_t max_wait_ms, min_bytes, max_bytes, partition_bytes, check_crc;
    connection connection[FETCH_CONNECTIONS];
    int turn, first_lane, ended;
    char why[256];
} fetcher;

void fetch_hang_up(connection *);
void fetch_lose(fetcher *, connection *, const char *why);
void fetch_request(fetcher *, connection *);
void fetch_flush(fetcher *, connection *);
int fetch_read(fetcher *, connection *);

#endif
