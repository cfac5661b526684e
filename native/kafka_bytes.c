#include "kafka_bytes.h"
#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPACITY = 256 };

/* Room for `want` bytes behind the content, which may move. */
uint8_t *bytes_room(bytes *b, size_t want, size_t least_capacity) {
    if (b->head) {
        memmove(b->data, b->data + b->head, b->tail - b->head);
        b->tail -= b->head;
        b->head = 0;
    }
    if (b->capacity - b->tail < want) {
        size_t grown = b->capacity ? b->capacity : least_capacity;
        while (grown - b->tail < want) grown *= 2;
        b->data = realloc(b->data, grown);
        if (!b->data) abort();
        b->capacity = grown;
    }
    return b->data + b->tail;
}

static void write_big(uint8_t *at, int64_t value, int width) {
    for (int i = 0; i < width; i++) at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

void bytes_put(bytes *b, int64_t value, int width) {
    write_big(bytes_room(b, (size_t)width, LEAST_CAPACITY), value, width);
    b->tail += (size_t)width;
}

void bytes_put_text(bytes *b, const char *text) {
    size_t n = strlen(text);
    bytes_put(b, (int64_t)n, 2);
    memcpy(bytes_room(b, n, LEAST_CAPACITY), text, n);
    b->tail += n;
}

/* Over what is there: a size or a count that is known only later. */
void bytes_put_at(bytes *b, size_t at, int64_t value, int width) { write_big(b->data + b->head + at, value, width); }
