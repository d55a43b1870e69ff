#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "core.h"
#include "counters.h"
#include "crossing.h"
#include "deferred.h"
#include "heap_caches.h"
#include "stream.h"

/* jemalloc's own name for "as large as can be": more would overflow its size classes. */
#define LARGEST_BYTES ((size_t)PTRDIFF_MAX / 2)

static void *fail(ferry_status status, size_t bytes) {
    if (status != FERRY_LIMIT) {
        ferry_error(status, "no room for %zu bytes: %s", bytes, ferry_error_detail());
    }
    errno = ENOMEM;
    return NULL;
}

/* Without caches the arena is named all the same. */
static int arena_flags(const ferry_heap *heap, const struct heap_caches *caches, bool tiny) {
    if (caches != NULL) {
        return tiny ? caches->tiny : caches->pages;
    }
    return MALLOCX_ARENA((int)(tiny ? heap->tiny : heap->pages).index) | MALLOCX_TCACHE_NONE;
}

/*
 * Where extents already exceed the limit by what classes round up, jemalloc could serve from them more than the limit
 * of live bytes.
 */
static bool over_limit(size_t bytes) {
    if (region_extent_bytes() <= core.limit_bytes || count_live_bytes() + bytes <= core.limit_bytes) {
        return false;
    }
    ferry_error(FERRY_LIMIT, "%zu bytes more would exceed the limit of %zu bytes of managed memory (FERRY_LIMIT)",
                bytes, core.limit_bytes);
    return true;
}

static void *from_arena(size_t class_bytes, int flags) {
    void *block = over_limit(class_bytes) ? NULL : ferry_je_mallocx(class_bytes, flags);
    if (block != NULL && region_find(block) == NULL) {
        /* jemalloc has taken leave of a thread that runs its last destructors, and names no arena but its own. */
        ferry_je_dallocx(block, MALLOCX_TCACHE_NONE);
        ferry_error(FERRY_OUT_OF_MEMORY, "no managed memory for a thread that is ending");
        return NULL;
    }
    return block;
}

/* A block from the thread's stack of its class, or from jemalloc. */
static inline void *raw(ferry_heap *heap, struct heap_caches *caches, size_t class_bytes, unsigned class_index,
                        int alignment_flags) {
    if (caches != NULL && class_index < NO_CLASS && alignment_flags == 0) {
        void *block = stack_pop(&caches->stacks[class_index]);
        if (block != NULL) {
            return block;
        }
    }
    return from_arena(class_bytes, arena_flags(heap, caches, class_bytes < TINY_BELOW_BYTES) | alignment_flags);
}

/* Gives back what is kept for reuse, then lets extents exceed the limit by what size classes round up, as long as live
 * bytes do not. */
static void *raw_after_trim(ferry_heap *heap, struct heap_caches *caches, size_t bytes, int alignment_flags) {
    (void)ferry_trim();
    void *block = raw(heap, caches, bytes, NO_CLASS, alignment_flags);
    if (block == NULL && count_live_bytes() + bytes <= core.limit_bytes) {
        region_stretch_limit(true);
        block = raw(heap, caches, bytes, NO_CLASS, alignment_flags);
        region_stretch_limit(false);
    }
    return block;
}

/* What kernels still hold counts as live: the last resort is to wait for them. */
static void *raw_at_last(ferry_heap *heap, struct heap_caches *caches, size_t bytes, int alignment_flags) {
    void *block = raw_after_trim(heap, caches, bytes, alignment_flags);
    if (block == NULL && core_attention_to(CORE_DEFERRED)) {
        stream_sync_all();
        block = raw_after_trim(heap, caches, bytes, alignment_flags);
    }
    return block;
}

static inline void count_block(struct thread_counts *counts, size_t bytes, bool allocated) {
    if (bytes >= COUNTED_APART_BYTES) {
        count_large_block(bytes, allocated);
        bytes = 0;
    }
    thread_count_block(counts, bytes, allocated);
}

/* A page of a tiny region belongs to one slab, so one class says the size of all that begins on it. */
static void note_class(const void *block, size_t class_bytes) {
    struct storage *record = storage_at(region_find(block), block);
    if (atomic_load_explicit(&record->bytes, memory_order_relaxed) != class_bytes) {
        atomic_store_explicit(&record->bytes, class_bytes, memory_order_relaxed);
    }
}

/* jemalloc serves alignments beyond a page from its large classes, which begin at four pages. */
static size_t pages_for(size_t bytes, int alignment_flags) {
    enum { LOG_PAGE_BYTES = 12, LEAST_LARGE_PAGES = 4 };
    const size_t pages = storage_pages(bytes);
    return alignment_flags > LOG_PAGE_BYTES && pages < LEAST_LARGE_PAGES ? LEAST_LARGE_PAGES : pages;
}

