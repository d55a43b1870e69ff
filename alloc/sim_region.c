#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "descriptor.h"
#include "sim_machine.h"

/* What a region is made of, before it is published. NULL and -1: not there. */
struct parts {
    char *primary, *alias;
    struct sim_page *pages;
    struct sim_block *blocks;
    int file;
};

static size_t pages_bytes(size_t bytes) {
    return bytes / FERRY_PAGE_BYTES * sizeof(struct sim_page);
}

static size_t blocks_bytes(size_t bytes) {
    return bytes / FERRY_BLOCK_BYTES * sizeof(struct sim_block);
}

static void *map_or_null(size_t bytes, int protection, int flags, int file) {
    void *at = mmap(NULL, bytes, protection, flags, file, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Ordinary zeroed memory that costs nothing until it is used. */
static void *map_table(size_t bytes) {
    return map_or_null(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* Maps the file at a multiple of the block size: a larger hole is reserved, the file put into it, the ends cut off. */
static char *map_aligned(int file, size_t bytes) {
    size_t slack = FERRY_BLOCK_BYTES;
    char *hole = map_or_null(bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (!hole)
        return NULL;
    size_t before = (slack - (uintptr_t)hole % slack) % slack;
    char *base = hole + before;
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(hole, bytes + slack);
        return NULL;
    }
    if (before)
        munmap(hole, before);
    munmap(base + bytes, slack - before);
    return base;
}

static void parts_finish(struct parts *parts, size_t bytes) {
    if (parts->blocks)
        munmap(parts->blocks, blocks_bytes(bytes));
    if (parts->pages)
        munmap(parts->pages, pages_bytes(bytes));
    if (parts->alias)
        munmap(parts->alias, bytes);
    if (parts->primary)
        munmap(parts->primary, bytes);
    if (parts->file >= 0)
        close(parts->file);
}

/* Neither mapping is inherited by a forked child, as the driver's are not; huge pages would hide which pages were
 * touched. */
static bool set_advice(const struct parts *parts, size_t bytes) {
    madvise(parts->primary, bytes, MADV_NOHUGEPAGE);
    madvise(parts->alias, bytes, MADV_NOHUGEPAGE);
    return madvise(parts->primary, bytes, MADV_DONTFORK) == 0 && madvise(parts->alias, bytes, MADV_DONTFORK) == 0;
}

static bool parts_init(struct parts *parts, size_t bytes) {
    *parts = (struct parts){.file = descriptor_out_of_the_way(memfd_create("ferry-sim", MFD_CLOEXEC))};
    if (parts->file < 0 || ftruncate(parts->file, (off_t)bytes) != 0)
        return false;
    parts->primary = map_aligned(parts->file, bytes);
    parts->alias = map_or_null(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, parts->file);
    parts->pages = map_table(pages_bytes(bytes));
    parts->blocks = map_table(blocks_bytes(bytes));
    return parts->primary && parts->alias && parts->pages && parts->blocks && set_advice(parts, bytes);
}

static void fill_slot(struct sim_region *region, const struct parts *parts, size_t bytes, bool homed) {
    region->file = parts->file;
    region->homed = homed;
    region->pages = parts->pages;
    region->blocks = parts->blocks;
    atomic_store_explicit(&region->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&region->alias, (uintptr_t)parts->alias, memory_order_relaxed);
    atomic_store_explicit(&region->base, (uintptr_t)parts->primary, memory_order_release);
}

static struct sim_region *free_slot(void) {
    int used = atomic_load(&sim.region_slots);
    for (int i = 0; i < used; i++)
        if (!atomic_load(&sim.regions[i].base))
            return &sim.regions[i];
    if (used == SIM_REGIONS)
        return NULL;
    atomic_store(&sim.region_slots, used + 1);
    return &sim.regions[used];
}

static ferry_status publish(const struct parts *parts, size_t bytes, bool homed) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_region *region = free_slot();
    if (region)
        fill_slot(region, parts, bytes, homed);
    ferry_status status = region ? sim.config.tracker->adopt(region) : FERRY_OK;
    if (status)
        atomic_store(&region->base, 0);
    sim_unlock(&saved);
    if (!region)
        return ferry_error(FERRY_OUT_OF_MEMORY, "the simulator holds at most %d regions", SIM_REGIONS);
    return status;
}

ferry_status sim_region_reserve(size_t bytes, bool host_homed, void **out) {
    if (bytes == 0 || bytes % FERRY_BLOCK_BYTES != 0)
        return ferry_error(FERRY_INVALID_ARGUMENT, "a region of %zu bytes is not a multiple of %zu", bytes,
                           FERRY_BLOCK_BYTES);
    struct parts parts;
    ferry_status status;
    if (!parts_init(&parts, bytes))
        status = ferry_error(FERRY_OUT_OF_MEMORY, "no region of %zu bytes: %s", bytes, strerror(errno));
    else
        status = publish(&parts, bytes, host_homed && sim.config.concurrent);
    if (status)
        parts_finish(&parts, bytes);
    else
        *out = parts.primary;
    return status;
}

static void leave_devices(struct sim_region *region) {
    size_t blocks = atomic_load(&region->bytes) / FERRY_BLOCK_BYTES;
    for (size_t b = 0; b < blocks; b++)
        for (size_t i = 0; region->blocks[b].resident && i < SIM_BLOCK_PAGES; i++)
            sim_page_put(region, b * SIM_BLOCK_PAGES + i, FERRY_PLACE_NOWHERE);
}

ferry_status sim_region_release(void *base, size_t bytes) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_region *region = sim_region_find(base);
    bool whole = region && atomic_load(&region->base) == (uintptr_t)base && atomic_load(&region->bytes) == bytes;
    struct parts parts = {.file = -1};
    if (whole) {
        leave_devices(region);
        parts = (struct parts){base, (char *)atomic_load(&region->alias), region->pages, region->blocks, region->file};
        atomic_store(&region->base, 0);
    }
    sim_unlock(&saved);
    if (!whole)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%p with %zu bytes is not a region", base, bytes);
    parts_finish(&parts, bytes);
    return FERRY_OK;
}

struct sim_region *sim_region_find(const void *address) {
    int used = atomic_load_explicit(&sim.region_slots, memory_order_acquire);
    for (int i = 0; i < used; i++) {
        struct sim_region *region = &sim.regions[i];
        uintptr_t base = atomic_load_explicit(&region->base, memory_order_acquire);
        if (base && (uintptr_t)address - base < atomic_load_explicit(&region->bytes, memory_order_relaxed))
            return region;
    }
    return NULL;
}

void *sim_region_alias(const void *address) {
    const struct sim_region *region = sim_region_find(address);
    if (!region)
        return (void *)(uintptr_t)address;
    uintptr_t offset = (uintptr_t)address - atomic_load_explicit(&region->base, memory_order_relaxed);
    return (void *)(atomic_load_explicit(&region->alias, memory_order_relaxed) + offset);
}

ferry_status sim_span_find(const void *address, size_t bytes, struct sim_span *out) {
    struct sim_region *region = bytes ? sim_region_find(address) : NULL;
    size_t offset = region ? (size_t)((uintptr_t)address - atomic_load(&region->base)) : 0;
    if (!region || bytes > atomic_load(&region->bytes) - offset)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%zu bytes at %p do not lie in one region", bytes, address);
    size_t first = offset / FERRY_PAGE_BYTES;
    size_t end = (offset + bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES;
    *out = (struct sim_span){region, first, end - first, false};
    return FERRY_OK;
}

char *sim_span_primary(const struct sim_span *span) {
    return (char *)atomic_load(&span->region->base) + span->first * FERRY_PAGE_BYTES;
}

char *sim_span_alias(const struct sim_span *span) {
    return (char *)atomic_load(&span->region->alias) + span->first * FERRY_PAGE_BYTES;
}

/* Marks pages of `first` … `end`, all nowhere, that the file has contents for. */
static void settle_run(struct sim_region *region, size_t first, size_t end) {
    off_t at = (off_t)(first * FERRY_PAGE_BYTES), stop = (off_t)(end * FERRY_PAGE_BYTES);
    while (at < stop) {
        off_t data = lseek(region->file, at, SEEK_DATA);
        if (data < 0 || data >= stop)
            return;
        at = lseek(region->file, data, SEEK_HOLE);
        if (at < 0 || at > stop)
            at = stop;
        for (size_t i = (size_t)data / FERRY_PAGE_BYTES; i < (size_t)at / FERRY_PAGE_BYTES; i++)
            sim_page_put(region, i, FERRY_PLACE_HOST);
    }
}

void sim_span_settle(const struct sim_span *span) {
    const struct sim_page *pages = span->region->pages;
    size_t end = span->first + span->count;
    for (size_t i = span->first; i < end;) {
        size_t run = i;
        while (run < end && sim_page_place(&pages[run]) == FERRY_PLACE_NOWHERE)
            run++;
        if (run > i)
            settle_run(span->region, i, run);
        i = run > i ? run : i + 1;
    }
}
