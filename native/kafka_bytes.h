/* A growing run of bytes (Pulsar's paths use it too), and Kafka's plain encoding of numbers and texts. */
#ifndef BROKERLAB_KAFKA_BYTES_H
#define BROKERLAB_KAFKA_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data;
    size_t head, tail, capacity; /* content is [head, tail) */
} bytes;

uint8_t *bytes_room(bytes *, size_t want, size_t least_capacity);
void bytes_put(bytes *, int64_t value, int width);
void bytes_put_text(bytes *, const char *text);
void bytes_put_at(bytes *, size_t at, int64_t value, int width);

#endif
