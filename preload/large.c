#include "large.h"

#include <errno.h>
#include <string.h>

#include "callers.h"
#include "device.h"
#include "ferry/memory.h"
#include "fork.h"
#include "ordinary.h"
#include "record.h"
#include "shim.h"

/* Managed blocks are aligned to this at most; what asks for more lies in the ordinary heap. */
#define ALIGNMENT_MOST ((size_t)2 << 20)
/* Smaller ones share pages. */
#define PAGE_BYTES ((size_t)4096)

_Atomic bool large_watched;
_Atomic uintptr_t large_low = UINTPTR_MAX, large_end;

static void *fail(void) {
    errno = ENOMEM;
    return NULL;
}

/* Once: the flag stays in every processor's cache. */
static void watch(void) {
    if (!atomic_load_explicit(&large_watched, memory_order_relaxed)) {
        atomic_store(&large_watched, true);
    }
}

static void widen(const void *block, size_t bytes) {
    const uintptr_t first = (uintptr_t)block, end = first + bytes;
    uintptr_t low = atomic_load_explicit(&large_low, memory_order_relaxed);
    while (first < low && !atomic_compare_exchange_weak(&large_low, &low, first)) {
    }
    uintptr_t high = atomic_load_explicit(&large_end, memory_order_relaxed);
    while (end > high && !atomic_compare_exchange_weak(&large_end, &high, end)) {
    }
    watch();
}

/* NULL, with the errno of before, where there is no room. */
static void *managed(size_t bytes, size_t alignment, bool zeros) {
    const int saved = errno;
    void *block = zeros           ? ferry_calloc(1, bytes)
                  : alignment > 1 ? ferry_aligned_alloc(alignment, bytes)
                                  : ferry_malloc(bytes);
    if (block == NULL) {
        errno = saved;
        record_beyond_limit(bytes);
        return NULL;
    }
    widen(block, bytes == 0 ? 1 : bytes);
    return block;
}

/* A managed block's, or 0: where it shares a page, it is told apart from others by nothing. */
static size_t part_bytes(const void *block) {
    const size_t bytes = ferry_usable_size(block);
    return bytes < PAGE_BYTES ? bytes : 0;
}

static void note_allocation(const void *block, size_t bytes, ferry_run_home home, uint64_t began_ns, void *caller) {
    if (record == NULL || (home == FERRY_RUN_PLAIN && bytes < ORDINARY_EXTENT_BYTES)) {
        return;
    }
    const size_t part = home == FERRY_RUN_MANAGED ? part_bytes(block) : 0;
    if (part > 0) {
        record_part_allocation(part, began_ns);
    } else {
        watch();
        record_allocation(block, bytes, home, began_ns, caller);
    }
}

/* Of a block that no record tells apart; a forked child's managed blocks are its parent's. */
static void note_free(const void *block, ferry_run_home home) {
    if (record != NULL && home == FERRY_RUN_MANAGED && device_is_serving()) {
        const size_t part = part_bytes(block);
        if (part > 0) {
            record_part_free(part);
        }
    }
}

static void *allocate(size_t bytes, size_t alignment, bool zeros, void *caller) {
    const uint64_t began_ns = record_now();
    void *block = NULL;
    if (alignment <= ALIGNMENT_MOST && device_serves()) {
        block = managed(bytes, alignment, zeros);
    }
    const ferry_run_home home = block == NULL ? FERRY_RUN_PLAIN : FERRY_RUN_MANAGED;
    block = block == NULL ? ordinary_allocate(bytes, alignment, zeros) : block;
    if (block != NULL) {
        note_allocation(block, bytes, home, began_ns, caller);
    }
    return block;
}

void *large_allocate(size_t bytes, size_t alignment, bool zeros, void *caller) {
    if (bytes > PTRDIFF_MAX) {
        return fail();
    }
    if (!shim_enter()) {
        return ordinary_allocate(bytes, alignment, zeros);
    }
    void *block =
        callers_refuse(caller) ? ordinary_allocate(bytes, alignment, zeros) : allocate(bytes, alignment, zeros, caller);
    shim_leave();
    return block;
}

size_t large_usable_bytes(void *block) {
    return ferry_owns(block) ? ferry_usable_size(block) : ferry_plain_malloc_usable_size(block);
}

