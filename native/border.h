/* Everything that Python calls or reads, and nothing else: only what stands here is exported. Python takes prototypes and
 * layouts from this file (src/brokerlab/native/border.py), so it keeps to plain forms: one declaration per statement,
 * integers of stated width, pointers. `char *` is a text that ends with a zero. What the functions do is said where they
 * are defined. */
#ifndef BROKERLAB_BORDER_H
#define BROKERLAB_BORDER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* ---- border.c: what must be the same on both sides ---- */
typedef struct {
    int64_t header_bytes, counters, measures, buckets, reports_most;
    int64_t sender_bytes, outcome_row_bytes, sequence_row_bytes, message_row_bytes;
} bl_shape;

void bl_read_shape(bl_shape *to);

/* ---- clock.c ---- */
int64_t bl_now_ns(void);
void bl_prepare_pacing(void);
int64_t bl_sleep_until(int64_t mono_ns);

/* ---- message.c ---- */
uint64_t bl_checksum(const uint8_t *message, int64_t length);
uint64_t bl_body_sum(const uint8_t *message, int64_t length);
void bl_stamp(uint8_t *buffer, const int64_t *offsets, const uint64_t *body_sums, int64_t first_slot, int64_t n,
              const int32_t *pattern, int64_t pattern_length, int64_t first_index, const int64_t *scheduled_ns,
              int64_t handed_ns, int64_t free_since_ns, int64_t *next_sequence, int32_t *partitions,
              int64_t *sequences);
void bl_unstamp(const int32_t *partitions, int64_t from, int64_t n, int64_t *next_sequence);

/* ---- rows that leave a ledger ---- */
typedef struct {
    int32_t partition, outcome;
    int64_t first, last;
} bl_outcome_row;

typedef struct {
    int32_t producer, partition, epoch, pad;
    int64_t first, last, first_ns, last_ns, ordinal, redelivered, first_position, last_position;
} bl_sequence_row;

typedef struct {
    int32_t producer, partition, outcome, pad;
    int64_t sequence, scheduled_ns, at_ns, ordinal;
} bl_message_row;

/* ---- interval.c ---- */
typedef struct bl_intervals bl_intervals;
void bl_ledger_start(bl_intervals *, int64_t unix_minus_mono_ns, int64_t measure_from_ns);
int32_t bl_slots(const bl_intervals *);
void bl_slot_copy(const bl_intervals *, int32_t i, int64_t *identity, int64_t *counters, int32_t *buckets,
                  int64_t *counts, int64_t *shape);

/* ---- producer_ledger.c ---- */
typedef struct bl_producer_ledger bl_producer_ledger;
bl_producer_ledger *bl_producer_ledger_new(int32_t lanes, int32_t partitions, int64_t ring_size, int32_t keep_messages);
void bl_producer_ledger_free(bl_producer_ledger *);
void bl_due(bl_producer_ledger *, const int64_t *scheduled_ns, const int32_t *pattern, int64_t pattern_length,
            int64_t first_index, int64_t n);
void bl_sent(bl_producer_ledger *, int64_t first_index, const int64_t *scheduled_ns, const int32_t *partitions,
             const int64_t *sequences, const int32_t *lengths, int64_t handed_ns, int64_t free_since_ns, int64_t n);
int64_t bl_settled(bl_producer_ledger *, const int64_t *indices, const uint8_t *outcomes, const int64_t *at_ns,
                   int64_t n);
int64_t bl_expire(bl_producer_ledger *, int64_t sent_before_ns, int64_t now_ns);
int64_t bl_room(const bl_producer_ledger *);
void bl_producer_totals(const bl_producer_ledger *, int64_t *totals);
void bl_producer_rows(bl_producer_ledger *, void **outcomes, int64_t *outcome_rows, void **messages,
                      int64_t *message_rows);
void bl_producer_clear(bl_producer_ledger *);

/* ---- consumer_ledger.c ---- */
typedef struct bl_consumer_ledger bl_consumer_ledger;
bl_consumer_ledger *bl_consumer_ledger_new(uint32_t run_tag, int32_t producers, int32_t destinations,
                                           int32_t partitions, int32_t keep_messages);
