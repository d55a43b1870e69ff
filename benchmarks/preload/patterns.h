/*
 * Programs that do little but allocate, in the patterns of the benchmarks that allocators are usually measured by. The
 * programs are the project's own; each says whose pattern it has. Their work is fixed: the time that it takes is what
 * is measured, from outside.
 */
#ifndef FERRY_BENCHMARKS_PRELOAD_PATTERNS_H
#define FERRY_BENCHMARKS_PRELOAD_PATTERNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Each returns a checksum that does not depend on the allocator. `scale`: the amount of work; 1: about a second. */
uint64_t pattern_factorise(unsigned scale);
uint64_t pattern_servers(unsigned scale);
uint64_t pattern_batches(unsigned scale);
uint64_t pattern_mixed(unsigned scale);
uint64_t pattern_handover(unsigned scale);
uint64_t pattern_fill(unsigned scale);

/* A malloc that ends the program where there is no memory. */
void *must_malloc(size_t bytes);

/* xorshift64*: the same numbers everywhere; the state is not 0. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static inline size_t random_below(uint64_t *state, size_t bound) {
    return (size_t)((next_random(state) >> 32) * bound >> 32);
}

#endif
