/* Large blocks: of the threshold and more. */
#ifndef FERRY_PRELOAD_LARGE_H
#define FERRY_PRELOAD_LARGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a free has to ask about. Most processes have none of it, which is one question: `large_watched`. It turns true
 * with the first managed block, or recorded ordinary one, before whoever asked for that gets it. Managed blocks lie in
 * a range that only grows; ordinary ones that are recorded begin pages.
 */
#define LARGE_HIDDEN __attribute__((visibility("hidden")))
extern LARGE_HIDDEN _Atomic bool large_watched;
extern LARGE_HIDDEN _Atomic uintptr_t large_low, large_end;

/* Whether the address may be a managed block's, or an ordinary one's that is recorded. */
static inline bool large_may_be(const void *block) {
    enum { PAGE_MASK = 4095 };
    const uintptr_t address = (uintptr_t)block;
    return __builtin_expect(atomic_load_explicit(&large_watched, memory_order_relaxed), false) &&
           ((address & PAGE_MASK) == 0 || (address >= atomic_load_explicit(&large_low, memory_order_relaxed) &&
                                           address < atomic_load_explicit(&large_end, memory_order_relaxed)));
}

/* NULL with errno set. `zeros`: the block reads as zeros. `alignment`: a power of two, 0 for any. `caller`: where the
 * process's call returns to. */
void *large_allocate(size_t bytes, size_t alignment, bool zeros, void *caller);

void *large_reallocate(void *block, size_t bytes, void *caller);

/* A block of which large_may_be; also NULL. */
void large_free(void *block);

size_t large_usable_bytes(void *block);

#endif
