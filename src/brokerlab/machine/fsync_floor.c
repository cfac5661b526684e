/* Preloaded into a server: each fsync, fdatasync and msync that waits for the disk takes at least BROKERLAB_FSYNC_FLOOR_NS.
   A call that fails returns at once. All else passes through unchanged. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_since(int64_t began_ns)
{
    static int64_t floor_ns = -1;
    if (floor_ns < 0) {
        const char *text = getenv("BROKERLAB_FSYNC_FLOOR_NS");
        floor_ns = text == NULL ? 0 : strtoll(text, NULL, 10);
    }
    int64_t until_ns = began_ns + floor_ns;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    int before = errno;
    while (now_ns() < until_ns && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    errno = before;
}

#define FLOORED(name)                                                                \
    __attribute__((visibility("default"))) int name(int descriptor)                  \
    {                                                                                \
        int (*real)(int);                                                            \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                   \
        int64_t began_ns = now_ns();                                                 \
        int result = real(descriptor);                                               \
        if (result == 0)                                                             \
            wait_since(began_ns);                                                    \
        return result;                                                               \
    }

FLOORED(fsync)
FLOORED(fdatasync)

__attribute__((visibility("default"))) int msync(void *address, size_t length, int flags)
{
    int (*real)(void *, size_t, int);
    *(void **)&real = dlsym(RTLD_NEXT, "msync");
    int64_t began_ns = now_ns();
    int result = real(address, length, flags);
    if (result == 0 && (flags & MS_SYNC))
        wait_since(began_ns);
    return result;
}
