/* fuzz TARGET COUNT [SEED [FIRST]]: so many damaged inputs. A sanitizer ends it at the first that does harm; the command that
 * makes this input again is on the last line then. */
#include "fuzz.h"
#include <sanitizer/common_interface_defs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const target *const targets[] = {&batch_target,   &message_target,       &fetch_target,
                                        &produce_target, &nats_producer_target, &nats_consumer_target,
                                        &pulsar_producer_target, &pulsar_consumer_target};
enum { TARGETS = sizeof targets / sizeof *targets };

static volatile uint8_t seen;
static const char *name;
static long long seed, number;

void touch(const void *data, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) seen ^= ((const uint8_t *)data)[i];
}

static void tell(void) {
    fprintf(stderr, "to see it again: python tools/check_native.py fuzz --inputs 1 --seed %lld --first %lld %s\n", seed, number, name);
}

static int run(const target *t, long long first, long long count) {
    long long understood = 0, refused = 0;
    for (number = first; number < first + count; number++) {
        dice d = dice_for((uint64_t)seed, (uint64_t)number);
        static input in;
        in.bytes = 0;
        t->make(&d, &in);
        damage(&d, &in);
        int64_t n = t->feed(&d, &in);
        understood += n > 0;
        refused += n == 0;
    }
    printf("%-15s %lld inputs of seed %lld from number %lld on, something understood in %lld\n", name, count, seed, first, understood);
    if (count >= 1000 && (!understood || !refused)) {
        fprintf(stderr, "%s: the inputs are all good or all bad, and show nothing\n", name);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    __sanitizer_set_death_callback(tell);
    name = argc > 2 ? argv[1] : "";
    seed = argc > 3 ? atoll(argv[3]) : 1;
    for (int i = 0; i < TARGETS; i++)
        if (!strcmp(targets[i]->name, name)) return run(targets[i], argc > 4 ? atoll(argv[4]) : 0, atoll(argv[2]));
    fprintf(stderr, "fuzz TARGET COUNT [SEED [FIRST]], where TARGET is one of:");
    for (int i = 0; i < TARGETS; i++) fprintf(stderr, " %s", targets[i]->name);
    fprintf(stderr, "\n");
    return 2;
}
