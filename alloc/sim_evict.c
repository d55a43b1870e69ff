#include "sim_machine.h"

struct victim {
    struct sim_region *region;
    size_t block;
};

static bool block_on(const struct sim_region *region, size_t block, int device) {
    const struct sim_page *pages = &region->pages[block * SIM_BLOCK_PAGES];
    for (size_t i = 0; i < SIM_BLOCK_PAGES; i++)
        if (sim_page_place(&pages[i]) == device)
            return true;
    return false;
}

/* The least recently migrated block with pages on the device, but for the one in `keep`. */
static struct victim find_victim(const struct sim_region *keep, size_t keep_block, int device) {
    struct victim found = {0};
    uint64_t oldest = UINT64_MAX;
    int slots = atomic_load(&sim.region_slots);
    for (int r = 0; r < slots; r++) {
        struct sim_region *region = &sim.regions[r];
        size_t blocks = atomic_load(&region->base) ? atomic_load(&region->bytes) / FERRY_BLOCK_BYTES : 0;
        for (size_t b = 0; b < blocks; b++) {
            const struct sim_block *block = &region->blocks[b];
            bool kept = region == keep && b == keep_block;
            if (!kept && block->resident && block->used < oldest && block_on(region, b, device)) {
                oldest = block->used;
                found = (struct victim){region, b};
            }
        }
    }
    return found;
}

static void send_home(const struct victim *victim, int device, struct sim_work *work) {
    struct sim_span span = {victim->region, victim->block * SIM_BLOCK_PAGES, SIM_BLOCK_PAGES, false};
    for (size_t i = span.first; i < span.first + span.count; i++)
        if (sim_page_place(&span.region->pages[i]) == device) {
            work->evicted += FERRY_PAGE_BYTES;
            sim_page_put(span.region, i, FERRY_PLACE_HOST);
        }
    sim_span_unguard(&span);
}

void sim_evict(const struct sim_region *region, size_t block, int device, uint64_t pages, struct sim_work *work) {
    uint64_t capacity = sim.config.device_bytes / FERRY_PAGE_BYTES;
    while (sim.resident_pages[device] + pages > capacity) {
        struct victim victim = find_victim(region, block, device);
        if (!victim.region)
            return;
        send_home(&victim, device, work);
    }
}