/* A block for whom devices are expected to be the only users, from where such blocks are recycled: it is in place
 * already. NULL: there is none. */
static void *take_placed(ferry_heap *heap, size_t class_bytes, int alignment_flags) {
    struct arena *placed = heap_placed_arena(heap);
    return placed == NULL
               ? NULL
               : from_arena(class_bytes, MALLOCX_ARENA((int)placed->index) | MALLOCX_TCACHE_NONE | alignment_flags);
}

/* Whole pages, so that jemalloc's small classes put no two storages on one. `block`: where they are already, NULL for
 * wherever there is room. *zeros: the block is known to read as zero. */
static inline void *take_pages(ferry_heap *heap, struct heap_caches *caches, size_t bytes, int alignment_flags,
                               ferry_site site, void *block, bool *zeros) {
    const size_t pages = pages_for(bytes, alignment_flags);
    if (block == NULL) {
        block = raw(heap, caches, pages * FERRY_PAGE_BYTES, pages_class_index(pages), alignment_flags);
    }
    if (block == NULL) {
        block = raw_at_last(heap, caches, pages * FERRY_PAGE_BYTES, alignment_flags);
    }
    if (block != NULL) {
        struct region *region = region_find(block);
        *zeros = storage_open(region, block, bytes, pages);
        storage_at(region, block)->born_at = site;
        count_block(caches_counts(caches), bytes, true);
    }
    return block;
}

/* A block that its site remembers: it may be born where the site's blocks are used. */
static void *take_remembered(ferry_heap *heap, struct heap_caches *caches, size_t bytes, int alignment_flags,
                             ferry_site site, bool *zeros) {
    struct site_outlook born;
    const struct site_key key = site_born(site, bytes, &born);
    void *block = NULL;
    if (born.known && born.next == ENDING_NOTHING && heap->policy == FERRY_POLICY_AUTO) {
        block = take_placed(heap, pages_for(bytes, alignment_flags) * FERRY_PAGE_BYTES, alignment_flags);
    }
    block = take_pages(heap, caches, bytes, alignment_flags, site, block, zeros);
    if (block != NULL) {
        struct storage *storage = storage_at(region_find(block), block);
        storage->site = key;
        storage->born = born;
    }
    return block;
}

/* class_bytes is one of jemalloc's classes below a page. */
static inline void *take_tiny(ferry_heap *heap, struct heap_caches *caches, size_t class_bytes, int alignment_flags) {
    void *block = raw(heap, caches, class_bytes, tiny_class_index(class_bytes), alignment_flags);
    if (block == NULL) {
        block = raw_at_last(heap, caches, class_bytes, alignment_flags);
    }
    if (block != NULL) {
        note_class(block, class_bytes);
        count_block(caches_counts(caches), class_bytes, true);
    }
    return block;
}

static void *take(ferry_heap *heap, size_t bytes, int alignment_flags, ferry_site site, bool *zeros) {
    size_t class_bytes = bytes == 0 ? 1 : bytes;
    if (class_bytes <= LARGEST_TINY_CLASS_BYTES) {
        class_bytes =
            alignment_flags == 0 ? tiny_class_bytes(class_bytes) : ferry_je_nallocx(class_bytes, alignment_flags);
    }
    struct heap_caches *caches = heap_caches_get(heap);
    *zeros = false;
    if (bytes >= REMEMBERED_BYTES) {
        return take_remembered(heap, caches, bytes, alignment_flags, site, zeros);
    }
    /* An alignment can make a page of less. */
    return class_bytes <= LARGEST_TINY_CLASS_BYTES
               ? take_tiny(heap, caches, class_bytes, alignment_flags)
               : take_pages(heap, caches, bytes == 0 ? 1 : bytes, alignment_flags, site, NULL, zeros);
}

static void *allocate(ferry_heap *heap, size_t bytes, int alignment_flags, ferry_site site, bool *zeros) {
    if (bytes > LARGEST_BYTES) {
        ferry_error(FERRY_LIMIT, "%zu bytes are more than an address space holds", bytes);
        return fail(FERRY_LIMIT, bytes);
    }
    if (core_forked()) {
        *zeros = false;
        return malloc(bytes == 0 ? 1 : bytes);
    }
    if (heap == NULL) {
        heap = core.heap != NULL ? core.heap : ferry_heap_default();
        if (heap == NULL) {
            return fail(FERRY_BACKEND, bytes);
        }
    }
    if (core_attention_to(CORE_DEFERRED)) {
        deferred_reap();
    }
    void *block = take(heap, bytes, alignment_flags, site, zeros);
    return block == NULL ? fail(FERRY_LIMIT, bytes) : block;
}

