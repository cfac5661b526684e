/* Monotonic nanoseconds and absolute sleeping. */
#define _GNU_SOURCE
#include "brokerlab.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int64_t bl_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Coarse: what brokers are told of when a message was made. */
int64_t bl_unix_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* struct sched_attr of the kernel, in its first version. */
typedef struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
} scheduling;

enum { SHORT_SLICE_NS = 100000 }; /* the shortest there is */

/* The default timer slack of 50 us would be half of our lateness. A thread that asks for short slices of the processor
 * gets it sooner (Linux 6.12 and later; older kernels ignore it), and ours never needs it for long. */
void bl_prepare_pacing(void) {
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    scheduling now = {.size = sizeof now};
    if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) || now.policy) return;
    now.size = sizeof now;
    now.runtime_ns = SHORT_SLICE_NS;
    syscall(SYS_sched_setattr, 0, &now, 0);
}

/* Sleeps until the given time (or a signal) and returns the time it is then. */
int64_t bl_sleep_until(int64_t mono_ns) {
    struct timespec t = {mono_ns / 1000000000, mono_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return bl_now_ns();
}

/* Waits until one of the sockets is ready, or this time. */
void bl_poll_until(struct pollfd *sockets, int64_t n, int64_t mono_ns) {
    int64_t left_ns = mono_ns - bl_now_ns();
    if (left_ns < 0) left_ns = 0;
    struct timespec limit = {left_ns / 1000000000, left_ns % 1000000000};
    ppoll(sockets, (nfds_t)n, &limit, NULL);
}
