/* What a Pulsar producer writes and is answered. Nothing here blocks. A message that was written and not answered is
 * never sent again: it may be stored, and Pulsar would store it twice. One that was not written waits for the next
 * connection. */
#define _GNU_SOURCE
#include "pulsar_produce.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PIECES_AT_ONCE = 64 };
enum { CHECKSUM_ERROR = 9, TOPIC_TERMINATED = 15, NOT_ALLOWED = 22 }; /* of PulsarApi.proto's ServerError */

void pulsar_finish(producer *p, batch *b, int32_t code, int64_t at_ns) {
    b->code = code;
    b->at_ns = at_ns;
    batches_add(&p->done, b);
    p->unsettled -= b->count;
}

/* ---------------------------------------------------------------- writing */

/* A sealed batch of a lane that has a connection: it is written when the connection takes it. */
void pulsar_begin(producer *p, lane *l, batch *b) {
    pulsar_batch_address(b, p->batching, (uint64_t)b->lane + 1, l->name, l->sequence, bl_unix_ms());
    l->sequence += (uint64_t)b->count;
    batches_add(&p->connection[l->connection].unwritten, b);
}

/* The first batch is written whole. */
static void pass_on(producer *p, connection *c, int64_t now_ns) {
    batch *b = batches_take(&c->unwritten);
    c->written = 0;
    if (b->pulsar.orphan) {
        pulsar_finish(p, b, PULSAR_LOST, now_ns);
        return;
    }
    batches_add(&p->lane[b->lane].in_flight, b);
    c->in_flight++;
}

/* What is to be written, in order: the rest of a batch, commands, further batches. */
static int gather(const connection *c, struct iovec *to) {
    int n = 0;
    const batch *b = c->unwritten.first;
    if (b && c->written) {
        to[n++] = (struct iovec){b->data + b->from + c->written, b->size - b->from - c->written};
        b = b->next;
    }
    const bytes *out = &c->link.out;
    if (out->head < out->tail) to[n++] = (struct iovec){out->data + out->head, out->tail - out->head};
    for (; b && n < PIECES_AT_ONCE; b = b->next) to[n++] = (struct iovec){b->data + b->from, b->size - b->from};
    return n;
}

/* `done` bytes were written, in the same order. */
static void advance(producer *p, connection *c, size_t done, int64_t now_ns) {
    bytes *out = &c->link.out;
    int in_batch = c->written > 0;
    while (done) {
        size_t commands = out->tail - out->head;
        if (!in_batch && commands) {
            size_t n = done < commands ? done : commands;
            out->head += n, done -= n;
            continue;
        }
        in_batch = 0;
        size_t left = c->unwritten.first->size - c->unwritten.first->from - c->written;
        if (done < left) {
            c->written += done;
            return;
        }
        done -= left;
        pass_on(p, c, now_ns);
    }
}

/* Write what the socket takes now. */
void pulsar_write(producer *p, connection *c, int64_t now_ns) {
    struct iovec piece[PIECES_AT_ONCE];
    int n;
    while (c->link.fd >= 0 && (n = gather(c, piece))) {
        struct msghdr what = {.msg_iov = piece, .msg_iovlen = (size_t)n};
        ssize_t done = sendmsg(c->link.fd, &what, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done > 0) {
            advance(p, c, (size_t)done, now_ns);
            if (!c->unwritten.first && c->held_back) p->look_ns = c->held_back = 0;
        } else if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        else
            pulsar_drop(p, c, strerror(errno), now_ns);
    }
}

/* ---------------------------------------------------------------- what breaks */

/* Take the lane from its connection: what was written is unknown, what was not waits. A batch that is half written must be
 * written whole where the connection stays, since the next frame follows it. */
static void close_lane(producer *p, connection *c, int32_t number, int stays, int64_t now_ns) {
    lane *l = &p->lane[number];
    for (batch *b; (b = batches_take(&l->in_flight)); c->in_flight--) pulsar_finish(p, b, PULSAR_LOST, now_ns);
    batches others = {NULL, NULL};
    size_t written = c->written;
    for (batch *b; (b = batches_take(&c->unwritten)); written = 0) {
        if (b->lane != number)
            batches_add(&others, b);
        else if (!written && !b->pulsar.orphan)
            batches_add(&l->waiting, b);
        else if (stays) {
            b->pulsar.orphan = 1;
            batches_add(&others, b);
        } else {
            pulsar_finish(p, b, PULSAR_LOST, now_ns);
            c->written = 0; /* of those that are left nothing is */
        }
    }
    c->unwritten = others;
    l->connection = -1;
    p->down++;
}

