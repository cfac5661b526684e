/* A connection to a Pulsar broker, and its frames: size, size of the command, command, and behind it what belongs to a
 * message. Nothing here blocks or reads outside what was received. */
#define _GNU_SOURCE
#include "pulsar.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_MOST = BL_READ_BYTES, READ_LEAST = BL_READ_BYTES / 4, FRAME_MOST = 1 << 27 };
enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 };
#define QUIET_NS 30000000000 /* after so long without a word the broker is asked, as its own clients do */

/* ---------------------------------------------------------------- fields */

/* A number of variable length. */
uint64_t pulsar_varint(pulsar_reader *r) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    r->malformed = 1;
    return 0;
}

/* The next field. Returns 0 at the end, and where something is no field: then the reader is malformed. */
int pulsar_next_field(pulsar_reader *r, pulsar_field *f) {
    if (r->malformed || r->at >= r->end) return 0;
    uint64_t key = pulsar_varint(r);
    int kind = key & 7;
    *f = (pulsar_field){.number = (uint32_t)(key >> 3), .inside = {r->end, r->end, 0}};
    if (kind == VARINT)
        f->value = pulsar_varint(r);
    else if (kind == BYTES || kind == FIXED_64 || kind == FIXED_32) {
        uint64_t n = kind == BYTES ? pulsar_varint(r) : kind == FIXED_64 ? 8 : 4;
        if (r->malformed || n > (uint64_t)(r->end - r->at)) {
            r->malformed = 1;
            return 0;
        }
        if (kind == BYTES) f->inside = (pulsar_reader){r->at, r->at + n, 0};
        r->at += n;
    } else
        r->malformed = 1;
    return !r->malformed;
}

/* The number of a field; `otherwise` where there is none. */
uint64_t pulsar_number(pulsar_reader fields, uint32_t number, uint64_t otherwise) {
    pulsar_field f;
    while (pulsar_next_field(&fields, &f))
        if (f.number == number) otherwise = f.value;
    return otherwise;
}

/* A whole frame without a message, behind what waits to be written. In PulsarApi.proto a command's type is the number of
 * its field too. */
void pulsar_command(bytes *out, int type, const uint8_t *fields, size_t n) {
    uint8_t head[32], *at = pulsar_put_number(head + 8, 1, (uint64_t)type);
    at = pulsar_put_varint(at, (uint64_t)type << 3 | BYTES);
    at = pulsar_put_varint(at, n);
    size_t bytes_of_head = (size_t)(at - head), size = bytes_of_head - 8 + n;
    pulsar_put_big32(pulsar_put_big32(head, (uint32_t)size + 4), (uint32_t)size);
    uint8_t *to = bytes_room(out, bytes_of_head + n, READ_LEAST);
    memcpy(to, head, bytes_of_head);
    if (n) memcpy(to + bytes_of_head, fields, n);
    out->tail += bytes_of_head + n;
}

/* ---------------------------------------------------------------- the connection */

static void hang_up(pulsar_link *l) {
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->asked = 0;
    l->out.head = l->out.tail = 0;
    l->in.head = l->in.tail; /* what was handed out stays readable until the next connection reads */
}

void pulsar_lose(pulsar_link *l, const char *why) {
    snprintf(l->why, sizeof l->why, "%s", why);
    hang_up(l);
}

/* Adopt a non-blocking socket, and what was read from it already. */
void pulsar_attach(pulsar_link *l, int fd, const uint8_t *read, int64_t bytes_read, int64_t now_ns) {
    hang_up(l);
    l->fd = fd;
    l->heard_ns = now_ns;
    l->in.head = l->in.tail = 0;
    if (!bytes_read) return;
    memcpy(bytes_room(&l->in, (size_t)bytes_read, READ_MOST), read, (size_t)bytes_read);
    l->in.tail = (size_t)bytes_read;
}

void pulsar_free(pulsar_link *l) {
    hang_up(l);
    free(l->in.data);
    free(l->out.data);
}

/* One read. Returns how many bytes came, 0 when there is nothing or the connection is lost. Content may move. */
int64_t pulsar_read(pulsar_link *l, int64_t now_ns) {
    if (l->fd < 0) return 0;
    uint8_t *at = bytes_room(&l->in, READ_LEAST, READ_MOST);
    size_t room = l->in.capacity - l->in.tail;
    ssize_t got = recv(l->fd, at, room < READ_MOST ? room : READ_MOST, MSG_DONTWAIT);
    if (got > 0) {
        l->in.tail += (size_t)got;
        l->heard_ns = now_ns;
        l->asked = 0;
        return got;
    }
    if (got == 0)
        pulsar_lose(l, "the broker closed the connection");
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        pulsar_lose(l, strerror(errno));
    return 0;
}

/* A broker that says nothing is asked, and given up when it does not answer that. */
void pulsar_tend(pulsar_link *l, int64_t now_ns) {
    if (l->fd < 0 || now_ns - l->heard_ns < QUIET_NS) return;
    if (l->asked && now_ns - l->heard_ns > 2 * QUIET_NS)
        pulsar_lose(l, "the broker does not answer");
    else if (!l->asked) {
        pulsar_command(&l->out, PULSAR_PING, NULL, 0);
        l->asked = 1;
    }
}

/* Write what the socket takes now. */
void pulsar_flush(pulsar_link *l) {
    if (l->fd < 0 || l->out.head == l->out.tail) return;
    ssize_t done = send(l->fd, l->out.data + l->out.head, l->out.tail - l->out.head, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0)
        l->out.head += (size_t)done;
    else if (done < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        pulsar_lose(l, strerror(errno));
}

/* ---------------------------------------------------------------- frames */

/* The command inside a BaseCommand. Returns whether it is one. */
static int understand(pulsar_reader base, pulsar_frame *to) {
    pulsar_field f;
    to->type = 0;
    to->command = (pulsar_reader){base.end, base.end, 0};
    while (pulsar_next_field(&base, &f)) {
        if (f.number == 1 && f.value < 1024)
            to->type = (int)f.value;
        else if (to->type && f.number == (uint32_t)to->type)
            to->command = f.inside;
    }
    return !base.malformed && to->type;
}

/* The next whole frame in what was read; PING and PONG on the way are dealt with. Returns 0 when there is none. */
int pulsar_next(pulsar_link *l, pulsar_frame *to) {
    while (l->fd >= 0 && l->in.tail - l->in.head >= 8) {
        const uint8_t *at = l->in.data + l->in.head;
        int64_t there = (int64_t)(l->in.tail - l->in.head), size = bl_big32(at), command = bl_big32(at + 4);
        int malformed = size < 4 || size > FRAME_MOST || command < 0 || command > size - 4;
        if (!malformed && there < 4 + size) return 0;
        malformed = malformed || !understand((pulsar_reader){at + 8, at + 8 + command, 0}, to);
        if (malformed) {
            pulsar_lose(l, "a frame that is none of Pulsar's");
            return 0;
        }
        l->in.head += (size_t)(4 + size);
        to->rest = at + 8 + command, to->end = at + 4 + size;
        if (to->type == PULSAR_PING)
            pulsar_command(&l->out, PULSAR_PONG, NULL, 0);
        else if (to->type != PULSAR_PONG)
            return 1;
    }
    return 0;
}
