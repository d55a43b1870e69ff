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

struct region {
    char *base;
    size_t bytes, pages; /* multiples of a block */
    ferry_heap *heap;
    bool tiny;           /* storages under a page: they share pages and never migrate */
    struct region *next; /* of the arena's list, newest first; region lock */

    /* Carving; region lock. Pages at and above `top` were never handed out since the region was last empty. */
    size_t top_page, used_pages;
    uint64_t *used; /* one bit per page below the top */

    /* Storages; see storage.h for who may write what. */
    _Atomic size_t touched_page; /* pages at and above it have never been part of a storage: they still read as zero */
    _Atomic uint8_t *starts;     /* one per page: a storage begins here */
    _Atomic uint32_t *covering;  /* one per block: the first page of the storage that covers the block's first byte */
    struct storage *storages;    /* one per page, in use where a storage begins; in a tiny region, one per page */

    struct residency residency; /* movement lock */

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
ferry_status region_trim(struct region_list *list);

/* The region around an address, NULL where there is none. A few nanoseconds, no lock. */
struct region *region_find(const void *address);

/* Bytes in extents and in regions, of all lists. */
size_t region_extent_bytes(void);
size_t region_reserved_bytes(void);

/* Lets extents exceed the limit by what jemalloc's size classes round up. Of the calling thread, until set back. */
void region_stretch_limit(bool stretch);

static inline size_t region_page(const struct region *region, const void *address) {
    return (size_t)((const char *)address - region->base) / FERRY_PAGE_BYTES;
}

#endif