void *ferry_heap_malloc(ferry_heap *heap, size_t bytes) {
    bool zeros;
    return allocate(heap, bytes, 0, CALLER_SITE(), &zeros);
}

/* Overwrites a whole block with zeros, wherever its pages are. */
static bool clear(void *block, size_t bytes, ferry_site site) {
    if (ferry_owns(block) && !core_forked() && crossing_host_acquire(block, bytes, FERRY_WRITE, site) != FERRY_OK) {
        return false;
    }
    memset(block, 0, bytes);
    return true;
}

static void *allocate_zeros(ferry_heap *heap, size_t count, size_t bytes, ferry_site site) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        ferry_error(FERRY_LIMIT, "%zu times %zu bytes are more than an address space holds", count, bytes);
        return fail(FERRY_LIMIT, SIZE_MAX);
    }
    bool zeros = false;
    void *block = allocate(heap, total, 0, site, &zeros);
    if (block != NULL && !zeros && !clear(block, total, site)) {
        ferry_free(block);
        errno = ENOMEM;
        return NULL;
    }
    return block;
}

void *ferry_heap_calloc(ferry_heap *heap, size_t count, size_t bytes) {
    return allocate_zeros(heap, count, bytes, CALLER_SITE());
}

static void *allocate_aligned(ferry_heap *heap, size_t alignment, size_t bytes, ferry_site site) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FERRY_BLOCK_BYTES) {
        ferry_error(FERRY_INVALID_ARGUMENT, "an alignment of %zu is not a power of two up to %zu", alignment,
                    FERRY_BLOCK_BYTES);
        errno = EINVAL;
        return NULL;
    }
    if (core_forked()) {
        return bytes > LARGEST_BYTES ? fail(FERRY_OUT_OF_MEMORY, bytes)
                                     : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    bool zeros;
    /* Every class suits 16; below it jemalloc would take one that no stack is for. */
    return allocate(heap, bytes, alignment <= 16 ? 0 : MALLOCX_ALIGN(alignment), site, &zeros);
}

void *ferry_heap_aligned_alloc(ferry_heap *heap, size_t alignment, size_t bytes) {
    return allocate_aligned(heap, alignment, bytes, CALLER_SITE());
}

/* A block of the thread's stacks, NULL when there is none of that class. bytes > 0. */
static inline void *pop_cached(struct heap_caches *caches, size_t bytes) {
    if (bytes <= LARGEST_TINY_CLASS_BYTES) {
        void *block = stack_pop(&caches->stacks[tiny_class_index(bytes)]);
        if (block != NULL) {
            thread_count_block(caches->counts, tiny_class_bytes(bytes), true);
        }
        return block;
    }
    const size_t pages = storage_pages(bytes);
    void *block = pages > PAGE_CLASSES ? NULL : stack_pop(&caches->stacks[pages_class_index(pages)]);
    if (block != NULL) {
        storage_open(region_find(block), block, bytes, pages);
        count_block(caches->counts, bytes, true);
    }
    return block;
}

/* A cached block of the default heap needs one question and a few loads; everything else goes the long way. */
void *ferry_malloc(size_t bytes) {
    ferry_heap *heap = core.heap;
    if (bytes > 0 && heap != NULL && atomic_load_explicit(&core_attention, memory_order_relaxed) == 0) {
        struct heap_caches *caches = heap_caches_get(heap);
        void *block = caches == NULL ? NULL : pop_cached(caches, bytes);
        if (block != NULL) {
            return block;
        }
    }
    bool zeros;
    return allocate(heap, bytes, 0, CALLER_SITE(), &zeros);
}

void *ferry_calloc(size_t count, size_t bytes) {
    return allocate_zeros(NULL, count, bytes, CALLER_SITE());
}

void *ferry_aligned_alloc(size_t alignment, size_t bytes) {
    return allocate_aligned(NULL, alignment, bytes, CALLER_SITE());
}

static inline void recycle_class(ferry_heap *heap, struct heap_caches *caches, void *block, size_t class_bytes,
                                 unsigned class_index) {
    const int flags = arena_flags(heap, caches, class_bytes < TINY_BELOW_BYTES);
    if (caches != NULL && class_index < NO_CLASS) {
        stack_push(&caches->stacks[class_index], block, class_bytes, flags);
    } else {
        ferry_je_dallocx(block, flags);
    }
}

