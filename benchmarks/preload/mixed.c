/*
 * The pattern of alloc-test: one thread, a large set of live blocks, of which random ones are freed and allocated anew;
 * a size is as likely to lie between 16 and 32 bytes as between 32 and 64, and so on to 64 KiB, the large ones rarely.
 */
#include <string.h>

#include "patterns.h"

enum { LIVE = 1 << 15, STEPS = 20000000, CLASSES = 12 };

static size_t size_of(uint64_t *random) {
    const size_t kind = random_below(random, CLASSES);
    /* Of the sizes above 1 KiB an eighth is kept: what lives is to fit. */
    const size_t shift = kind > 5 && random_below(random, 8) != 0 ? kind - 6 : kind;
    return ((size_t)16 << shift) + random_below(random, (size_t)16 << shift);
}

uint64_t pattern_mixed(unsigned scale) {
    static unsigned char *live[LIVE];
    uint64_t random = 7, sum = 0;
    for (unsigned i = 0; i < STEPS * scale; i++) {
        unsigned char **slot = &live[random_below(&random, LIVE)];
        if (*slot != NULL) {
            sum += (*slot)[0];
            free(*slot);
            *slot = NULL;
            continue;
        }
        const size_t bytes = size_of(&random);
        *slot = must_malloc(bytes);
        memset(*slot, (int)(bytes & 0x7f), bytes < 64 ? bytes : 64);
    }
    return sum;
}
