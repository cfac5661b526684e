/* A NATS connection: buffers, frames in any cut, the greeting. The protocol is in docs.nats.io, "client protocol". */
#define _GNU_SOURCE
#include "nats.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_MOST = BL_READ_BYTES, READ_LEAST = BL_READ_BYTES / 4, LINE_MOST = 1 << 20, FRAME_MOST = 1 << 28 };

/* ---------------------------------------------------------------- buffers */

/* Room for `bytes` more behind the content, which may move. */
char *nats_room(nats_bytes *b, size_t bytes) {
    if (b->head == b->tail) b->head = b->tail = 0;
    if (b->capacity - b->tail < bytes && b->head) {
        memmove(b->data, b->data + b->head, b->tail - b->head);
        b->tail -= b->head;
        b->head = 0;
    }
    if (b->capacity - b->tail < bytes) {
        size_t want = b->capacity ? b->capacity : READ_MOST;
        while (want - b->tail < bytes) want *= 2;
        b->data = realloc(b->data, want);
        if (!b->data) abort();
        b->capacity = want;
    }
    return b->data + b->tail;
}

void nats_append(nats_bytes *b, const char *text, size_t bytes) {
    memcpy(nats_room(b, bytes), text, bytes);
    b->tail += bytes;
}

/* A short message without a reply subject: an acknowledgement. */
void nats_publish(nats_link *l, const char *subject, size_t subject_bytes, const char *text, size_t bytes) {
    char *at = nats_room(&l->out, subject_bytes + bytes + 32), *from = at;
    memcpy(at, "PUB ", 4), at += 4;
    memcpy(at, subject, subject_bytes), at += subject_bytes;
    at += sprintf(at, " %zu\r\n", bytes);
    memcpy(at, text, bytes), at += bytes;
    memcpy(at, "\r\n", 2), at += 2;
    l->out.tail += (size_t)(at - from);
}

/* ---------------------------------------------------------------- words */

int nats_starts(const char *text, size_t bytes, const char *with) {
    size_t n = strlen(with);
    return bytes >= n && !memcmp(text, with, n);
}

/* A decimal number that fills the text; -1 for anything else. */
int64_t nats_number(const char *text, size_t bytes) {
    if (!bytes || bytes > 18) return -1;
    int64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* The decimal number that stands behind a word somewhere in the text; -1 where there is none. */
int64_t nats_number_behind(const char *text, size_t bytes, const char *word) {
    const char *at = memmem(text, bytes, word, strlen(word));
    if (!at) return -1;
    at += strlen(word);
    size_t left = bytes - (size_t)(at - text), digits = 0;
    while (digits < left && at[digits] >= '0' && at[digits] <= '9') digits++;
    return nats_number(at, digits);
}

/* The status of a message that is an answer of the server itself ("NATS/1.0 503"), else 0. */
int nats_status(const nats_message *m) {
    if (m->header_bytes < 12 || !nats_starts(m->header, m->header_bytes, "NATS/1.0 ")) return 0;
    int64_t status = nats_number(m->header + 9, 3);
    return status < 0 ? 0 : (int)status;
}

/* ---------------------------------------------------------------- the connection */

void nats_link_init(nats_link *l, const char *hello, int64_t hello_bytes) {
    l->fd = -1;
    l->hello_bytes = (size_t)hello_bytes;
    l->hello = malloc(l->hello_bytes);
    if (!l->hello) abort();
    memcpy(l->hello, hello, l->hello_bytes);
    nats_room(&l->in, 2 * READ_MOST);
}

static void hang_up(nats_link *l) {
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->state = NATS_DOWN;
    /* A frame may be half written: nothing of this may follow on another connection. What was read stays readable. */
    l->out.head = l->out.tail = 0;
}

/* What the server said before it closed tells more than how the socket ended. */
static void lose(nats_link *l, const char *why) {
    if (!l->why[0]) snprintf(l->why, sizeof l->why, "%s", why);
    hang_up(l);
}

/* Adopt a non-blocking socket that is connected or connecting. */
void bl_nats_attach(nats_link *l, int fd) {
    hang_up(l);
    l->fd = fd;
    l->state = NATS_OPENING;
    l->in.head = l->in.tail = 0;
    l->hello_sent = 0;
    l->why[0] = 0;
    l->attachments++;
}

void bl_nats_hang_up(nats_link *l) { lose(l, "given up"); }
int bl_nats_state(const nats_link *l) { return l->state; }
const char *bl_nats_why(const nats_link *l) { return l->why; }

void nats_link_free(nats_link *l) {
    hang_up(l);
    free(l->in.data);
    free(l->out.data);
    free(l->hello);
}

/* How much of it the socket took. */
static size_t write_some(nats_link *l, const char *data, size_t bytes) {
    ssize_t put = send(l->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) return (size_t)put;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) lose(l, strerror(errno));
    return 0;
}

/* Write what the socket takes now. */
void nats_flush(nats_link *l) {
    if (l->state >= NATS_GREETING && l->hello_sent < l->hello_bytes)
        l->hello_sent += write_some(l, l->hello + l->hello_sent, l->hello_bytes - l->hello_sent);
    if (l->state == NATS_UP && l->out.head < l->out.tail)
        l->out.head += write_some(l, l->out.data + l->out.head, l->out.tail - l->out.head);
    if (l->out.head >= l->out.tail) l->out.head = l->out.tail = 0;
}

