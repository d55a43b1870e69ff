/*
 * Storages: the record of each live allocation, found by any address inside it.
 *
 * A record lies in its region's array, at the index of the storage's first page, so that nothing is allocated for it.
 * In a tiny region, whose storages share pages, there is one record per page instead, kept for the uses of everything
 * on the page.
 *
 * Who writes: the thread that allocates or frees opens and closes the record; uses are written under the movement lock.
 * `busy` is the bridge: set under the lock with the first use, read by free without it.
 */
#ifndef FERRY_ALLOC_STORAGE_H
#define FERRY_ALLOC_STORAGE_H

#include <stdalign.h>
#include <stdatomic.h>

#include "backend.h"
#include "memories.h"
#include "site_table.h"

struct region;

/* Work on a stream up to its sequence number `until`; stream NULL: none. */
struct use {
    ferry_stream *stream;
    uint64_t until;
};

#define STORAGE_READERS 3 /* streams that may read at once without waiting for one another */

/* What a launch reads comes first, on two cache lines, up to the memories' policy and exports. */
struct storage {
    alignas(64) _Atomic size_t
        bytes; /* as asked for; in a tiny region the size class of everything that begins on the page */
    uint32_t pages;
    _Atomic bool busy; /* some use below may not have ended */
    bool fresh; /* no one has acquired it yet, and memories are those of what lay here before; movement lock after
                   opening */
    struct use writer; /* movement lock */
    struct use readers[STORAGE_READERS];
    /* Its pages were all in one state, and are as long as this is the count of the region's residency.changes; 0: not
     * known. Movement lock after opening. */
    uint64_t uniform_at;
    struct memories memories; /* movement lock */

    /* Of a block that its site remembers; site is zeros for others. Written by whoever opens it. */
    struct site_key site;
    struct site_outlook born; /* what its predecessors became */
    ferry_site born_at;
};

/* What an address lies in. */
struct storage_place {
    struct region *region;
    struct storage *storage;
    char *base;   /* first byte */
    size_t bytes; /* as asked for; in a tiny region the page */
};

/* The live storage around an address. false: none. No lock; the storage must not be freed meanwhile. */
bool storage_find(const void *address, struct storage_place *out);

/* Opens the record of a new block of `pages` pages, the first `bytes` of which were asked for, in a region that is not
 * tiny; true when its pages were never used, so that they read as zero. */
bool storage_open(struct region *region, void *block, size_t bytes, size_t pages);

/* Closes it. */
void storage_close(struct region *region, struct storage *storage);

/* Marks a block that has been freed but still waits for kernels: it can be found no more. Nothing in a tiny region. */
void storage_retire(struct region *region, struct storage *storage);

/* Pages that `bytes` take. */
static inline size_t storage_pages(size_t bytes) {
    return (bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES;
}

#endif
