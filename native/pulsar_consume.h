/* What the parts of Pulsar's consumer share: pulsar_entries.c (what was handed out, and its acknowledgement),
 * pulsar_payload.c (the messages of an entry) and pulsar_consume.c (connections, permits, the consumer). */
#ifndef BROKERLAB_PULSAR_CONSUME_H
#define BROKERLAB_PULSAR_CONSUME_H

#include "pulsar.h"

/* One entry of a topic: a batch of messages, or one message without a batch. The broker keeps and forgets whole entries;
 * of one that is acknowledged in part it is told which messages are left. */
typedef struct {
    uint64_t ledger, entry;
    int64_t first_ordinal; /* of the first message that was handed out */
    int32_t lane, messages, deliverable, handed, acknowledged; /* deliverable: not acknowledged when it came */
    int32_t cut_off, untold; /* its connection was lost before all was handed out; acknowledged in part since last told */
    uint64_t *left;          /* a bit for each message that is not acknowledged; NULL while that is all or none */
    int32_t *number;         /* of each message handed out, its place in the batch; NULL: in order from 0 */
} entry;

typedef struct {
    entry *entry; /* [first, end) may be unacknowledged */
    int64_t first, end, capacity;
    int64_t base; /* how many were forgotten before entry[0] */
    int64_t next_ordinal;
} entries;

typedef struct {
    int32_t connection; /* -1: none */
    int32_t permits;    /* messages that may be asked for besides those asked for */
    bytes acknowledged; /* message ids that the broker is not told yet */
    int32_t count;      /* of them */
} lane;

/* Messages of an entry that are left to read. */
typedef struct {
    const uint8_t *at, *end;
    int32_t messages; /* all of them */
    int is_batch;
} pulsar_payload;

const char *pulsar_open(const pulsar_frame *, pulsar_payload *);
int64_t pulsar_next_content(pulsar_payload *, const uint8_t **value);

entry *pulsar_hold(entries *, int32_t lane, uint64_t ledger, uint64_t number, int32_t messages);
void pulsar_leave_out(entry *, pulsar_reader command);
int pulsar_is_left_out(const entry *, int32_t number);
void pulsar_hand_out(entry *, int32_t number);
void pulsar_acknowledge(entries *, lane *lanes, int64_t first_ordinal, int64_t n);
void pulsar_tell_parts(entries *, lane *lanes);
void pulsar_entries_free(entries *);

#endif
