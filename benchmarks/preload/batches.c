/*
 * The pattern of sh6bench: batches of small blocks, most of them very small, freed in the order in which they came, in
 * the opposite one, or every other one before the rest; and some that outlive a few batches.
 */
#include "patterns.h"

enum { BATCH = 4000, ROUNDS = 7000, KEPT = 16 };

static size_t size_of(uint64_t *random) {
    const size_t kind = random_below(random, 100);
    return kind < 70   ? 1 + random_below(random, 64)
           : kind < 95 ? 64 + random_below(random, 192)
                       : random_below(random, 1000);
}

static unsigned char *allocate(uint64_t *random) {
    const size_t bytes = size_of(random) + 1;
    unsigned char *block = must_malloc(bytes);
    block[0] = (unsigned char)bytes;
    return block;
}

static uint64_t drop(unsigned char *block) {
    const uint64_t value = block[0];
    free(block);
    return value;
}

static uint64_t drop_all(unsigned char **blocks, unsigned order) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        const unsigned every_other = i < BATCH / 2 ? 2 * i : 2 * (i - BATCH / 2) + 1;
        sum += drop(blocks[order == 0 ? i : order == 1 ? BATCH - 1 - i : every_other]);
    }
    return sum;
}

uint64_t pattern_batches(unsigned scale) {
    static unsigned char *blocks[BATCH], *kept[KEPT];
    uint64_t random = 1, sum = 0;
    for (unsigned round = 0; round < ROUNDS * scale; round++) {
        for (unsigned i = 0; i < BATCH; i++) {
            blocks[i] = allocate(&random);
        }
        unsigned char **old = &kept[round % KEPT];
        sum += *old == NULL ? 0 : drop(*old);
        *old = allocate(&random);
        sum += drop_all(blocks, round % 3);
    }
    return sum;
}
