/* The Kafka path: blocks straight into the librdkafka that the confluent-kafka wheel carries.
 *
 * The wheel has no headers and its library's name carries a hash, so prototypes are declared here and resolved by name
 * when the library is opened. They have been stable since librdkafka 1.0.
 */
#define _GNU_SOURCE
#include "brokerlab.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_op_s rd_kafka_event_t;

typedef struct {
    int32_t err;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *opaque;
} message;
_Static_assert(sizeof(message) == 72, "rd_kafka_message_t");

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset;
    void *metadata;
    size_t metadata_size;
    void *opaque;
    int32_t err;
    void *private_;
} topic_partition;

typedef struct {
    int cnt, size;
    topic_partition *elems;
} topic_partition_list;

enum { TYPE_PRODUCER = 0, TYPE_CONSUMER = 1 };
enum { F_COPY = 0x2 };
enum { EVENT_DELIVERY = 0x1, EVENT_ERROR = 0x8 };
enum { OFFSET_STORED = -1000 };

#define API(X)                                                                                                         \
    X(rd_kafka_conf_t *, conf_new, (void))                                                                             \
    X(void, conf_destroy, (rd_kafka_conf_t *))                                                                         \
    X(int, conf_set, (rd_kafka_conf_t *, const char *, const char *, char *, size_t))                                  \
    X(void, conf_set_events, (rd_kafka_conf_t *, int))                                                                 \
    X(void, conf_set_log_cb, (rd_kafka_conf_t *, void (*)(const rd_kafka_t *, int, const char *, const char *)))       \
    X(rd_kafka_t *, new, (int, rd_kafka_conf_t *, char *, size_t))                                                     \
    X(void, destroy_flags, (rd_kafka_t *, int))                                                                        \
    X(rd_kafka_topic_t *, topic_new, (rd_kafka_t *, const char *, void *))                                             \
    X(void, topic_destroy, (rd_kafka_topic_t *))                                                                       \
    X(const char *, topic_name, (const rd_kafka_topic_t *))                                                            \
    X(int, produce_batch, (rd_kafka_topic_t *, int32_t, int, message *, int))                                          \
    X(rd_kafka_queue_t *, queue_get_main, (rd_kafka_t *))                                                              \
    X(rd_kafka_queue_t *, queue_get_consumer, (rd_kafka_t *))                                                          \
    X(void, queue_destroy, (rd_kafka_queue_t *))                                                                       \
    X(rd_kafka_event_t *, queue_poll, (rd_kafka_queue_t *, int))                                                       \
    X(int, event_type, (const rd_kafka_event_t *))                                                                     \
    X(size_t, event_message_array, (rd_kafka_event_t *, const message **, size_t))                                     \
    X(void, event_destroy, (rd_kafka_event_t *))                                                                       \
    X(int, outq_len, (rd_kafka_t *))                                                                                   \
    X(int, purge, (rd_kafka_t *, int))                                                                                 \
    X(const char *, err2name, (int))                                                                                   \
    X(topic_partition_list *, topic_partition_list_new, (int))                                                         \
    X(topic_partition *, topic_partition_list_add, (topic_partition_list *, const char *, int32_t))                    \
    X(void, topic_partition_list_destroy, (topic_partition_list *))                                                    \
    X(int, assign, (rd_kafka_t *, const topic_partition_list *))                                                       \
    X(int, commit, (rd_kafka_t *, const topic_partition_list *, int))                                                  \
    X(int, poll_set_consumer, (rd_kafka_t *))                                                                          \
    X(long, consume_batch_queue, (rd_kafka_queue_t *, int, message **, size_t))                                        \
    X(void, message_destroy, (message *))                                                                              \
    X(int, consumer_close, (rd_kafka_t *))

static struct {
#define X(result, name, arguments) result(*name) arguments;
    API(X)
#undef X
} rk;