void bl_consumer_ledger_free(bl_consumer_ledger *);
void bl_received(bl_consumer_ledger *, const uint64_t *addresses, const int32_t *lengths, const int64_t *positions,
                 const uint8_t *redelivered, int64_t n, int64_t arrived_ns, int32_t epoch);
void bl_consumer_totals(const bl_consumer_ledger *, int64_t *totals);
const int64_t *bl_highest(const bl_consumer_ledger *);
void bl_consumer_rows(bl_consumer_ledger *, void **runs, int64_t *run_rows, void **messages, int64_t *message_rows);
void bl_consumer_clear(bl_consumer_ledger *);

/* ---- sender.c ---- */
typedef int64_t bl_send_function(void *client, uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                                 const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n);
/* How many reports; a negative number when the client needs Python, to connect again for instance. With most 0 the
 * client only sends and receives what is possible now. */
typedef int64_t bl_settled_function(void *client, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most);
/* What a client that has no thread of its own waits for: its sockets, and the time at which it must act anyway. */
typedef int64_t bl_watch_function(const void *client, struct pollfd *to, int64_t most, int64_t *wake_ns);

/* Made and filled by agent/sender_native.py. */
typedef struct {
    bl_producer_ledger *ledger;
    void *client;
    bl_send_function *send;
    bl_settled_function *settled;
    bl_watch_function *watch; /* NULL: the client has threads, and is asked once in a tick */
    /* the payload pool; may_wrap is 0 when a chunk of a file must be replaced after its last slot */
    uint8_t *buffer;
    int64_t *offsets;
    int32_t *lengths;
    uint64_t *body_sums;
    int64_t slots, position, may_wrap;
    int32_t *pattern; /* partition of message i: pattern[i % pattern_length]; keys, if any, alike, 4 bytes each */
    uint8_t *keys;
    int64_t pattern_length;
    /* room for one block */
    int64_t block_most;
    int64_t *next_sequence;
    int32_t *partitions;
    int64_t *sequences;
    int64_t *scheduled_now; /* closed loop: scheduled times of a block */
    /* the schedule: due times made ahead; `noted` of them are counted as due, `at` are sent */
    int64_t *due;
    int64_t due_count, at, noted, no_more_due;
    int64_t index, in_flight, limit, window; /* window 0: open loop */
    int64_t end_ns, timeout_ns, last_expiry_ns, settled_since;
    int64_t measure_from_ns, left; /* closed loop: messages that may still be sent in the measure phase */
    int64_t *batch_sizes;          /* closed loop: one batch after the other, each when the one before has settled; or NULL */
    int64_t batch_count, batch_at, batch_left;
    int64_t tick_ns, tick_least_ns, tick_most_ns, ticks_per_latency, expire_every_ns;
    int64_t buffer_full, expired;
    int64_t free_since_ns; /* open loop: when the client last took fewer messages than were due */
    /* reports of the client; `reported` of them wait for Python to say what codes other than 0 mean */
    int64_t *indices;
    int32_t *codes;
    uint8_t *acknowledged; /* zeros */
    int64_t *at_ns;
    int64_t reported;
} bl_sender;
int bl_sender_step(bl_sender *, int64_t now_ns, int64_t until_ns);
int64_t bl_senders_run(bl_sender *const *senders, int64_t n, int64_t until_ns, int64_t idle_ns, int64_t *clock,
                       int64_t *ticks);

/* ---- kafka.c ---- */
typedef struct bl_kafka_producer bl_kafka_producer;
typedef struct bl_kafka_consumer bl_kafka_consumer;
int bl_kafka_open(const char *library, char *why, size_t why_size);
const char *bl_kafka_error_name(int code);
bl_kafka_producer *bl_kafka_producer_new(const char **names, const char **values, int settings, const char **topics,
                                         int n, int partitions, char *why, size_t why_size);
