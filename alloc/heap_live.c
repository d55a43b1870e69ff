/* What is still allocated in a heap that goes. */
#include <stdio.h>

#include "counters.h"
#include "heap.h"
#include "thread.h"

struct live {
    uint64_t blocks, small_bytes, large_bytes;
};

/* Frees that waited for kernels have been forgotten: retired storages are live ones here. */
static void add_storages(const struct region *region, struct live *live) {
    const size_t end = atomic_load_explicit(&region->touched_page, memory_order_relaxed);
    for (size_t page = 0; page < end; page++) {
        if (atomic_load_explicit(&region->starts[page], memory_order_relaxed) != START_NONE) {
            const size_t bytes = atomic_load_explicit(&region->storages[page].bytes, memory_order_relaxed);
            *(bytes >= COUNTED_APART_BYTES ? &live->large_bytes : &live->small_bytes) += bytes;
            live->blocks++;
        }
    }
}

static void add_regions(const struct region_list *list, struct live *live) {
    for (const struct region *region = list->first; region != NULL; region = region->next) {
        add_storages(region, live);
    }
}

static uint64_t arena_stat(const struct arena *arena, const char *which, size_t value_bytes) {
    char name[64];
    uint64_t value = 0;
    snprintf(name, sizeof name, "stats.arenas.%u.small.%s", arena->index, which);
    (void)ferry_je_mallctl(name, &value, &value_bytes, NULL, 0);
    return value;
}

/* Only jemalloc knows which tiny blocks are allocated. Those in caches, which it counts as well, have come back. To
 * tell it goes through the arenas of all heaps: it is not asked where there can be none. */
static void add_tiny(const struct arena *arena, struct live *live) {
    if (arena->regions.first == NULL) {
        return;
    }
    uint64_t epoch = 1;
    size_t epoch_bytes = sizeof epoch;
    (void)ferry_je_mallctl("epoch", &epoch, &epoch_bytes, &epoch, sizeof epoch);
    live->small_bytes += arena_stat(arena, "allocated", sizeof(size_t));
    live->blocks += arena_stat(arena, "nmalloc", sizeof(uint64_t)) - arena_stat(arena, "ndalloc", sizeof(uint64_t));
}

void heap_count_out(const ferry_heap *heap) {
    struct live live = {0};
    add_regions(&heap->pages.regions, &live);
    if (atomic_load(&heap->has_placed)) {
        add_regions(&heap->placed.regions, &live);
    }
    add_tiny(&heap->tiny, &live);
    thread_count_without(0, live.blocks, (uint64_t)0 - live.small_bytes);
    count_large_block(live.large_bytes, false);
}