static void silent(const rd_kafka_t *client, int level, const char *facility, const char *text) {
    (void)client, (void)level, (void)facility, (void)text; /* errors reach us as outcomes and events */
}

/* Resolve the library once. Returns 0, or -1 with the reason in `why`. */
int bl_kafka_open(const char *library, char *why, size_t why_size) {
    if (rk.conf_new) return 0;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, why_size, "%s", dlerror());
        return -1;
    }
#define X(result, name, arguments)                                                                                     \
    *(void **)(&rk.name) = dlsym(handle, "rd_kafka_" #name);                                                           \
    if (!rk.name) {                                                                                                    \
        snprintf(why, why_size, "rd_kafka_" #name " is not in the library");                                           \
        rk.conf_new = NULL;                                                                                            \
        return -1;                                                                                                     \
    }
    API(X)
#undef X
    return 0;
}

const char *bl_kafka_error_name(int code) { return rk.err2name(code); }

static rd_kafka_t *client_new(int type, int events, const char **names, const char **values, int n, char *why,
                              size_t why_size) {
    rd_kafka_conf_t *conf = rk.conf_new();
    for (int i = 0; i < n; i++)
        if (rk.conf_set(conf, names[i], values[i], why, why_size)) {
            rk.conf_destroy(conf);
            return NULL;
        }
    if (events) rk.conf_set_events(conf, events);
    rk.conf_set_log_cb(conf, silent);
    rd_kafka_t *client = rk.new(type, conf, why, why_size);
    if (!client) rk.conf_destroy(conf);
    return client;
}

/* ---------------------------------------------------------------- producer */

enum { BATCH = 4096 };

typedef struct bl_kafka_producer {
    rd_kafka_t *client;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t **topic;
    int topics, partitions;
    message batch[BATCH];
    const message *report[BATCH];
    rd_kafka_event_t *event; /* delivery reports not handed over whole yet */
} producer;

producer *bl_kafka_producer_new(const char **names, const char **values, int settings, const char **topics, int n,
                                int partitions, char *why, size_t why_size) {
    rd_kafka_t *client = client_new(TYPE_PRODUCER, EVENT_DELIVERY | EVENT_ERROR, names, values, settings, why, why_size);
    if (!client) return NULL;
    producer *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->client = client;
    p->queue = rk.queue_get_main(client);
    p->topic = calloc((size_t)n, sizeof *p->topic);
    if (!p->topic) abort();
    p->topics = n;
    p->partitions = partitions;
    for (int i = 0; i < n; i++) p->topic[i] = rk.topic_new(client, topics[i], NULL);
    return p;
}

/* Hand over messages of one partition; returns how many the client took, from the first on. */
static int64_t produce_run(producer *p, int32_t partition, int64_t n) {
    rk.produce_batch(p->topic[partition / p->partitions], partition % p->partitions, F_COPY, p->batch, (int)n);
    for (int64_t i = 0; i < n; i++)
        if (p->batch[i].err) return i;
    return n;
}

/* Takes the first k messages and returns k. Keys are the 4 bytes of the key number, big-endian; key_numbers may be NULL. */
int64_t bl_kafka_send(producer *p, uint8_t *buffer, const int64_t *offsets, const int32_t *lengths,
                      const int32_t *partitions, uint8_t *keys, int64_t first_index, int64_t n) {
    for (int64_t i = 0; i < n;) {
        int64_t k = 0;
        for (; i + k < n && k < BATCH && partitions[i + k] == partitions[i]; k++)
            p->batch[k] = (message){
                .payload = buffer + offsets[i + k],
                .len = (size_t)lengths[i + k],
                .key = keys ? keys + 4 * (i + k) : NULL,
                .key_len = keys ? 4 : 0,
                .opaque = (void *)(intptr_t)(first_index + i + k + 1), /* +1: NULL would be number 0 */
            };
        int64_t taken = produce_run(p, partitions[i], k);
        i += taken;
        if (taken < k) return i;
    }
    return n;
}

/* Delivery reports that are there now: message number, error code (0 is an acknowledgement), time. At most `most`. */
int64_t bl_kafka_settled(producer *p, int64_t *indices, int32_t *errors, int64_t *at_ns, int64_t most) {
    int64_t n = 0;
    while (n < most) {
        if (!p->event) p->event = rk.queue_poll(p->queue, 0);
        if (!p->event) break;
        size_t got = 0;
        if (rk.event_type(p->event) == EVENT_DELIVERY) {
            size_t room = (size_t)(most - n) < BATCH ? (size_t)(most - n) : BATCH;
            got = rk.event_message_array(p->event, p->report, room);
            int64_t now = bl_now_ns();
            for (size_t i = 0; i < got; i++, n++) {
                indices[n] = (int64_t)(intptr_t)p->report[i]->opaque - 1;
                errors[n] = p->report[i]->err;
                at_ns[n] = now;
            }
        }
        if (!got) {
            rk.event_destroy(p->event);
            p->event = NULL;
        }
    }
    return n;
}

/* Wait up to timeout_ms until nothing is outstanding. Reports are thrown away: take them before.
 * (rd_kafka_flush would wait for reports that are no longer taken.) */
void bl_kafka_flush(producer *p, int timeout_ms) {
    int64_t until = bl_now_ns() + (int64_t)timeout_ms * 1000000;
    do {
        rd_kafka_event_t *event = rk.queue_poll(p->queue, 5);
        if (event) rk.event_destroy(event);
    } while (rk.outq_len(p->client) > 0 && bl_now_ns() < until);
}

void bl_kafka_producer_free(producer *p) {
    if (p->event) rk.event_destroy(p->event);
    rk.purge(p->client, 0x1 | 0x2);
    for (int i = 0; i < p->topics; i++) rk.topic_destroy(p->topic[i]);
    rk.queue_destroy(p->queue);
    rk.destroy_flags(p->client, 0);
    free(p->topic);
    free(p);
}

/* ---------------------------------------------------------------- consumer */

typedef struct bl_kafka_consumer {
    rd_kafka_t *client;
    rd_kafka_queue_t *queue;
    char **topic;
    int topics, partitions;
    int64_t *next_offset; /* per cell-wide partition: the offset after the last one received, -1 before the first */
    int64_t *committed;
    message **held;
    int64_t holding, most;
} consumer;

consumer *bl_kafka_consumer_new(const char **names, const char **values, int settings, const char **topics, int n,
                                int partitions, int64_t most, char *why, size_t why_size) {
    rd_kafka_t *client = client_new(TYPE_CONSUMER, 0, names, values, settings, why, why_size);
    if (!client) return NULL;
    consumer *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->client = client;
    rk.poll_set_consumer(client);
    c->queue = rk.queue_get_consumer(client);
    c->topics = n;
    c->partitions = partitions;
    c->topic = calloc((size_t)n, sizeof *c->topic);
    c->next_offset = malloc((size_t)(n * partitions) * sizeof(int64_t));
    c->committed = malloc((size_t)(n * partitions) * sizeof(int64_t));
    c->held = calloc((size_t)most, sizeof *c->held);
    if (!c->topic || !c->next_offset || !c->committed || !c->held) abort();
    for (int i = 0; i < n; i++) c->topic[i] = bl_copied(topics[i]);
    for (int i = 0; i < n * partitions; i++) c->next_offset[i] = c->committed[i] = -1;
    c->most = most;
    return c;
}

/* Take every partition whose number leaves `member` when divided by `members`: from its offset here where that is not
 * negative, else from the committed offset or the beginning. Assigned, not subscribed: a group that rebalances while it
 * is measured measures the rebalance. */
int bl_kafka_assign(consumer *c, int member, int members, const int64_t *offsets) {
    topic_partition_list *list = rk.topic_partition_list_new(c->topics * c->partitions);
    for (int i = member; i < c->topics * c->partitions; i += members) {
        topic_partition *one = rk.topic_partition_list_add(list, c->topic[i / c->partitions], i % c->partitions);
        one->offset = OFFSET_STORED;
        if (offsets[i] >= 0) one->offset = c->next_offset[i] = offsets[i];
    }
    int error = rk.assign(c->client, list);
    rk.topic_partition_list_destroy(list);
    return error;
}

static int topic_number(const consumer *c, const char *name) {
    for (int t = 0; t < c->topics; t++)
        if (!strcmp(c->topic[t], name)) return t;
    return -1;
}

void bl_kafka_release(consumer *c) {
    for (int64_t i = 0; i < c->holding; i++) rk.message_destroy(c->held[i]);
    c->holding = 0;
}

/* What is there now; when that is nothing, the first message that comes in time and what came with it.
 * (librdkafka itself would wait for the batch to fill: that would be a latency of our own making.) */
static long held_now(consumer *c, int timeout_ms, size_t most) {
    long got = rk.consume_batch_queue(c->queue, 0, c->held, most);
    if (got || timeout_ms <= 0) return got;
    got = rk.consume_batch_queue(c->queue, timeout_ms, c->held, 1);
    if (got != 1 || most == 1) return got;
    long more = rk.consume_batch_queue(c->queue, 0, c->held + 1, most - 1);
    return more > 0 ? 1 + more : 1;
}

/* Fills the columns with what arrives within timeout_ms; the addresses hold until bl_kafka_release. Returns how many;
 * *error gets the code of a consumer error that came instead of a message. */
int64_t bl_kafka_receive(consumer *c, int timeout_ms, int64_t most, uint64_t *addresses, int32_t *lengths,
                         int64_t *positions, int32_t *error) {
    *error = 0;
    bl_kafka_release(c);
    long got = held_now(c, timeout_ms, (size_t)(most < c->most ? most : c->most));
    if (got < 0) return 0;
    const rd_kafka_topic_t *known = NULL;
    int number = -1;
    int64_t n = 0;
    for (long i = 0; i < got; i++) {
        message *m = c->held[i];
        if (m->err) {
            *error = m->err;
            rk.message_destroy(m);
            continue;
        }
        if (m->rkt != known) known = m->rkt, number = topic_number(c, rk.topic_name(known));
        if (number >= 0) c->next_offset[number * c->partitions + m->partition] = m->offset + 1;
        addresses[n] = (uint64_t)(uintptr_t)m->payload;
        lengths[n] = (int32_t)m->len;
        positions[n] = m->offset;
        c->held[n++] = m;
    }
    c->holding = n;
    return n;
}

/* Per cell-wide partition, the offset after the last message received; -1 before the first. */
const int64_t *bl_kafka_positions(const consumer *c) { return c->next_offset; }

/* Commit these offsets (as bl_kafka_positions gives them) where they moved. wait: until the broker has answered. */
int bl_kafka_commit(consumer *c, const int64_t *offsets, int wait) {
    topic_partition_list *list = rk.topic_partition_list_new(4);
    for (int i = 0; i < c->topics * c->partitions; i++)
        if (offsets[i] > c->committed[i]) {
            rk.topic_partition_list_add(list, c->topic[i / c->partitions], i % c->partitions)->offset = offsets[i];
            c->committed[i] = offsets[i];
        }
    int error = 0;
    if (list->cnt) error = rk.commit(c->client, list, !wait);
    rk.topic_partition_list_destroy(list);
    return error;
}

void bl_kafka_consumer_free(consumer *c) {
    bl_kafka_release(c);
    rk.consumer_close(c->client);
    rk.queue_destroy(c->queue);
    rk.destroy_flags(c->client, 0);
    for (int t = 0; t < c->topics; t++) free(c->topic[t]);
    free(c->topic);
    free(c->next_offset);
    free(c->committed);
    free(c->held);
    free(c);
}