static inline void recycle(struct region *region, struct storage *storage, void *block) {
    struct heap_caches *caches = heap_caches_get(region->heap);
    const size_t bytes = atomic_load_explicit(&storage->bytes, memory_order_relaxed);
    count_block(caches_counts(caches), bytes, false);
    if (region->tiny) {
        recycle_class(region->heap, caches, block, bytes, tiny_class_index(bytes));
        return;
    }
    const size_t pages = storage->pages;
    if (bytes >= REMEMBERED_BYTES && !storage->fresh) {
        memories_end(region, storage, block);
    }
    storage_close(region, storage);
    recycle_class(region->heap, caches, block, pages * FERRY_PAGE_BYTES, pages_class_index(pages));
}

void block_recycle(struct region *region, struct storage *storage, void *block) {
    recycle(region, storage, block);
}

/* What is no live block of ours: NULL, a child's plain memory, a mistake. */
static void free_other(void *block, const struct region *region) {
    if (region == NULL && core_forked()) {
        free(block);
    } else if (block != NULL) {
        ferry_error(FERRY_INVALID_ARGUMENT, "%p is not the start of a live block", block);
    }
}

static void free_busy(struct region *region, struct storage *storage, void *block) {
    const int saved_errno = errno;
    deferred_free(region, storage, block);
    errno = saved_errno;
}

/* region_find, by way of where the thread's latest free was. */
static inline struct region *region_of_free(const void *block) {
    struct thread *thread = thread_current;
    if (thread == NULL) {
        return region_find(block);
    }
    const uintptr_t offset = (uintptr_t)block - atomic_load_explicit(&thread->last_base, memory_order_relaxed);
    if (offset < atomic_load_explicit(&thread->last_bytes, memory_order_relaxed)) {
        return atomic_load_explicit(&thread->last_region, memory_order_relaxed);
    }
    struct region *region = region_find(block);
    if (region != NULL) {
        atomic_store_explicit(&thread->last_base, (uintptr_t)region->base, memory_order_relaxed);
        atomic_store_explicit(&thread->last_bytes, region->bytes, memory_order_relaxed);
        atomic_store_explicit(&thread->last_region, region, memory_order_relaxed);
    }
    return region;
}

void ferry_free(void *block) {
    struct region *region = region_of_free(block);
    struct storage *storage = region == NULL ? NULL : storage_at(region, block);
    if (storage == NULL) {
        free_other(block, region);
    } else if (atomic_load_explicit(&storage->busy, memory_order_acquire) && !core_forked()) {
        free_busy(region, storage, block);
    } else {
        recycle(region, storage, block);
    }
}

size_t ferry_usable_size(const void *block) {
    const struct region *region = region_find(block);
    if (block == NULL || region == NULL) {
        return block != NULL && core_forked() ? malloc_usable_size((void *)(uintptr_t)block) : 0;
    }
    const struct storage *storage = storage_at((struct region *)(uintptr_t)region, block);
    return storage == NULL ? 0 : atomic_load_explicit(&storage->bytes, memory_order_relaxed);
}

static bool copy_contents(void *to, void *from, size_t bytes, ferry_site site) {
    if (crossing_host_acquire(from, bytes, FERRY_READ, site) != FERRY_OK ||
        crossing_host_acquire(to, bytes, FERRY_WRITE, site) != FERRY_OK) {
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

/* A child's: its own blocks are the C library's, and its parent's managed ones it has only where they were kept. */
static void *realloc_forked(void *block, size_t bytes) {
    if (!ferry_owns(block)) {
        return realloc(block, bytes == 0 ? 1 : bytes);
    }
    ferry_fork_account account;
    ferry_fork_account_get(&account);
    if (account.kept_bytes == 0) {
        ferry_error(FERRY_UNSUPPORTED, "a forked child cannot read its parent's managed memory");
        errno = ENOMEM;
        return NULL;
    }
    const size_t old_bytes = ferry_usable_size(block);
    void *moved = malloc(bytes == 0 ? 1 : bytes);
    if (moved != NULL) {
        memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
        ferry_free(block);
    }
    return moved;
}

void *ferry_realloc(void *block, size_t bytes) {
    const ferry_site site = CALLER_SITE();
    bool zeros;
    if (block == NULL) {
        return allocate(NULL, bytes, 0, site, &zeros);
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
    void *moved = allocate(region->heap, bytes, 0, site, &zeros);
    if (moved == NULL) {
        return NULL;
    }
    if (!copy_contents(moved, block, old_bytes < bytes ? old_bytes : bytes, site)) {
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
