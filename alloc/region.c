#include "region.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "core.h"
#include "thread.h"

#define FIRST_REGION_BYTES ((size_t)1 << 30)
#define FIRST_TINY_REGION_BYTES ((size_t)64 << 20)
#define LARGEST_STEP_BYTES ((size_t)64 << 30)

_Atomic(region_entry *) region_root[1 << REGION_ROOT_BITS];

static _Atomic size_t extent_bytes, reserved_bytes;
static _Thread_local bool stretched;

size_t region_extent_bytes(void) {
    return atomic_load_explicit(&extent_bytes, memory_order_relaxed);
}

size_t region_reserved_bytes(void) {
    return atomic_load_explicit(&reserved_bytes, memory_order_relaxed);
}

void region_stretch_limit(bool stretch) {
    stretched = stretch;
}

static void *map_zeroed(size_t bytes) {
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

/* Leaves are made on demand and stay: two regions of different lists may race for one. */
static region_entry *leaf_of(uintptr_t block) {
    _Atomic(region_entry *) *slot = &region_root[block >> REGION_LEAF_BITS];
    region_entry *leaf = atomic_load_explicit(slot, memory_order_acquire);
    if (leaf != NULL) {
        return leaf;
    }
    const size_t bytes = sizeof(region_entry) << REGION_LEAF_BITS;
    region_entry *fresh = map_zeroed(bytes);
    if (fresh != NULL && !atomic_compare_exchange_strong(slot, &leaf, fresh)) {
        munmap(fresh, bytes);
        return leaf;
    }
    return fresh;
}

/* Where something is mapped already, the rest. */
static void occupy(uintptr_t block, size_t count) {
    void *address = (void *)(block << REGION_BLOCK_BITS);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap(address, count << REGION_BLOCK_BITS, PROT_NONE, flags, -1, 0) == MAP_FAILED && count > 1) {
        occupy(block, count / 2);
        occupy(block + count / 2, count - count / 2);
    }
}

/* Occupies the blocks of one region, from `index` on; returns the end of the run. */
static size_t occupy_run(region_entry *leaf, uintptr_t first_block, size_t index) {
    struct region *region = atomic_load_explicit(&leaf[index], memory_order_relaxed);
    size_t end = index + 1;
    while (end < (size_t)1 << REGION_LEAF_BITS && atomic_load_explicit(&leaf[end], memory_order_relaxed) == region) {
        end++;
    }
    if (region != NULL) {
        occupy(first_block + index, end - index);
    }
    return end;
}

void region_occupy_addresses(void) {
    for (uintptr_t i = 0; i < (uintptr_t)1 << REGION_ROOT_BITS; i++) {
        region_entry *leaf = atomic_load_explicit(&region_root[i], memory_order_relaxed);
        size_t index = leaf == NULL ? (size_t)1 << REGION_LEAF_BITS : 0;
        while (index < (size_t)1 << REGION_LEAF_BITS) {
            index = occupy_run(leaf, i << REGION_LEAF_BITS, index);
        }
    }
}

static bool register_blocks(char *base, size_t bytes, struct region *region) {
    for (size_t offset = 0; offset < bytes; offset += FERRY_BLOCK_BYTES) {
        const uintptr_t block = (uintptr_t)(base + offset) >> REGION_BLOCK_BITS;
        region_entry *leaf = block >> REGION_LEAF_BITS >= (uintptr_t)1 << REGION_ROOT_BITS ? NULL : leaf_of(block);
        if (leaf == NULL) {
            return false;
        }
        atomic_store_explicit(&leaf[block & (((uintptr_t)1 << REGION_LEAF_BITS) - 1)], region, memory_order_release);
    }
    return true;
}

/* The arrays, each beginning on a cache line; with `tables` NULL only their length is found. */
static size_t lay_out_tables(struct region *region, char *tables) {
    const size_t blocks = region->bytes / FERRY_BLOCK_BYTES;
    size_t at = 0;
#define PLACE(field, count)                                                                                            \
    do {                                                                                                               \
        if (tables != NULL) {                                                                                          \
            *(void **)&(field) = tables + at;                                                                          \
        }                                                                                                              \
        at += ((count) * sizeof *(field) + 63) & ~(size_t)63;                                                          \
    } while (0)
    PLACE(region->storages, region->pages);
    PLACE(region->starts, region->pages);
    PLACE(region->covering, blocks);
    PLACE(region->used, region->pages / 64);
    PLACE(region->residency.blocks, blocks);
    PLACE(region->residency.pages, region->pages);
#undef PLACE
    return at;
}

