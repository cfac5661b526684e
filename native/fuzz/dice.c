#include "fuzz.h"
#include <string.h>

/* splitmix64 */
uint64_t dice_throw(dice *d) {
    uint64_t z = d->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

dice dice_for(uint64_t seed, uint64_t number) {
    dice d = {seed * 0xD1342543DE82EF95u + number};
    d.state = dice_throw(&d);
    return d;
}

int64_t dice_below(dice *d, int64_t n) { return (int64_t)(dice_throw(d) % (uint64_t)n); }

void put_bytes(input *to, const void *data, size_t bytes) {
    if (bytes > INPUT_MOST - to->bytes) return;
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
}

void put_text(input *to, const char *text) { put_bytes(to, text, strlen(text)); }

void put_big(input *to, int64_t value, int width) {
    uint8_t big[8];
    for (int i = 0; i < width; i++) big[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    put_bytes(to, big, (size_t)width);
}

/* ---------------------------------------------------------------- damage */

static const uint8_t odd_bytes[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\r', '\n', '0', '9', '-', '.', ':', '{', 'M', 'H'};
static const int64_t odd_numbers[] = {0, 1, -1, 2, 61, 127, 128, 0x7fff, 0xffff, INT32_MAX, INT32_MIN, 1 << 20, -2};

static void over(input *in, size_t at, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes && at + i < in->bytes; i++) in->data[at + i] = ((const uint8_t *)data)[i];
}

static void leave_out(input *in, size_t at, size_t bytes) {
    if (bytes > in->bytes - at) bytes = in->bytes - at;
    memmove(in->data + at, in->data + at + bytes, in->bytes - at - bytes);
    in->bytes -= bytes;
}

static void repeat(input *in, size_t at, size_t bytes) {
    if (bytes > in->bytes - at) bytes = in->bytes - at;
    if (bytes > INPUT_MOST - in->bytes) return;
    memmove(in->data + at + bytes, in->data + at, in->bytes - at);
    in->bytes += bytes;
}

static void damage_once(dice *d, input *in) {
    size_t at = (size_t)dice_below(d, (int64_t)in->bytes), some = (size_t)(1 + dice_below(d, 32));
    uint8_t big[8];
    switch (dice_below(d, 8)) {
    case 0: in->data[at] ^= (uint8_t)(1 << dice_below(d, 8)); break;
    case 1: in->data[at] = (uint8_t)dice_throw(d); break;
    case 2: in->data[at] = odd_bytes[dice_below(d, sizeof odd_bytes)]; break;
    case 3:
    case 4: {
        int64_t value = odd_numbers[dice_below(d, sizeof odd_numbers / sizeof *odd_numbers)];
        int width = 2 << dice_below(d, 3);
        for (int i = 0; i < width; i++) big[i] = (uint8_t)((uint64_t)value >> (8 * (width - 1 - i)));
        over(in, at, big, (size_t)width);
        break;
    }
    case 5: leave_out(in, at, some); break;
    case 6: repeat(in, at, some); break;
    default: in->bytes = at; /* the rest never comes */
    }
}

/* Every eighth input stays as it is: what the parser understands must be among them. */
void damage(dice *d, input *in) {
    for (int64_t n = dice_below(d, 8); n > 0 && in->bytes; n--) damage_once(d, in);
}
