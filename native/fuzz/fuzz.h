/* Damaged inputs for every parser of what brokers send. An input follows from a target, a seed and its number alone, so
 * one that fails can be made again: `fuzz TARGET COUNT SEED FIRST`.
 */
#ifndef BROKERLAB_FUZZ_H
#define BROKERLAB_FUZZ_H

#include "../brokerlab.h"

enum { INPUT_MOST = 4096 };

/* ---- dice.c: chance that can be repeated, and damage ---- */
typedef struct {
    uint64_t state;
} dice;

dice dice_for(uint64_t seed, uint64_t number);
uint64_t dice_throw(dice *);
int64_t dice_below(dice *, int64_t n); /* 0 to n - 1 */

typedef struct {
    uint8_t data[INPUT_MOST];
    size_t bytes;
} input;

void put_bytes(input *, const void *data, size_t bytes); /* what does not fit is left out */
void put_text(input *, const char *text);
void put_big(input *, int64_t value, int width);
void damage(dice *, input *);

/* ---- wire.c: in the place of a socket, the clock and waiting ---- */
enum { WIRE_FD = 1000 };
void wire_feed(dice *, const input *); /* to be received in pieces of any length */
void wire_slow_down(void);             /* until it is fed again, sockets take a part of what is sent, or nothing */
size_t wire_left(void);

/* ---- targets ---- */
typedef struct {
    const char *name;
    void (*make)(dice *, input *);             /* something a broker may send */
    int64_t (*feed)(dice *, const input *in); /* let the parser read it; how many messages or answers it understood */
} target;

extern const target batch_target, message_target, fetch_target, produce_target, nats_producer_target,
    nats_consumer_target, pulsar_producer_target, pulsar_consumer_target;

void make_batch(dice *, input *); /* a record batch of Kafka */
void touch(const void *data, int64_t bytes); /* read all of it, so that the sanitizer sees it */

#endif