int64_t bl_kafka_send(bl_kafka_producer *, uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                      const int32_t *partitions, uint8_t *keys, int64_t first_index, int64_t n);
int64_t bl_kafka_settled(bl_kafka_producer *, int64_t *indices, int32_t *errors, int64_t *at_ns, int64_t most);
void bl_kafka_flush(bl_kafka_producer *, int timeout_ms);
void bl_kafka_producer_free(bl_kafka_producer *);
bl_kafka_consumer *bl_kafka_consumer_new(const char **names, const char **values, int settings, const char **topics,
                                         int n, int partitions, int64_t most, char *why, size_t why_size);
int bl_kafka_assign(bl_kafka_consumer *, int member, int members, const int64_t *offsets);
int64_t bl_kafka_receive(bl_kafka_consumer *, int timeout_ms, int64_t most, uint64_t *addresses, int32_t *lengths,
                         int64_t *positions, int32_t *error);
void bl_kafka_release(bl_kafka_consumer *);
const int64_t *bl_kafka_positions(const bl_kafka_consumer *);
int bl_kafka_commit(bl_kafka_consumer *, const int64_t *offsets, int wait);
void bl_kafka_consumer_free(bl_kafka_consumer *);

/* ---- kafka_batch.c, kafka_produce_batch.c ---- */
uint32_t bl_crc32c(const uint8_t *data, int64_t bytes, int portable);
int bl_batch_read(const uint8_t *batch, int64_t bytes, int check_crc, int64_t wanted, uint64_t *addresses,
                  int32_t *lengths, int64_t *positions, int64_t most, int64_t *about);
int64_t bl_batch_write(const uint8_t *values, const int64_t *offsets, const int32_t *lengths, const uint8_t *keys,
                       const int64_t *unix_ms, int64_t n, uint8_t *to, int64_t most);

/* ---- kafka_fetch.c, kafka_fetch_wire.c ---- */
typedef struct bl_fetcher bl_fetcher;
bl_fetcher *bl_fetch_new(const char *client, const char **topics, int n, int partitions, const int64_t *settings);
void bl_fetch_free(bl_fetcher *);
void bl_fetch_attach(bl_fetcher *, int number, int fd);
void bl_fetch_lead(bl_fetcher *, int number, int connection_number);
void bl_fetch_seek(bl_fetcher *, int number, int64_t offset);
int bl_fetch_is_up(const bl_fetcher *, int number);
const int64_t *bl_fetch_positions(const bl_fetcher *);
const int32_t *bl_fetch_errors(const bl_fetcher *);
const char *bl_fetch_why(const bl_fetcher *);
int64_t bl_fetch_receive(bl_fetcher *, int64_t deadline_ns, int64_t most, uint64_t *addresses, int32_t *lengths,
                         int64_t *positions, int64_t *about);

/* ---- kafka_produce.c, kafka_produce_wire.c ---- */
typedef struct bl_kafka_sender bl_kafka_sender;
bl_kafka_sender *bl_produce_new(const char *client, const char **topics, int n, int partitions,
                                const int64_t *settings);
void bl_produce_free(bl_kafka_sender *);
void bl_produce_attach(bl_kafka_sender *, int number, int fd);
void bl_produce_lead(bl_kafka_sender *, int number, int connection_number);
int bl_produce_is_up(const bl_kafka_sender *, int number);
int bl_produce_needs_care(const bl_kafka_sender *);
int bl_produce_error(const bl_kafka_sender *, int number);
const char *bl_produce_why(const bl_kafka_sender *);
int64_t bl_produce_unsettled(const bl_kafka_sender *);
int64_t bl_produce_send(bl_kafka_sender *, const uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                        const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n);
int64_t bl_produce_settled(bl_kafka_sender *, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most);
int64_t bl_produce_watch(const bl_kafka_sender *, struct pollfd *to, int64_t most, int64_t *wake_ns);
void bl_produce_flush(bl_kafka_sender *, int64_t deadline_ns);

