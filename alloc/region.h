/*
 * Regions: managed reservations, carved into extents for one arena. All bookkeeping is in ordinary memory, mapped once
 * with the region and touched only where it is used.
 *
 * Locks: an arena's regions are carved under its region lock, taken inside jemalloc's own. Lookup by address takes no
 * lock.
 */
#ifndef FERRY_ALLOC_REGION_H
#define FERRY_ALLOC_REGION_H

#include <pthread.h>

#include "residency.h"
#include "storage.h"

/* What a launch reads comes first, on one cache line. */
struct region {
    char *base;
    /* Storages; see storage.h for who may write what. */
    struct storage *storages;   /* one per page, in use where a storage begins; in a tiny region, one per page */
    _Atomic uint8_t *starts;    /* one per page: a storage begins here */
    struct residency residency; /* movement lock */
    ferry_heap *heap;
    bool tiny;  /* storages under a page: they share pages and never migrate */
    bool homed; /* mapped on both sides by advice */

    _Atomic uint32_t *covering;  /* one per block: the first page of the storage that covers the block's first byte */
    _Atomic size_t touched_page; /* pages at and above it have never been part of a storage: they still read as zero */
    size_t bytes, pages;         /* multiples of a block */
    struct region *next;         /* of the arena's list, newest first; region lock */

    /* Carving; region lock. Pages at and above the top are free. */
    size_t top_page, used_pages;
    uint64_t *used; /* one bit per page below the top */

    void *tables; /* the mapping that holds the arrays above */
    size_t tables_bytes;
};

/* The regions of one arena. */
struct region_list {
    pthread_mutex_t lock;
    struct region *first;
    size_t next_bytes; /* how large the next region will be at least */
    ferry_heap *heap;
    bool tiny, host_homed;
};

void region_list_init(struct region_list *list, ferry_heap *heap, bool tiny, bool host_homed);
/* Releases every region, whatever it holds. */
void region_list_finish(struct region_list *list);

/* `bytes` and `alignment` are multiples of a page. NULL, with the error's detail set, when there is no room. */
void *region_carve(struct region_list *list, size_t bytes, size_t alignment);
void region_give_back(struct region_list *list, void *extent, size_t bytes);

/* Releases the regions that are wholly free. */
void region_trim(struct region_list *list);

/* Address → region: two levels of pointers, one leaf entry per block, for 47-bit user addresses. Read without a lock.
 */
#define REGION_BLOCK_BITS 21
#define REGION_LEAF_BITS 13
#define REGION_ROOT_BITS (47 - REGION_BLOCK_BITS - REGION_LEAF_BITS)
typedef _Atomic(struct region *) region_entry;
extern _Atomic(region_entry *) region_root[1 << REGION_ROOT_BITS];

/* The region around an address, NULL where there is none. */
static inline struct region *region_find(const void *address) {
    const uintptr_t block = (uintptr_t)address >> REGION_BLOCK_BITS;
    if (block >> REGION_LEAF_BITS >= (uintptr_t)1 << REGION_ROOT_BITS) {
        return NULL;
    }
    region_entry *leaf = atomic_load_explicit(&region_root[block >> REGION_LEAF_BITS], memory_order_acquire);
    if (leaf == NULL) {
        return NULL;
    }
    return atomic_load_explicit(&leaf[block & (((uintptr_t)1 << REGION_LEAF_BITS) - 1)], memory_order_acquire);
}

/* In a forked child, which does not inherit the mappings: keeps the regions' addresses from becoming somebody else's,
 * whose blocks would be taken for ours. */
void region_occupy_addresses(void);

/* Bytes in extents and in regions, of all lists. */
size_t region_extent_bytes(void);
size_t region_reserved_bytes(void);

/* Lets extents exceed the limit by what jemalloc's size classes round up. Of the calling thread, until set back. */
void region_stretch_limit(bool stretch);

/* Values of region->starts. A retired storage has been freed but still holds its pages. */
enum { START_NONE, START_LIVE, START_RETIRED };

static inline size_t region_page(const struct region *region, const void *address) {
    return (size_t)((const char *)address - region->base) / FERRY_PAGE_BYTES;
}

/* The first page of the live storage around a page of a region that is not tiny; SIZE_MAX: there is none. */
size_t storage_first_page(const struct region *region, size_t page);

/* The live storage around an address of a region that is not tiny; NULL: there is none. Mostly one begins on the
 * address's own page. */
static inline struct storage *storage_around(const struct region *region, const void *address) {
    size_t page = region_page(region, address);
    if (atomic_load_explicit(&region->starts[page], memory_order_acquire) != START_LIVE) {
        page = storage_first_page(region, page);
    }
    return page == SIZE_MAX ? NULL : &region->storages[page];
}

/* The live storage that begins at `block`, NULL where none does; in a tiny region the page's record, never NULL. */
static inline struct storage *storage_at(const struct region *region, const void *block) {
    const size_t page = region_page(region, block);
    if (region->tiny) {
        return &region->storages[page];
    }
    const bool starts = (uintptr_t)block % FERRY_PAGE_BYTES == 0 &&
                        atomic_load_explicit(&region->starts[page], memory_order_acquire) == START_LIVE;
    return starts ? &region->storages[page] : NULL;
}

#endif
