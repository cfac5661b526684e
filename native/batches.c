/* Batches of messages and queues of them; see batches.h. */
#include "batches.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 32 << 10, FIRST_MESSAGES = 256 };

batch *batch_take(batches *spare, int32_t lane, size_t head, int64_t now_ns) {
    batch *b = batches_take(spare);
    if (!b) {
        b = calloc(1, sizeof *b);
        if (!b) abort();
    }
    b->next = NULL;
    b->from = b->size = head;
    b->count = b->reported = b->code = 0;
    b->lane = lane;
    b->made_ns = now_ns;
    return b;
}

void batch_free(batch *b) {
    free(b->data);
    free(b->index);
    free(b);
}

void batch_grow(batch *b, size_t want) {
    if (!b->capacity || b->capacity - b->size < want) {
        size_t grown = b->capacity ? b->capacity : FIRST_CAPACITY;
        while (grown < b->size + want) grown *= 2;
        b->data = realloc(b->data, grown);
        if (!b->data) abort();
        b->capacity = grown;
    }
    if (b->count == b->index_capacity) {
        b->index_capacity = b->index_capacity ? 2 * b->index_capacity : FIRST_MESSAGES;
        b->index = realloc(b->index, (size_t)b->index_capacity * sizeof *b->index);
        if (!b->index) abort();
    }
}

void batches_add(batches *q, batch *b) {
    b->next = NULL;
    if (q->last)
        q->last->next = b;
    else
        q->first = b;
    q->last = b;
}

batch *batches_take(batches *q) {
    batch *b = q->first;
    if (!b) return NULL;
    q->first = b->next;
    if (!q->first) q->last = NULL;
    return b;
}

/* All of `before`, in their order, in front; `before` is empty then. */
void batches_put_first(batches *to, batches *before) {
    if (!before->first) return;
    before->last->next = to->first;
    if (!to->last) to->last = before->last;
    to->first = before->first;
    before->first = before->last = NULL;
}

void batches_free(batches *q) {
    for (batch *b; (b = batches_take(q));) batch_free(b);
}

/* Number, code and time of messages that are done, at most `most`; batches that are told whole become spare. */
int64_t batches_report(batches *done, batches *spare, int64_t *indices, int32_t *codes, int64_t *at_ns, int64_t most) {
    int64_t n = 0;
    while (done->first && n < most) {
        batch *b = done->first;
        int64_t k = b->count - b->reported < most - n ? b->count - b->reported : most - n;
        memcpy(indices + n, b->index + b->reported, (size_t)k * sizeof *indices);
        for (int64_t i = 0; i < k; i++) codes[n + i] = b->code, at_ns[n + i] = b->at_ns;
        b->reported += (int32_t)k;
        n += k;
        if (b->reported == b->count) batches_add(spare, batches_take(done));
    }
    return n;
}