static void free_in(ferry_run_home home, void *block, bool entered) {
    if (home == FERRY_RUN_PLAIN) {
        ferry_plain_free(block);
    } else if (entered || !fork_postpone_free(block)) {
        ferry_free(block);
    }
}

void large_free(void *block) {
    if (block == NULL) {
        return;
    }
    const int saved = errno;
    const bool entered = shim_enter();
    const bool recorded = record_free(block);
    const uint64_t began_ns = recorded ? record_now() : 0;
    const ferry_run_home home = ferry_owns(block) ? FERRY_RUN_MANAGED : FERRY_RUN_PLAIN;
    if (!recorded) {
        note_free(block, home);
    }
    free_in(home, block, entered);
    if (recorded) {
        record_free_end(home, began_ns);
    }
    if (entered) {
        shim_leave();
    }
    errno = saved;
}

static void *resize_managed(void *block, size_t bytes) {
    const int saved = errno;
    void *moved = ferry_realloc(block, bytes);
    if (moved != NULL) {
        widen(moved, bytes);
    } else {
        errno = saved;
    }
    return moved;
}

/* Under the threshold and above it a block's arena differs, and jemalloc's own realloc leaves it in that of its size.
 */
static void *resize_ordinary(void *block, size_t bytes) {
    return bytes < shim_threshold_bytes ? ferry_plain_realloc(block, bytes)
                                        : ferry_plain_rallocx(block, bytes, ordinary_flags(bytes, 0));
}

/* Within one heap, or not at all. The record takes the block first: what is freed is another's before the call
 * returns. */
static void *resize(void *block, size_t bytes, ferry_run_home home, void *caller) {
    registry_block was;
    const size_t part = record != NULL && home == FERRY_RUN_MANAGED ? part_bytes(block) : 0;
    const bool taken = part == 0 && record_take(block, &was);
    const uint64_t began_ns = record_now();
    void *moved = home == FERRY_RUN_MANAGED ? resize_managed(block, bytes) : resize_ordinary(block, bytes);
    if (moved == NULL) {
        if (taken) {
            record_put_back(block, &was);
        }
        return NULL;
    }
    if (taken) {
        record_freed(&was);
    } else if (part > 0) {
        record_part_free(part);
    }
    if (bytes >= shim_threshold_bytes) {
        note_allocation(moved, bytes, home, began_ns, caller);
    }
    return moved;
}

/* From one heap to the other; for a refused caller to the ordinary one. */
static void *move(void *block, size_t bytes, bool refused, void *caller) {
    void *moved = bytes < shim_threshold_bytes ? ferry_plain_malloc(bytes)
                  : refused                    ? ordinary_allocate(bytes, 0, false)
                                               : allocate(bytes, 0, false, caller);
    if (moved != NULL) {
        const size_t old_bytes = large_usable_bytes(block);
        memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
        large_free(block);
    }
    return moved;
}

static void *reallocate(void *block, size_t bytes, bool refused, void *caller) {
    const ferry_run_home home = ferry_owns(block) ? FERRY_RUN_MANAGED : FERRY_RUN_PLAIN;
    const bool wanted = bytes >= shim_threshold_bytes && !refused && device_serves();
    if (wanted && home == FERRY_RUN_MANAGED) {
        /* As long as half of it is used, a block shrinks where it is. */
        const size_t old_bytes = ferry_usable_size(block);
        if (bytes <= old_bytes && bytes >= old_bytes / 2) {
            return block;
        }
        void *moved = resize(block, bytes, home, caller);
        return moved != NULL ? moved : move(block, bytes, refused, caller);
    }
    return wanted || home == FERRY_RUN_MANAGED ? move(block, bytes, refused, caller)
                                               : resize(block, bytes, home, caller);
}

void *large_reallocate(void *block, size_t bytes, void *caller) {
    if (bytes == 0) {
        large_free(block);
        return NULL;
    }
    if (bytes > PTRDIFF_MAX) {
        return fail();
    }
    const bool entered = shim_enter();
    const bool refused = bytes >= shim_threshold_bytes && (!entered || callers_refuse(caller));
    void *moved = reallocate(block, bytes, refused, caller);
    if (entered) {
        shim_leave();
    }
    return moved == NULL ? fail() : moved;
}
