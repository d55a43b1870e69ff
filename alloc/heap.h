/* Heaps: jemalloc arenas for storages of a page and more, for tiny ones, and for those that live on devices. */
#ifndef FERRY_ALLOC_HEAP_H
#define FERRY_ALLOC_HEAP_H

#include <jemalloc/jemalloc.h>

#include "region.h"

#define TINY_BELOW_BYTES FERRY_PAGE_BYTES

/* The hooks come first: jemalloc hands them back, and so the arena is found. */
struct arena {
    extent_hooks_t hooks;
    unsigned index; /* jemalloc's */
    struct region_list regions;
};

struct ferry_heap {
    char name[64];
    ferry_policy policy;
    uint32_t slot;   /* index in the table of heaps and in every thread's caches; reused */
    uint64_t serial; /* never reused: tells a slot's heaps apart */
    struct arena pages, tiny;
    /* Blocks that only devices use, so that they are recycled where they are: made when the first one is wanted. */
    struct arena placed;
    _Atomic bool has_placed;
};

/* The arena of blocks that only devices use; NULL when it cannot be made. */
struct arena *heap_placed_arena(ferry_heap *heap);

void heap_lock(void);
void heap_unlock(void);

/* Whether the slot's heap is still the one of this serial. Heaps' lock held. */
bool heap_is_live(uint32_t slot, uint64_t serial);

/* The regions of every heap. Heaps' lock held. */
void heap_visit_lists(void (*visit)(struct region_list *list));

ferry_status heap_create_default(ferry_heap **out);

/* Counts what is still allocated in a heap that goes as freed. Its caches have been dropped, nobody uses it. */
void heap_count_out(const ferry_heap *heap);

#endif
