#include "sim_machine.h"

/* Bytes of the page that [address, address + bytes) covers. */
static uint64_t covered(const struct sim_span *span, size_t page, const backend_touch *touch) {
    uintptr_t start = atomic_load(&span->region->base) + page * FERRY_PAGE_BYTES;
    uintptr_t from = (uintptr_t)touch->address, to = from + touch->bytes;
    uintptr_t low = from > start ? from : start;
    uintptr_t high = to < start + FERRY_PAGE_BYTES ? to : start + FERRY_PAGE_BYTES;
    return high - low;
}

static uint64_t directions(ferry_access access) {
    return access == FERRY_READWRITE ? 2 : 1;
}

/* Host-homed memory is mapped everywhere: what is not here is loaded and stored where it is. What is nowhere is made at
 * home first. */
static void access_mapped(struct sim_region *region, size_t page, uint64_t bytes, ferry_access access, int device,
                          struct sim_work *work) {
    ferry_place place = sim_page_place(&region->pages[page]);
    if (place == device) {
        work->local += bytes * directions(access);
    } else if (place >= 0) {
        work->peer += bytes * directions(access);
    } else {
        work->remote_read += access & FERRY_READ ? bytes : 0;
        work->remote_write += access & FERRY_WRITE ? bytes : 0;
        work->filled_host += place == FERRY_PLACE_NOWHERE ? FERRY_PAGE_BYTES : 0;
        sim_page_put(region, page, FERRY_PLACE_HOST);
    }
}

static void fault_page(struct sim_region *region, size_t page, int device, struct sim_work *work) {
    ferry_place place = sim_page_place(&region->pages[page]);
    if (place == FERRY_PLACE_HOST)
        work->faulted_to_device += FERRY_PAGE_BYTES;
    else if (place >= 0)
        work->faulted_between += FERRY_PAGE_BYTES;
    sim_page_put(region, page, device);
}

/* Pages `first` … `end` of one block: those that are elsewhere come in one group of faults. */
static void fault_block(struct sim_region *region, size_t first, size_t end, int device, struct sim_work *work) {
    uint64_t absent = 0;
    for (size_t i = first; i < end; i++)
        absent += sim_page_place(&region->pages[i]) != device;
    if (!absent)
        return;
    work->gpu_faults++;
    sim_evict(region, first / SIM_BLOCK_PAGES, device, absent, work);
    for (size_t i = first; i < end; i++)
        if (sim_page_place(&region->pages[i]) != device)
            fault_page(region, i, device, work);
}

static void fault_span(const struct sim_span *span, int device, struct sim_work *work) {
    size_t end = span->first + span->count;
    for (size_t i = span->first; i < end;) {
        size_t next = (i / SIM_BLOCK_PAGES + 1) * SIM_BLOCK_PAGES;
        next = next < end ? next : end;
        fault_block(span->region, i, next, device, work);
        i = next;
    }
}

void sim_kernel_touch(const struct sim_span *span, const backend_touch *touch, int device, struct sim_work *work) {
    if (!span->region->homed) {
        fault_span(span, device, work);
        work->local += touch->bytes * directions(touch->access);
        return;
    }
    for (size_t i = span->first; i < span->first + span->count; i++)
        access_mapped(span->region, i, covered(span, i, touch), touch->access, device, work);
}

static void guard_runs(const struct sim_span *span, int device) {
    const struct sim_page *pages = span->region->pages;
    for (size_t i = span->first; i < span->first + span->count;) {
        size_t run = i;
        while (run < span->first + span->count && sim_page_place(&pages[run]) == device)
            run++;
        if (run > i)
            sim_span_guard(&(struct sim_span){span->region, i, run - i, false});
        i = run > i ? run : i + 1;
    }
}

static void launch_region(struct sim_region *region, int device, struct sim_work *work) {
    struct sim_span whole = {region, 0, atomic_load(&region->bytes) / FERRY_PAGE_BYTES, false};
    sim_span_settle(&whole);
    for (size_t i = 0; i < whole.count; i++) {
        ferry_place place = sim_page_place(&region->pages[i]);
        if (place == FERRY_PLACE_NOWHERE || place == device)
            continue;
        sim_evict(region, i / SIM_BLOCK_PAGES, device, 1, work);
        fault_page(region, i, device, work);
    }
    guard_runs(&whole, device);
}

