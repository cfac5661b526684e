/* One plain NATS connection, shared by the producer and the consumer path. Nothing here blocks or allocates per message.
 *
 * Python opens the socket (non-blocking) and hands it over with bl_nats_attach; INFO, the greeting, PING and errors are
 * dealt with here. A connection that is lost stays down until another socket is attached.
 */
#ifndef BROKERLAB_NATS_H
#define BROKERLAB_NATS_H

#include "brokerlab.h"

enum { NATS_DOWN = 0, NATS_OPENING = 1, NATS_GREETING = 2, NATS_UP = 3 };

/* A growing buffer whose content is data[head, tail). */
typedef struct {
    char *data;
    size_t head, tail, capacity;
} nats_bytes;

typedef struct bl_nats_link {
    int fd, state;
    nats_bytes in, out;
    char *hello; /* CONNECT, SUB and PING lines, sent as soon as the server has introduced itself */
    size_t hello_bytes, hello_sent;
    int64_t max_payload, pongs, attachments;
    char why[256]; /* the server's or the system's words about the last loss */
} nats_link;

/* One MSG or HMSG frame; pointers are into the connection's buffer. */
typedef struct {
    const char *subject, *reply, *header, *data;
    size_t subject_bytes, reply_bytes, header_bytes, data_bytes;
    int64_t sid;
} nats_message;

void nats_link_init(nats_link *, const char *hello, int64_t hello_bytes);
void nats_link_free(nats_link *);
char *nats_room(nats_bytes *, size_t bytes);
void nats_append(nats_bytes *, const char *text, size_t bytes);
void nats_publish(nats_link *, const char *subject, size_t subject_bytes, const char *text, size_t bytes);
void nats_flush(nats_link *);
int64_t nats_read(nats_link *);
int nats_next(nats_link *, nats_message *);
void nats_wait(nats_link *, int64_t now_ns, int64_t deadline_ns);
int nats_status(const nats_message *);
int64_t nats_number(const char *text, size_t bytes);
int64_t nats_number_behind(const char *text, size_t bytes, const char *word);
int nats_starts(const char *text, size_t bytes, const char *with);

#endif
