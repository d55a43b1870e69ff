#include "ordinary.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define NO_ARENA (-1)

/* The index plus 1; 0 before the first large block, NO_ARENA where there can be none. */
static _Atomic int large_arena;

/* What is freed there is kept as long as anything else in jemalloc: what is oversized it would give back at once, and
 * every fill of the next block would fault the pages in anew. */
static void keep_oversized(unsigned arena) {
    char path[48];
    size_t never = SIZE_MAX;
    snprintf(path, sizeof path, "arena.%u.oversize_threshold", arena);
    (void)ferry_plain_mallctl(path, NULL, NULL, &never, sizeof never);
}

static int make_arena(void) {
    unsigned index = 0;
    size_t bytes = sizeof index;
    const bool made = ferry_plain_mallctl("arenas.create", &index, &bytes, NULL, 0) == 0;
    const int mine = made ? (int)index + 1 : NO_ARENA;
    int first = 0;
    if (made) {
        keep_oversized(index);
    }
    /* Another thread's may have come first: then this one stays empty. */
    return atomic_compare_exchange_strong(&large_arena, &first, mine) ? mine : first;
}

int ordinary_flags(size_t bytes, size_t alignment) {
    int flags = alignment > 1 ? MALLOCX_ALIGN(alignment) : 0;
    if (bytes >= ORDINARY_EXTENT_BYTES) {
        int arena = atomic_load_explicit(&large_arena, memory_order_relaxed);
        arena = arena == 0 ? make_arena() : arena;
        flags |= arena == NO_ARENA ? 0 : MALLOCX_ARENA(arena - 1) | MALLOCX_TCACHE_NONE;
    }
    return flags;
}

void *ordinary_allocate(size_t bytes, size_t alignment, bool zeros) {
    void *block = NULL;
    if (bytes <= PTRDIFF_MAX) {
        block =
            ferry_plain_mallocx(bytes == 0 ? 1 : bytes, ordinary_flags(bytes, alignment) | (zeros ? MALLOCX_ZERO : 0));
    }
    if (block == NULL) {
        errno = ENOMEM;
    }
    return block;
}

static uint64_t statistic(unsigned arena, const char *name, size_t bytes) {
    char path[96];
    uint64_t value = 0;
    snprintf(path, sizeof path, "stats.arenas.%u.%s", arena, name);
    (void)ferry_plain_mallctl(path, &value, &bytes, NULL, 0);
    return value;
}

static unsigned number(const char *name) {
    unsigned value = 0;
    size_t bytes = sizeof value;
    (void)ferry_plain_mallctl(name, &value, &bytes, NULL, 0);
    return value;
}

/* Of all arenas less the one for large blocks. */
static uint64_t small_statistic(const char *name, size_t bytes) {
    const uint64_t all = statistic(MALLCTL_ARENAS_ALL, name, bytes);
    const int arena = atomic_load(&large_arena);
    return arena > 0 ? all - statistic((unsigned)arena - 1, name, bytes) : all;
}

static uint64_t class_statistic(const char *kind, unsigned class, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "%s.%u.%s", kind, class, name);
    return small_statistic(path, sizeof(uint64_t));
}

/* `kind`: jemalloc's "bins" or "lextents", whose sizes are at `sizes`. What a thread's cache takes and gives back in
 * batches are its allocations; the program's are requests. Adds also to `live_blocks`. */
static void add_classes(ferry_run_heap *out, uint64_t *live_blocks, const char *count, const char *sizes,
                        const char *kind) {
    const unsigned n = number(count);
    for (unsigned i = 0; i < n; i++) {
        char path[64];
        size_t class_bytes = 0, length = sizeof class_bytes;
        snprintf(path, sizeof path, "%s.%u.size", sizes, i);
        (void)ferry_plain_mallctl(path, &class_bytes, &length, NULL, 0);
        const uint64_t allocations = class_statistic(kind, i, "nrequests");
        *live_blocks += class_statistic(kind, i, "nmalloc") - class_statistic(kind, i, "ndalloc");
        ferry_run_class *into = &out->sizes[ferry_run_class_of(class_bytes)];
        into->allocations += allocations;
        into->bytes += allocations * class_bytes;
        out->allocations += allocations;
        out->allocated_bytes += allocations * class_bytes;
    }
}

void ordinary_count(ferry_run_heap *out) {
    uint64_t epoch = 1, live_blocks = 0;
    size_t epoch_bytes = sizeof epoch;
    *out = (ferry_run_heap){0};
    (void)ferry_plain_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    (void)ferry_plain_mallctl("epoch", &epoch, &epoch_bytes, &epoch, sizeof epoch);
    add_classes(out, &live_blocks, "arenas.nbins", "arenas.bin", "bins");
    add_classes(out, &live_blocks, "arenas.nlextents", "arenas.lextent", "lextents");
    out->frees = out->allocations > live_blocks ? out->allocations - live_blocks : 0;
    out->live_bytes =
        small_statistic("small.allocated", sizeof(size_t)) + small_statistic("large.allocated", sizeof(size_t));
}
