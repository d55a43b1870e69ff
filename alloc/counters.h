/* The counts of movement, and those of large blocks. Movement counts are written under the movement lock and read
 * without it. */
#ifndef FERRY_ALLOC_COUNTERS_H
#define FERRY_ALLOC_COUNTERS_H

#include <stdatomic.h>

#include "ferry/stats.h"

struct counters {
#define COUNTER(name, text) _Atomic uint64_t name;
    FERRY_STATS_LIST(COUNTER)
#undef COUNTER
};

extern struct counters counters;

#define COUNT(name, by) atomic_fetch_add_explicit(&counters.name, (uint64_t)(by), memory_order_relaxed)

/* A block of COUNTED_APART_BYTES or more; raises the peak. */
void count_large_block(size_t bytes, bool allocated);

/* Live bytes of all sizes, as exact as the threads are quiet. */
size_t count_live_bytes(void);

#endif