static ferry_status map_tables(struct region *region) {
    region->tables_bytes = lay_out_tables(region, NULL);
    region->tables = map_zeroed(region->tables_bytes);
    if (region->tables == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no address space for the tables of a region of %zu bytes",
                           region->bytes);
    }
    lay_out_tables(region, region->tables);
    return FERRY_OK;
}

static void region_destroy(struct region *region) {
    thread_forget_region(region);
    register_blocks(region->base, region->bytes, NULL);
    /* A driver that will not take it back is ending the process: there is nobody left to tell. */
    (void)core.backend->release(region->base, region->bytes);
    munmap(region->tables, region->tables_bytes);
    atomic_fetch_sub(&reserved_bytes, region->bytes);
    free(region);
}

static ferry_status region_create(struct region_list *list, size_t bytes, struct region **out) {
    struct region *region = aligned_alloc(64, (sizeof *region + 63) & ~(size_t)63);
    if (region == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a region's record");
    }
    *region = (struct region){.bytes = bytes};
    region->residency.changes = 1; /* a storage's record that is all zeros knows nothing of it */
    region->pages = bytes / FERRY_PAGE_BYTES;
    region->heap = list->heap;
    region->tiny = list->tiny;
    region->homed = list->host_homed;
    ferry_status status = map_tables(region);
    if (status != FERRY_OK) {
        goto free_record;
    }
    void *base = NULL;
    status = core.backend->reserve(bytes, list->host_homed, &base);
    if (status != FERRY_OK) {
        goto unmap_tables;
    }
    region->base = base;
    if (!register_blocks(region->base, bytes, region)) {
        status = ferry_error(FERRY_OUT_OF_MEMORY, "no memory to register a region of %zu bytes", bytes);
        goto release;
    }
    atomic_fetch_add(&reserved_bytes, bytes);
    *out = region;
    return FERRY_OK;
release:
    register_blocks(region->base, bytes, NULL);
    (void)core.backend->release(base, bytes);
unmap_tables:
    munmap(region->tables, region->tables_bytes);
free_record:
    free(region);
    return status;
}

/* Of the next region: at least twice as large as the last one that is there. */
static size_t step_bytes(const struct region_list *list) {
    if (list->first == NULL) {
        return list->tiny ? FIRST_TINY_REGION_BYTES : FIRST_REGION_BYTES;
    }
    return list->first->bytes < LARGEST_STEP_BYTES / 2 ? 2 * list->first->bytes : LARGEST_STEP_BYTES;
}

void region_list_init(struct region_list *list, ferry_heap *heap, bool tiny, bool host_homed) {
    *list = (struct region_list){.heap = heap, .tiny = tiny, .host_homed = host_homed};
    list->next_bytes = step_bytes(list);
    pthread_mutex_init(&list->lock, NULL);
}

void region_list_finish(struct region_list *list) {
    while (list->first != NULL) {
        struct region *region = list->first;
        list->first = region->next;
        atomic_fetch_sub(&extent_bytes, region->used_pages * FERRY_PAGE_BYTES);
        region_destroy(region);
    }
    pthread_mutex_destroy(&list->lock);
}

static bool bit_get(const uint64_t *bits, size_t at) {
    return (bits[at / 64] >> (at % 64) & 1) != 0;
}

static void bits_set(uint64_t *bits, size_t first, size_t end, bool value) {
    for (size_t at = first; at < end;) {
        const bool whole = at % 64 == 0 && end - at >= 64;
        const uint64_t mask = whole ? UINT64_MAX : (uint64_t)1 << (at % 64);
        bits[at / 64] = value ? bits[at / 64] | mask : bits[at / 64] & ~mask;
        at += whole ? 64 : 1;
    }
}

static size_t align_page(const struct region *region, size_t page, size_t alignment) {
    const uintptr_t address = (uintptr_t)region->base + page * FERRY_PAGE_BYTES;
    return ((address + alignment - 1) / alignment * alignment - (uintptr_t)region->base) / FERRY_PAGE_BYTES;
}

/* First fit among the pages that were given back; region->pages when there is none. */
static size_t find_hole(const struct region *region, size_t pages, size_t alignment) {
    size_t first = align_page(region, 0, alignment);
    while (first + pages <= region->top_page) {
        size_t end = first;
        while (end < first + pages && !bit_get(region->used, end)) {
            end++;
        }
        if (end == first + pages) {
            return first;
        }
        while (end < region->top_page && (end % 64 == 0 && region->used[end / 64] == UINT64_MAX)) {
            end += 64;
        }
        first = align_page(region, end + 1, alignment);
    }
    return region->pages;
}

