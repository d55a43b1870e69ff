#include "storage.h"

#include <assert.h>
#include <string.h>
#include <wchar.h>

#include "hot.h"
#include "region.h"

/* The last page in [first, page] where a storage begins; SIZE_MAX when none does. */
static size_t last_start(const struct region *region, size_t first, size_t page) {
    for (size_t at = page + 1; at > first; at--) {
        if (atomic_load_explicit(&region->starts[at - 1], memory_order_relaxed) != 0) {
            return at - 1;
        }
    }
    return SIZE_MAX;
}

static bool covers(const struct region *region, size_t first_page, size_t page) {
    return atomic_load_explicit(&region->starts[first_page], memory_order_acquire) == START_LIVE &&
           page >= first_page && page < first_page + region->storages[first_page].pages;
}

size_t storage_first_page(const struct region *region, size_t page) {
    const size_t block = page / PAGES_PER_BLOCK;
    size_t first = last_start(region, block * PAGES_PER_BLOCK, page);
    if (first == SIZE_MAX) {
        first = atomic_load_explicit(&region->covering[block], memory_order_relaxed);
    }
    return covers(region, first, page) ? first : SIZE_MAX;
}

HOT bool storage_find(const void *address, struct storage_place *out) {
    struct region *region = region_find(address);
    if (region == NULL) {
        return false;
    }
    if (region->tiny) {
        const size_t page = region_page(region, address);
        *out = (struct storage_place){region, &region->storages[page], region->base + page * FERRY_PAGE_BYTES,
                                      FERRY_PAGE_BYTES};
        return true;
    }
    struct storage *storage = storage_around(region, address);
    if (storage == NULL) {
        return false;
    }
    const size_t first = (size_t)(storage - region->storages);
    *out = (struct storage_place){region, storage, region->base + first * FERRY_PAGE_BYTES,
                                  atomic_load_explicit(&storage->bytes, memory_order_relaxed)};
    return true;
}

/* Notes that pages below `end_page` have been part of a storage; true when none from first_page on had been. */
static bool touch_pages(struct region *region, size_t first_page, size_t end_page) {
    size_t touched = atomic_load_explicit(&region->touched_page, memory_order_relaxed);
    while (touched < end_page) {
        if (atomic_compare_exchange_weak(&region->touched_page, &touched, end_page)) {
            return touched <= first_page;
        }
    }
    return false;
}

/* The blocks whose first byte is the storage's are written by its owner alone, so a plain fill will do. */
static void cover_blocks(struct region *region, size_t first_page, size_t pages) {
    static_assert(sizeof(wchar_t) == sizeof *region->covering, "wmemset fills 32-bit entries");
    const size_t first_block = first_page / PAGES_PER_BLOCK + 1;
    const size_t end_block = (first_page + pages - 1) / PAGES_PER_BLOCK + 1;
    if (first_block < end_block) {
        wmemset((wchar_t *)&region->covering[first_block], (wchar_t)first_page, end_block - first_block);
    }
}

/* Whether the record reads already as that of a new block, whose site is not remembered. */
static bool is_as_new(const struct storage *storage, size_t bytes, size_t pages) {
    return storage->pages == pages && storage->fresh && storage->born_at == 0 &&
           atomic_load_explicit(&storage->bytes, memory_order_relaxed) == bytes;
}

bool storage_open(struct region *region, void *block, size_t bytes, size_t pages) {
    const size_t first = region_page(region, block);
    struct storage *storage = &region->storages[first];
    /* A small block that goes back and forth is not written again: loads are cheaper than stores that they wait for. */
    if (!is_as_new(storage, bytes, pages)) {
        storage->pages = (uint32_t)pages;
        storage->fresh = true;
        storage->born_at = 0;
        storage->site = (struct site_key){0};
        storage->born = (struct site_outlook){0};
        storage->uniform_at = 0; /* of other pages */
        atomic_store_explicit(&storage->bytes, bytes, memory_order_relaxed);
    }
    cover_blocks(region, first, pages);
    atomic_store_explicit(&region->starts[first], START_LIVE, memory_order_release);
    return touch_pages(region, first, first + pages);
}

void storage_close(struct region *region, struct storage *storage) {
    const size_t first = (size_t)(storage - region->storages);
    atomic_store_explicit(&region->starts[first], START_NONE, memory_order_release);
}

void storage_retire(struct region *region, struct storage *storage) {
    if (!region->tiny) {
        atomic_store_explicit(&region->starts[storage - region->storages], START_RETIRED, memory_order_release);
    }
}
