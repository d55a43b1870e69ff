/* The record's counters: several threads write them, another process may read them. */
#ifndef FERRY_PRELOAD_COUNTERS_H
#define FERRY_PRELOAD_COUNTERS_H

#include <stdint.h>

static inline uint64_t counter_get(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline void counter_set(uint64_t *counter, uint64_t value) {
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* The sum. */
static inline uint64_t counter_add(uint64_t *counter, uint64_t value) {
    return __atomic_add_fetch(counter, value, __ATOMIC_RELAXED);
}

static inline void counter_take(uint64_t *counter, uint64_t value) {
    __atomic_fetch_sub(counter, value, __ATOMIC_RELAXED);
}

static inline void counter_raise(uint64_t *counter, uint64_t value) {
    uint64_t most = counter_get(counter);
    while (most < value &&
           !__atomic_compare_exchange_n(counter, &most, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

#endif
