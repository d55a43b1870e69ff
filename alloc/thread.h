/*
 * What the library keeps for each thread that allocates: jemalloc's caches, and counts of blocks, which are added up
 * when somebody asks. Only the thread itself writes its counts (a plain load and store, no locked instruction); the
 * list is walked under its lock.
 */
#ifndef FERRY_ALLOC_THREAD_H
#define FERRY_ALLOC_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_caches;
struct region;

struct thread_counts {
    _Atomic uint64_t allocations, frees;
    _Atomic uint64_t
        live_bytes; /* of blocks under COUNTED_APART_BYTES; wraps below 0 in threads that free what others allocate */
};

struct thread {
    struct thread_counts counts;
    struct heap_caches **caches; /* by heap slot; grown under the list's lock */
    uint32_t ncaches;
    /*
     * Where the thread's latest free was, so that the next one there waits for no table: the processor goes ahead on
     * the comparison. Forgotten, also by other threads, before the region goes; 0 bytes: nothing.
     */
    _Atomic uintptr_t last_base;
    _Atomic size_t last_bytes;
    _Atomic(struct region *) last_region;
    struct thread *next, *previous;
};

/* Blocks this large are counted in one place for the whole process, so that the peak of live bytes is theirs exactly.
 */
#define COUNTED_APART_BYTES ((size_t)64 << 10)

/* The calling thread's record, NULL before its first allocation. */
extern _Thread_local struct thread *thread_current;

/* Makes the record; NULL when there is no memory for one. */
struct thread *thread_make(void);

static inline struct thread *thread_self(void) {
    return thread_current != NULL ? thread_current : thread_make();
}

void thread_list_lock(void);
void thread_list_unlock(void);
/* First record of the list; list's lock held. */
struct thread *thread_first(void);

/* Makes every thread forget a region that is about to go. No block of it is live. */
void thread_forget_region(const struct region *region);

/* Sums over all threads, those that have ended included. */
void thread_counts_sum(uint64_t *allocations, uint64_t *frees, uint64_t *live_bytes);

/* Counts for threads that have no record. */
void thread_count_without(uint64_t allocations, uint64_t frees, uint64_t live_bytes);

static inline void thread_bump(_Atomic uint64_t *count, uint64_t by) {
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + by, memory_order_relaxed);
}

/* Counts a block of `bytes` in (allocated) or out (freed); `counts` are the calling thread's, NULL when it has none. */
static inline void thread_count_block(struct thread_counts *counts, size_t bytes, bool allocated) {
    const uint64_t change = allocated ? (uint64_t)bytes : (uint64_t)0 - bytes;
    if (counts == NULL) {
        thread_count_without(allocated, !allocated, change);
        return;
    }
    thread_bump(allocated ? &counts->allocations : &counts->frees, 1);
    thread_bump(&counts->live_bytes, change);
}

#endif
