#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "counters.h"
#include "crossing.h"
#include "deferred.h"
#include "heap.h"
#include "thread.h"

/* jemalloc's own name for "as large as can be": more would overflow its size classes. */
#define LARGEST_BYTES ((size_t)PTRDIFF_MAX / 2)

static void *fail(ferry_status status, size_t bytes) {
    if (status != FERRY_LIMIT) {
        ferry_error(status, "no room for %zu bytes: %s", bytes, ferry_error_detail());
    }
    errno = ENOMEM;
    return NULL;
}

static void *raw(ferry_heap *heap, size_t bytes, int alignment_flags) {
    const struct heap_caches caches = heap_caches_get(heap);
    const bool tiny = bytes < TINY_BELOW_BYTES;
    return ferry_je_mallocx(bytes, (tiny ? caches.tiny : caches.pages) | alignment_flags);
}

/* Gives back what is kept for reuse, then lets extents exceed the limit by what size classes round up, as long as live
 * bytes do not. */
static void *raw_after_trim(ferry_heap *heap, size_t bytes, int alignment_flags) {
    (void)ferry_trim();
    void *block = raw(heap, bytes, alignment_flags);
    if (block == NULL && count_live_bytes() + bytes <= core.limit_bytes) {
        region_stretch_limit(true);
        block = raw(heap, bytes, alignment_flags);
        region_stretch_limit(false);
    }
    if (block == NULL && deferred_any()) {
        (void)ferry_sync(NULL);
        deferred_reap();
        block = raw(heap, bytes, alignment_flags);
    }
    return block;
}

static void count_block(size_t bytes, bool allocated) {
    if (bytes >= COUNTED_APART_BYTES) {
        count_large_block(bytes, allocated);
        bytes = 0;
    }
    thread_count_block(thread_self(), bytes, allocated);
}

/* Takes a block of `bytes`; *zeros tells whether it is known to read as zero. */
static void *take(ferry_heap *heap, size_t bytes, int alignment_flags, bool *zeros) {
    if (deferred_any()) {
        deferred_reap();
    }
    const bool tiny = bytes < TINY_BELOW_BYTES;
    /* Whole pages, so that jemalloc's small classes put no two storages on one. */
    const size_t rounded = tiny ? (bytes == 0 ? 1 : bytes) : storage_pages(bytes) * FERRY_PAGE_BYTES;
    void *block = raw(heap, rounded, alignment_flags);
    if (block == NULL) {
        block = raw_after_trim(heap, rounded, alignment_flags);
    }
    if (block == NULL) {
        return NULL;
    }
    *zeros = !tiny && storage_open(region_find(block), block, bytes);
    count_block(tiny ? ferry_je_nallocx(rounded, alignment_flags) : bytes, true);
    return block;
}

static void *allocate(ferry_heap *heap, size_t bytes, int alignment_flags, bool *zeros) {
    if (heap == NULL) {
        heap = core.heap != NULL ? core.heap : ferry_heap_default();
        if (heap == NULL) {
            return fail(FERRY_BACKEND, bytes);
        }
    }
    if (bytes > LARGEST_BYTES) {
        ferry_error(FERRY_LIMIT, "%zu bytes are more than an address space holds", bytes);
        return fail(FERRY_LIMIT, bytes);
    }
    if (core_forked()) {
        *zeros = false;
        return malloc(bytes == 0 ? 1 : bytes);
    }
    void *block = take(heap, bytes, alignment_flags, zeros);
    return block == NULL ? fail(FERRY_LIMIT, bytes) : block;
}

void *ferry_heap_malloc(ferry_heap *heap, size_t bytes) {
    bool zeros;
    return allocate(heap, bytes, 0, &zeros);
}

/* Overwrites a whole block with zeros, wherever its pages are. */
static bool clear(void *block, size_t bytes) {
    if (ferry_owns(block) && !core_forked() && crossing_host_acquire(block, bytes, FERRY_WRITE) != FERRY_OK) {
        return false;
    }
    memset(block, 0, bytes);
    return true;
}

void *ferry_heap_calloc(ferry_heap *heap, size_t count, size_t bytes) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        ferry_error(FERRY_LIMIT, "%zu times %zu bytes are more than an address space holds", count, bytes);
        return fail(FERRY_LIMIT, SIZE_MAX);
    }
    bool zeros = false;
    void *block = allocate(heap, total, 0, &zeros);
    if (block != NULL && !zeros && !clear(block, total)) {
        ferry_free(block);
        errno = ENOMEM;
        return NULL;
    }
    return block;
}

