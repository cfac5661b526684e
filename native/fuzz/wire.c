/* The linker puts these in the place of the real ones (--wrap). What is sent is thrown away, at once or as by a slow reader;
 * what is received comes from the input, and every look at the clock takes a millisecond. */
#define _GNU_SOURCE
#include "fuzz.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static const uint8_t *next;
static size_t left;
static dice cuts;
static int slow;
static int64_t now_ns = 1000000000;

void wire_feed(dice *d, const input *in) {
    next = in->data;
    left = in->bytes;
    cuts = (dice){dice_throw(d)};
    slow = 0;
}

void wire_slow_down(void) { slow = 1; }

size_t wire_left(void) { return left; }

ssize_t __wrap_recv(int fd, void *to, size_t most, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t most, int flags) {
    (void)fd, (void)flags;
    if (!left) {
        errno = EAGAIN;
        return -1;
    }
    size_t n = dice_below(&cuts, 2) ? left : (size_t)(1 + dice_below(&cuts, (int64_t)left));
    if (n > most) n = most;
    memcpy(to, next, n);
    next += n;
    left -= n;
    return (ssize_t)n;
}

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags) {
    (void)fd, (void)flags;
    touch(data, (int64_t)bytes);
    return (ssize_t)bytes;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *what, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *what, int flags) {
    (void)fd, (void)flags;
    size_t all = 0;
    for (size_t i = 0; i < (size_t)what->msg_iovlen; i++) {
        touch(what->msg_iov[i].iov_base, (int64_t)what->msg_iov[i].iov_len);
        all += what->msg_iov[i].iov_len;
    }
    if (slow && dice_below(&cuts, 2)) {
        errno = EAGAIN;
        return -1;
    }
    if (slow && dice_below(&cuts, 2)) all = 1 + (size_t)dice_below(&cuts, (int64_t)all);
    return (ssize_t)all;
}

int __wrap_close(int fd);
int __wrap_close(int fd) { return fd == WIRE_FD ? 0 : -1; }

int __wrap_ppoll(struct pollfd *polled, nfds_t n, const struct timespec *limit, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *polled, nfds_t n, const struct timespec *limit, const sigset_t *mask) {
    (void)polled, (void)n, (void)limit, (void)mask;
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *to);
int __wrap_clock_gettime(clockid_t clock, struct timespec *to) {
    (void)clock;
    now_ns += 1000000;
    *to = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
    return 0;
}
