/* Monotonic nanoseconds and absolute sleeping. */
#define _GNU_SOURCE
#include "brokerlab.h"
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

int64_t bl_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The default timer slack of 50 us would be half of our lateness. */
void bl_prepare_pacing(void) { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

/* Sleeps until the given time (or a signal) and returns the time it is then. */
int64_t bl_sleep_until(int64_t mono_ns) {
    struct timespec t = {mono_ns / 1000000000, mono_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return bl_now_ns();
}