/* Give the connection up, with all its lanes. */
void pulsar_drop(producer *p, connection *c, const char *why, int64_t now_ns) {
    int number = (int)(c - p->connection);
    snprintf(p->why, sizeof p->why, "%s", why);
    pulsar_lose(&c->link, why);
    for (int32_t i = 0; i < p->lanes; i++)
        if (p->lane[i].connection == number) close_lane(p, c, i, 0, now_ns);
    for (batch *b; (b = batches_take(&c->unwritten));) pulsar_finish(p, b, PULSAR_LOST, now_ns); /* orphans */
    c->written = 0;
    c->in_flight = 0;
}

/* ---------------------------------------------------------------- answers */

/* The lane that a producer's id stands for, if it is on this connection; otherwise -1: the word comes too late. */
static int32_t lane_of(const producer *p, const connection *c, pulsar_reader command) {
    uint64_t id = pulsar_number(command, 1, 0);
    if (!id || id > (uint64_t)p->lanes) return -1;
    int32_t number = (int32_t)id - 1;
    return p->lane[number].connection == c - p->connection ? number : -1;
}

/* Receipts come in the order of what was sent; one of a batch that was given up already has a smaller number. */
static void on_receipt(producer *p, connection *c, pulsar_reader command, int64_t now_ns) {
    int32_t number = lane_of(p, c, command);
    if (number < 0) return;
    batches *open = &p->lane[number].in_flight;
    uint64_t sequence = pulsar_number(command, 2, UINT64_MAX);
    if (open->first && sequence == open->first->pulsar.sequence) {
        pulsar_finish(p, batches_take(open), 0, now_ns);
        c->in_flight--;
    } else if (sequence >= p->lane[number].sequence || (open->first && sequence > open->first->pulsar.sequence))
        pulsar_drop(p, c, "a receipt for what was not sent", now_ns);
}

/* A refusal found before anything was written (1), or one after which it may be stored (0). */
static int is_definite(uint64_t error) {
    return error == CHECKSUM_ERROR || error == TOPIC_TERMINATED || error == NOT_ALLOWED;
}

/* Unlike receipts, an error may overtake those before it. After one that may pass the connection is made again, as by
 * Pulsar's own clients. */
static void on_error(producer *p, connection *c, pulsar_reader command, int64_t now_ns) {
    int32_t number = lane_of(p, c, command);
    if (number < 0) return;
    uint64_t sequence = pulsar_number(command, 2, UINT64_MAX), error = pulsar_number(command, 3, 0);
    batches kept = {NULL, NULL}, *open = &p->lane[number].in_flight;
    for (batch *b; (b = batches_take(open));) {
        if (b->pulsar.sequence != sequence) {
            batches_add(&kept, b);
            continue;
        }
        pulsar_finish(p, b, error < 1000 ? (int32_t)error + 1 : PULSAR_LOST, now_ns);
        c->in_flight--;
    }
    *open = kept;
    if (!is_definite(error)) pulsar_drop(p, c, "the broker could not store a message", now_ns);
}

static int has_lanes(const producer *p, const connection *c) {
    for (int32_t i = 0; i < p->lanes; i++)
        if (p->lane[i].connection == c - p->connection) return 1;
    return 0;
}

static void on_close(producer *p, connection *c, pulsar_reader command, int64_t now_ns) {
    int32_t number = lane_of(p, c, command);
    if (number < 0) return;
    close_lane(p, c, number, 1, now_ns);
    if (!has_lanes(p, c)) pulsar_drop(p, c, "the broker closed all producers", now_ns);
}

/* Read what has come. */
void pulsar_hear(producer *p, connection *c, int64_t now_ns) {
    pulsar_frame f;
    int was_up = c->link.fd >= 0;
    pulsar_read(&c->link, now_ns);
    while (pulsar_next(&c->link, &f)) {
        if (f.type == PULSAR_SEND_RECEIPT)
            on_receipt(p, c, f.command, now_ns);
        else if (f.type == PULSAR_SEND_ERROR)
            on_error(p, c, f.command, now_ns);
        else if (f.type == PULSAR_CLOSE_PRODUCER)
            on_close(p, c, f.command, now_ns);
    }
    pulsar_tend(&c->link, now_ns);
    if (was_up && c->link.fd < 0) pulsar_drop(p, c, c->link.why, now_ns);
}