void *ferry_heap_aligned_alloc(ferry_heap *heap, size_t alignment, size_t bytes) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FERRY_BLOCK_BYTES) {
        ferry_error(FERRY_INVALID_ARGUMENT, "an alignment of %zu is not a power of two up to %zu", alignment,
                    FERRY_BLOCK_BYTES);
        errno = EINVAL;
        return NULL;
    }
    if (core_forked()) {
        return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    bool zeros;
    return allocate(heap, bytes, MALLOCX_ALIGN(alignment), &zeros);
}

void *ferry_malloc(size_t bytes) {
    return ferry_heap_malloc(NULL, bytes);
}

void *ferry_calloc(size_t count, size_t bytes) {
    return ferry_heap_calloc(NULL, count, bytes);
}

void *ferry_aligned_alloc(size_t alignment, size_t bytes) {
    return ferry_heap_aligned_alloc(NULL, alignment, bytes);
}

void block_recycle(struct region *region, struct storage *storage, void *block) {
    const struct heap_caches caches = heap_caches_get(region->heap);
    if (region->tiny) {
        const size_t bytes = ferry_je_sallocx(block, 0);
        count_block(bytes, false);
        ferry_je_sdallocx(block, bytes, caches.tiny);
        return;
    }
    count_block(atomic_load_explicit(&storage->bytes, memory_order_relaxed), false);
    storage_close(region, storage);
    ferry_je_dallocx(block, caches.pages);
}

void ferry_free(void *block) {
    if (block == NULL) {
        return;
    }
    struct region *region = region_find(block);
    if (region == NULL) {
        if (core_forked()) {
            free(block); /* the child's plain memory */
        }
        return;
    }
    const int saved_errno = errno;
    struct storage *storage = storage_at(region, block);
    if (storage == NULL) {
        ferry_error(FERRY_INVALID_ARGUMENT, "%p is not the start of a live block", block);
    } else if (atomic_load_explicit(&storage->busy, memory_order_acquire) && !core_forked()) {
        deferred_free(region, storage, block);
    } else {
        block_recycle(region, storage, block);
    }
    errno = saved_errno;
}

size_t ferry_usable_size(const void *block) {
    const struct region *region = region_find(block);
    if (block == NULL || region == NULL) {
        return block != NULL && core_forked() ? malloc_usable_size((void *)(uintptr_t)block) : 0;
    }
    if (region->tiny) {
        return ferry_je_sallocx(block, 0);
    }
    const struct storage *storage = storage_at((struct region *)(uintptr_t)region, block);
    return storage == NULL ? 0 : atomic_load_explicit(&storage->bytes, memory_order_relaxed);
}

static bool copy_contents(void *to, void *from, size_t bytes) {
    if (crossing_host_acquire(from, bytes, FERRY_READ) != FERRY_OK ||
        crossing_host_acquire(to, bytes, FERRY_WRITE) != FERRY_OK) {
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

/* A child's: its own blocks are the C library's, and its parent's managed ones cannot be read. */
static void *realloc_forked(void *block, size_t bytes) {
    if (!ferry_owns(block)) {
        return realloc(block, bytes);
    }
    ferry_error(FERRY_UNSUPPORTED, "a forked child cannot read its parent's managed memory");
    errno = ENOMEM;
    return NULL;
}

void *ferry_realloc(void *block, size_t bytes) {
    if (block == NULL) {
        return ferry_malloc(bytes);
    }
    if (core_forked()) {
        return realloc_forked(block, bytes);
    }
    struct region *region = region_find(block);
    if (region == NULL || storage_at(region, block) == NULL) {
        ferry_error(FERRY_INVALID_ARGUMENT, "%p is not the start of a live block", block);
        errno = EINVAL;
        return NULL;
    }
    const size_t old_bytes = ferry_usable_size(block);
    void *moved = ferry_heap_malloc(region->heap, bytes);
    if (moved == NULL) {
        return NULL;
    }
    if (!copy_contents(moved, block, old_bytes < bytes ? old_bytes : bytes)) {
        ferry_free(moved);
        errno = ENOMEM;
        return NULL;
    }
    ferry_free(block);
    return moved;
}

bool ferry_owns(const void *address) {
    return region_find(address) != NULL;
}

ferry_status ferry_storage_find(const void *address, void **base, size_t *bytes) {
    struct storage_place place;
    if (!storage_find(address, &place)) {
        return ferry_error(FERRY_NOT_FOUND, "%p does not lie in a live block of ferry's", address);
    }
    *base = place.base;
    *bytes = place.bytes;
    return FERRY_OK;
}
