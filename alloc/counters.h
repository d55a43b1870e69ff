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

/* Under the movement lock: no locked instruction. */
#define COUNT(name, by) count_up(&counters.name, (uint64_t)(by))

static inline void count_up(_Atomic uint64_t *counter, uint64_t by) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

/* A block of COUNTED_APART_BYTES or more; raises the peak. */
void count_large_block(size_t bytes, bool allocated);

/* Live bytes of all sizes, as exact as the threads are quiet. */
size_t count_live_bytes(void);

#endif