void sim_launch_all(int device, struct sim_work *work) {
    int slots = atomic_load(&sim.region_slots);
    sim.tick++;
    for (int r = 0; r < slots; r++)
        if (atomic_load(&sim.regions[r].base))
            launch_region(&sim.regions[r], device, work);
}

static void bring(const struct sim_span *span, ferry_place device, uint64_t *bytes) {
    for (size_t i = span->first; i < span->first + span->count; i++)
        if (sim_page_place(&span->region->pages[i]) == device) {
            *bytes += FERRY_PAGE_BYTES;
            sim_page_put(span->region, i, FERRY_PLACE_HOST);
        }
}

/* The largest aligned part of a block, around a group that has come home, of which more than 51 % are there: the driver
 * takes the rest for wanted (its uvm_perf_prefetch.c). A host that goes through a block faults six times. */
static struct sim_span dense_around(const struct sim_span *group) {
    struct sim_span dense = *group;
    for (size_t count = 2 * SIM_FAULT_PAGES; count <= SIM_BLOCK_PAGES; count *= 2) {
        size_t first = group->first / count * count, home = 0;
        for (size_t i = first; i < first + count; i++)
            home += sim_page_place(&group->region->pages[i]) == FERRY_PLACE_HOST;
        if (home * 100 > count * 51)
            dense = (struct sim_span){group->region, first, count, false};
    }
    return dense;
}

/* The driver brings the pages of the aligned group around a touched one that are on the same device, and with them what
 * is left of a dense part. The pages that have come are then in the span that is returned. */
static struct sim_span bring_group(const struct sim_span *group, ferry_place device) {
    uint64_t bytes = 0;
    bring(group, device, &bytes);
    struct sim_span dense = dense_around(group);
    bring(&dense, device, &bytes);
    sim.totals.cpu_faults++;
    sim.totals.bytes_to_host += bytes;
    sim.host_ns += sim_link_cpu_fault_ns(sim.config.link, bytes);
    return dense;
}

/* What is noticed where only stores are is a store. */
static bool unsynchronised(const struct sim_page *page) {
    if (!sim.config.concurrent)
        return sim.pending != 0;
    return page->writers != 0 || (page->guard == SIM_STORES && page->readers != 0);
}

static void note_hasty(uintptr_t address) {
    sim.unsynchronised++;
    if (sim.hasty_count < SIM_HASTY)
        sim.hasty[(sim.hasty_first + sim.hasty_count++) % SIM_HASTY] = address;
}

/* A page that a device holds comes home, and may be loaded from unless something queued will overwrite it. */
static void come_home(struct sim_region *region, size_t page) {
    struct sim_span group = {region, page / SIM_FAULT_PAGES * SIM_FAULT_PAGES, SIM_FAULT_PAGES, false};
    ferry_place place = sim_page_place(&region->pages[page]);
    if (place >= 0)
        group = bring_group(&group, place);
    else
        sim_page_put(region, page, FERRY_PLACE_HOST);
    sim_span_unguard(&group);
}

/* A touch where all are noticed may be a store to a page that queued operations load from: it is taken for a load,
 * after which only stores are noticed, and the same store a second time. */
void sim_host_touch(struct sim_region *region, uintptr_t address) {
    size_t page = sim_region_page(region, address);
    struct sim_page *entry = &region->pages[page];
    uint8_t noticed = entry->guard;
    if (noticed == SIM_NOTHING)
        return;
    if (unsynchronised(entry))
        note_hasty(address);
    if (noticed == SIM_TOUCHES)
        come_home(region, page);
    if (entry->guard < noticed)
        return;
    /* Something queued uses the page, and the host does not wait for it: neither would the driver. */
    entry->guard = SIM_NOTHING;
    sim.config.tracker->give(&(struct sim_span){region, page, 1, false});
}