/* One read. Returns how many bytes came, 0 when there is nothing or the connection is lost. Content may move. */
int64_t nats_read(nats_link *l) {
    if (l->fd < 0) return 0;
    char *at = nats_room(&l->in, READ_LEAST);
    size_t room = l->in.capacity - l->in.tail;
    ssize_t got = recv(l->fd, at, room < READ_MOST ? room : READ_MOST, MSG_DONTWAIT);
    if (got > 0) {
        l->in.tail += (size_t)got;
        return got;
    }
    if (got == 0)
        lose(l, "the server closed the connection");
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        lose(l, strerror(errno));
    return 0;
}

/* Until there is something to read, or to write again, or the deadline. */
void nats_wait(nats_link *l, int64_t now_ns, int64_t deadline_ns) {
    int64_t left = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec limit = {left / 1000000000, left % 1000000000};
    int unsent = l->state >= NATS_GREETING && (l->hello_sent < l->hello_bytes || l->out.head < l->out.tail);
    struct pollfd one = {.fd = l->fd, .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
    ppoll(&one, 1, &limit, NULL);
}

/* ---------------------------------------------------------------- frames */

static void on_info(nats_link *l, const char *line, size_t bytes) {
    int64_t limit = nats_number_behind(line, bytes, "\"max_payload\":");
    if (limit >= 0) l->max_payload = limit;
    if (l->state != NATS_OPENING) return; /* news about the cluster */
    static const char tls[] = "\"tls_required\":true";
    if (memmem(line, bytes, tls, sizeof tls - 1)) {
        lose(l, "the server demands TLS");
        return;
    }
    l->state = NATS_GREETING;
    nats_flush(l);
}

static void on_control(nats_link *l, const char *line, size_t bytes) {
    if (nats_starts(line, bytes, "PING"))
        nats_append(&l->out, "PONG\r\n", 6);
    else if (nats_starts(line, bytes, "PONG")) {
        l->pongs++;
        if (l->state == NATS_GREETING) l->state = NATS_UP;
    } else if (nats_starts(line, bytes, "INFO "))
        on_info(l, line, bytes);
    else if (nats_starts(line, bytes, "-ERR"))
        snprintf(l->why, sizeof l->why, "%.*s", (int)(bytes < 200 ? bytes : 200), line);
    else if (!nats_starts(line, bytes, "+OK"))
        lose(l, "the server does not speak NATS");
}

/* MSG subject sid [reply] size; HMSG subject sid [reply] header-size size. Returns the size of what follows the line,
 * -1 when it is no such line. Payload pointers are set as if the payload were there. */
static int64_t on_message(const char *line, size_t bytes, const char *payload, nats_message *m) {
    int headers = line[0] == 'H';
    const char *field[6];
    size_t width[6];
    int fields = 0;
    for (size_t i = headers ? 5 : 4; i < bytes;) {
        while (i < bytes && line[i] == ' ') i++;
        size_t from = i;
        while (i < bytes && line[i] != ' ') i++;
        if (i == from) break;
        if (fields == 5) return -1;
        field[fields] = line + from, width[fields++] = i - from;
    }
    if (fields != 3 + headers && fields != 4 + headers) return -1;
    int with_reply = fields == 4 + headers;
    int64_t size = nats_number(field[fields - 1], width[fields - 1]);
    int64_t header = headers ? nats_number(field[fields - 2], width[fields - 2]) : 0;
    if (size < 0 || header < 0 || header > size || size > FRAME_MOST) return -1;
    *m = (nats_message){
        .subject = field[0],
        .subject_bytes = width[0],
        .sid = nats_number(field[1], width[1]),
        .reply = with_reply ? field[2] : line,
        .reply_bytes = with_reply ? width[2] : 0,
        .header = payload,
        .header_bytes = (size_t)header,
        .data = payload + header,
        .data_bytes = (size_t)(size - header),
    };
    return size;
}

/* The next message in what was read; everything else on the way is dealt with. Returns 0 when none is complete. */
int nats_next(nats_link *l, nats_message *m) {
    while (l->in.head < l->in.tail) {
        const char *line = l->in.data + l->in.head;
        size_t there = l->in.tail - l->in.head;
        const char *end = memchr(line, '\n', there < LINE_MOST ? there : LINE_MOST);
        if (!end) {
            if (there >= LINE_MOST) break;
            return 0;
        }
        size_t whole = (size_t)(end + 1 - line), bytes = whole - 1;
        if (bytes && line[bytes - 1] == '\r') bytes--;
        if (!nats_starts(line, bytes, "MSG ") && !nats_starts(line, bytes, "HMSG ")) {
            l->in.head += whole;
            on_control(l, line, bytes);
            continue;
        }
        int64_t size = on_message(line, bytes, end + 1, m);
        if (size < 0) break;
        size_t frame = whole + (size_t)size + 2;
        if (there < frame) return 0;
        if (memcmp(line + frame - 2, "\r\n", 2)) break;
        l->in.head += frame;
        return 1;
    }
    if (l->in.head == l->in.tail) return 0;
    l->in.head = l->in.tail = 0;
    lose(l, "a frame that is no NATS");
    return 0;
}

/* Wait for the greeting to end well or badly, or for the deadline. */
void bl_nats_greet(nats_link *l, int64_t deadline_ns) {
    nats_message m;
    for (;;) {
        while (nats_next(l, &m)) {}
        nats_flush(l);
        if (l->state == NATS_UP || l->state == NATS_DOWN || bl_now_ns() >= deadline_ns) return;
        if (!nats_read(l) && l->state != NATS_DOWN) nats_wait(l, bl_now_ns(), deadline_ns);
    }
}
