/* Preloaded into a server that has no setting for it: a socket that it binds to every address of the machine is bound to
   127.0.0.1 instead. All other calls pass through unchanged. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*bind_call)(int, const struct sockaddr *, socklen_t);

__attribute__((visibility("default"))) int bind(int descriptor, const struct sockaddr *address, socklen_t size)
{
    static const unsigned char mapped_loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    bind_call real;
    *(void **)&real = dlsym(RTLD_NEXT, "bind");
    if (address != NULL && address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in narrow;
        memcpy(&narrow, address, sizeof narrow);
        if (narrow.sin_addr.s_addr == htonl(INADDR_ANY)) {
            narrow.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            return real(descriptor, (const struct sockaddr *)&narrow, sizeof narrow);
        }
    } else if (address != NULL && address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 narrow;
        memcpy(&narrow, address, sizeof narrow);
        if (memcmp(&narrow.sin6_addr, &in6addr_any, sizeof in6addr_any) == 0) {
            memcpy(&narrow.sin6_addr, mapped_loopback, sizeof mapped_loopback);
            return real(descriptor, (const struct sockaddr *)&narrow, sizeof narrow);
        }
    }
    return real(descriptor, address, size);
}