static void *carve_from(struct region *region, size_t pages, size_t alignment) {
    const size_t above = align_page(region, region->top_page, alignment);
    size_t first = above;
    if (above + pages > region->pages) {
        first = find_hole(region, pages, alignment);
        if (first == region->pages) {
            return NULL;
        }
    } else {
        region->top_page = above + pages;
    }
    bits_set(region->used, first, first + pages, true);
    region->used_pages += pages;
    return region->base + first * FERRY_PAGE_BYTES;
}

static size_t round_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Room for the request now, and for a while, within what the limit can ever need. */
static ferry_status grow(struct region_list *list, size_t bytes) {
    size_t wanted = list->next_bytes;
    const size_t useful = core.limit_bytes + core.limit_bytes / 4 + 4 * FERRY_BLOCK_BYTES;
    wanted = wanted > useful ? useful : wanted;
    wanted = round_up(wanted > bytes ? wanted : bytes, FERRY_BLOCK_BYTES);
    struct region *region = NULL;
    ferry_status status = region_create(list, wanted, &region);
    if (status != FERRY_OK && wanted > round_up(bytes, FERRY_BLOCK_BYTES)) {
        status = region_create(list, round_up(bytes, FERRY_BLOCK_BYTES), &region);
    }
    if (status != FERRY_OK) {
        return status;
    }
    region->next = list->first;
    list->first = region;
    list->next_bytes = step_bytes(list);
    return FERRY_OK;
}

static bool within_limit(size_t bytes) {
    const size_t slack = stretched ? core.limit_bytes / 4 + 4 * FERRY_BLOCK_BYTES : 0;
    const size_t extents = atomic_fetch_add(&extent_bytes, bytes) + bytes;
    if (extents > core.limit_bytes + slack) {
        atomic_fetch_sub(&extent_bytes, bytes);
        ferry_error(FERRY_LIMIT, "%zu bytes more would exceed the limit of %zu bytes of managed memory (FERRY_LIMIT)",
                    bytes, core.limit_bytes);
        return false;
    }
    return true;
}

void *region_carve(struct region_list *list, size_t bytes, size_t alignment) {
    if (!within_limit(bytes)) {
        return NULL;
    }
    const size_t pages = bytes / FERRY_PAGE_BYTES;
    void *extent = NULL;
    pthread_mutex_lock(&list->lock);
    for (struct region *region = list->first; region != NULL && extent == NULL; region = region->next) {
        extent = carve_from(region, pages, alignment);
    }
    if (extent == NULL && grow(list, bytes) == FERRY_OK) {
        extent = carve_from(list->first, pages, alignment);
    }
    pthread_mutex_unlock(&list->lock);
    if (extent == NULL) {
        atomic_fetch_sub(&extent_bytes, bytes);
    }
    return extent;
}

/* What is free at the end is free for an extent of any size. Carving raised the top by as many pages. */
static void lower_top(struct region *region) {
    size_t top = region->used_pages == 0 ? 0 : region->top_page;
    while (top > 0 && !bit_get(region->used, top - 1)) {
        top -= top % 64 == 0 && region->used[top / 64 - 1] == 0 ? 64 : 1;
    }
    region->top_page = top;
}

void region_give_back(struct region_list *list, void *extent, size_t bytes) {
    struct region *region = region_find(extent);
    const size_t first = region_page(region, extent);
    const size_t pages = bytes / FERRY_PAGE_BYTES;
    pthread_mutex_lock(&list->lock);
    bits_set(region->used, first, first + pages, false);
    region->used_pages -= pages;
    lower_top(region);
    pthread_mutex_unlock(&list->lock);
    atomic_fetch_sub(&extent_bytes, bytes);
}

void region_trim(struct region_list *list) {
    struct region *empty = NULL;
    pthread_mutex_lock(&list->lock);
    for (struct region **link = &list->first; *link != NULL;) {
        struct region *region = *link;
        if (region->used_pages == 0) {
            *link = region->next;
            region->next = empty;
            empty = region;
        } else {
            link = &region->next;
        }
    }
    if (empty != NULL) {
        list->next_bytes = step_bytes(list);
    }
    pthread_mutex_unlock(&list->lock);
    while (empty != NULL) {
        struct region *region = empty;
        empty = region->next;
        region_destroy(region);
    }
}