/* ---- nats.c, nats_producer.c, nats_consumer.c ---- */
typedef struct bl_nats_link bl_nats_link;
typedef struct bl_nats_producer bl_nats_producer;
typedef struct bl_nats_consumer bl_nats_consumer;
void bl_nats_attach(bl_nats_link *, int fd);
void bl_nats_greet(bl_nats_link *, int64_t deadline_ns);
void bl_nats_hang_up(bl_nats_link *);
int bl_nats_state(const bl_nats_link *);
const char *bl_nats_why(const bl_nats_link *);
void bl_nats_flush(bl_nats_link *, int64_t deadline_ns);
bl_nats_producer *bl_nats_producer_new(const char *hello, int64_t hello_bytes, const char **prefixes, int partitions,
                                       int64_t inbox_bytes, int64_t pending_most);
void bl_nats_producer_free(bl_nats_producer *);
int64_t bl_nats_send(bl_nats_producer *, uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                     const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n);
int64_t bl_nats_settled(bl_nats_producer *, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most);
const char *bl_nats_answer(const bl_nats_producer *, int32_t k, int32_t *status);
bl_nats_consumer *bl_nats_consumer_new(const char *hello, int64_t hello_bytes, const char **pulls, int streams,
                                       const char *pull_rest, int64_t pull_messages, int64_t pull_bytes, int policy);
void bl_nats_consumer_free(bl_nats_consumer *);
int64_t bl_nats_receive(bl_nats_consumer *, int64_t deadline_ns, int64_t most, uint64_t *addresses, int32_t *lengths,
                        int64_t *positions, uint8_t *redelivered, int64_t *about);
void bl_nats_acknowledge(bl_nats_consumer *, int64_t first_ordinal, int64_t n);
void bl_nats_give_back(bl_nats_consumer *, int64_t deadline_ns);

/* ---- pulsar_produce.c ---- */
typedef struct bl_pulsar_sender bl_pulsar_sender;
bl_pulsar_sender *bl_pulsar_sender_new(int lanes, const int64_t *settings);
void bl_pulsar_sender_free(bl_pulsar_sender *);
int bl_pulsar_sender_attach(bl_pulsar_sender *, int fd, const uint8_t *read, int64_t bytes_read, const int32_t *lanes,
                            const char **names, int n);
int bl_pulsar_sender_down(const bl_pulsar_sender *, int32_t *lanes, int most);
const char *bl_pulsar_sender_why(const bl_pulsar_sender *);
int64_t bl_pulsar_sender_unsettled(const bl_pulsar_sender *);
int64_t bl_pulsar_send(bl_pulsar_sender *, const uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                       const int32_t *partitions, const uint8_t *keys, int64_t first_index, int64_t n);
int64_t bl_pulsar_settled(bl_pulsar_sender *, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most);
int64_t bl_pulsar_watch(const bl_pulsar_sender *, struct pollfd *to, int64_t most, int64_t *wake_ns);
void bl_pulsar_sender_flush(bl_pulsar_sender *, int64_t deadline_ns);

/* ---- pulsar_consume.c ---- */
typedef struct bl_pulsar_receiver bl_pulsar_receiver;
bl_pulsar_receiver *bl_pulsar_receiver_new(int lanes, int64_t queue);
void bl_pulsar_receiver_free(bl_pulsar_receiver *);
int bl_pulsar_receiver_attach(bl_pulsar_receiver *, int fd, const uint8_t *read, int64_t bytes_read,
                              const int32_t *lanes, int n);
int bl_pulsar_receiver_down(const bl_pulsar_receiver *, int32_t *lanes, int most);
const char *bl_pulsar_receiver_why(const bl_pulsar_receiver *);
int64_t bl_pulsar_receive(bl_pulsar_receiver *, int64_t deadline_ns, int64_t most, uint64_t *addresses,
                          int32_t *lengths, int64_t *positions, uint8_t *redelivered, int64_t *about);
void bl_pulsar_acknowledge(bl_pulsar_receiver *, int64_t first_ordinal, int64_t n);
void bl_pulsar_tell(bl_pulsar_receiver *);
void bl_pulsar_receiver_close(bl_pulsar_receiver *, int64_t deadline_ns);

#pragma GCC visibility pop

#endif
