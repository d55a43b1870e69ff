/*
 * The accounts of a program under `prefetch`: what crossed must have been asked for, must be what the simulator saw,
 * and must be counted as redundant exactly when the same contents had crossed in the same direction before.
 */
#include <stdlib.h>

#include "alloc/backend_sim.h"
#include "alloc/counters.h"
#include "recorder.h"
#include "tests/test.h"
#include "views.h"
#include "world.h"

static struct slot *slot_of(struct world *world, const char *page, size_t *index) {
    for (int i = 0; i <= SLOTS; i++) {
        struct slot *slot = &world->slots[i];
        if (slot->live && slot->pages > 0 && page >= slot->block &&
            page < slot->block + slot->pages * FERRY_PAGE_BYTES) {
            *index = (size_t)(page - slot->block) / FERRY_PAGE_BYTES;
            return slot;
        }
    }
    fail(world, "a move of the page at %p, which lies in nobody's storage", (const void *)page);
}

static void check_move(const struct world *world, const struct recorded_page *move, const struct slot *slot,
                       size_t page) {
    const struct page_use *use = &slot->use[page];
    const int number = (int)(slot - world->slots);
    if (!use->touched) {
        fail(world, "page %zu of a%d was moved, but the step does not touch it", page, number);
    }
    if (move->before == move->to) {
        fail(world, "page %zu of a%d was moved to %d, where it was", page, number, move->to);
    }
    if (move->kind == BACKEND_DISCARD_PREFETCH && (!use->full || use->read)) {
        fail(world, "page %zu of a%d was discarded, but it is not overwritten or somebody reads it", page, number);
    }
}

static bool storage_is_read(const struct slot *slot) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].read) {
            return true;
        }
    }
    return false;
}

/* Contents went over the bus: had they done so before? */
static void note_crossing(struct world *world, const struct recorded_page *move, struct page_past *past) {
    bool *crossed = NULL;
    if (move->kind == BACKEND_PREFETCH && move->before == FERRY_PLACE_HOST) {
        crossed = &past->crossed_to_device;
    } else if (move->kind == BACKEND_PREFETCH && move->before >= 0 && move->to == FERRY_PLACE_HOST) {
        crossed = &past->crossed_to_host;
    }
    if (crossed != NULL) {
        world->redundant_bytes += *crossed ? FERRY_PAGE_BYTES : 0;
        *crossed = true;
    }
}

static void account_move(struct world *world, const struct recorded_page *move) {
    size_t page;
    struct slot *slot = slot_of(world, move->page, &page);
    check_move(world, move, slot, page);
    if (move->kind == BACKEND_PREFETCH && slot->use[page].simple && !slot->use[page].again && !storage_is_read(slot)) {
        fail(world, "page %zu of a%d moved with its contents, but a contiguous operand overwrites it", page,
             (int)(slot - world->slots));
    }
    note_crossing(world, move, &slot->past[page]);
}

static void note_use(struct page_past *past, const struct page_use *use, int side) {
    if (use->written) {
        *past = (struct page_past){.owner = (signed char)side, .raw = past->raw};
    } else if (use->read && past->owner == NOBODY) {
        past->owner = (signed char)side;
    } else if (use->read && past->owner != side) {
        past->away = true;
    }
}

static void account_slot(const struct world *world, struct slot *slot, int side, ferry_place place) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (!slot->use[i].touched) {
            continue;
        }
        note_use(&slot->past[i], &slot->use[i], side);
        slot->past[i].raw = slot->past[i].raw || (side == HOST_SIDE && !slot->use[i].written);
        const ferry_place truth = backend_sim_page_place(slot->block + i * FERRY_PAGE_BYTES);
        if (truth != place && place != FERRY_PLACE_MIXED) {
            fail(world, "page %zu of a%d is used at %d but lies at %d", i, (int)(slot - world->slots), place, truth);
        }
    }
}

void account_step(struct world *world, int side, ferry_place place) {
    const struct recording *recording = recorder_recording();
    if (world->program->rules.accounts) {
        for (size_t i = 0; i < recording->npages; i++) {
            account_move(world, &recording->pages[i]);
        }
        for (int i = 0; i <= SLOTS; i++) {
            account_slot(world, &world->slots[i], side, place);
        }
    }
    recorder_clear();
}

void account_reset(struct world *world) {
    world->truth_from = backend_sim_totals();
    world->redundant_bytes = 0;
}

static void compare(const struct world *world, const char *name, uint64_t counted, uint64_t truth) {
    if (counted != truth) {
        fail(world, "%s: the library counts %" PRIu64 ", the truth is %" PRIu64, name, counted, truth);
    }
}

static void check_trace(const struct world *world, const backend_measure *now) {
    ferry_stats stats;
    expect_ok(world, ferry_stats_get(&stats), "ferry_stats_get");
    compare(world, "measured", stats.measured, 1);
    compare(world, "measured bytes_to_device", stats.bytes_to_device,
            now->bytes_to_device + now->remote_bytes_to_device - world->traced_from.bytes_to_device -
                world->traced_from.remote_bytes_to_device);
    compare(world, "measured bytes_to_host", stats.bytes_to_host,
            now->bytes_to_host + now->remote_bytes_to_host - world->traced_from.bytes_to_host -
                world->traced_from.remote_bytes_to_host);
}

void account_check(const struct world *world) {
    const backend_measure now = backend_sim_totals(), *from = &world->truth_from;
    if (recorder_recording()->complaint != NULL) {
        fail(world, "the backend was given %s", recorder_recording()->complaint);
    }
    if (!world->program->rules.faults) {
        compare(world, "unsynchronised host accesses", backend_sim_unsynchronised(), 0);
    }
    if (!world->program->rules.accounts) {
        return;
    }
#define COMPARE(name, truth) compare(world, #name, atomic_load(&counters.name), truth)
    COMPARE(bytes_to_device,
            now.bytes_to_device - from->bytes_to_device + now.remote_bytes_to_device - from->remote_bytes_to_device);
    COMPARE(bytes_to_host,
            now.bytes_to_host - from->bytes_to_host + now.remote_bytes_to_host - from->remote_bytes_to_host);
    COMPARE(prefetched_bytes_to_device, now.prefetched_bytes_to_device - from->prefetched_bytes_to_device);
    COMPARE(prefetched_bytes_to_host, now.prefetched_bytes_to_host - from->prefetched_bytes_to_host);
    COMPARE(bytes_between_devices, now.bytes_between_devices - from->bytes_between_devices);
    COMPARE(remote_bytes_to_device, now.remote_bytes_to_device - from->remote_bytes_to_device);
    COMPARE(remote_bytes_to_host, now.remote_bytes_to_host - from->remote_bytes_to_host);
    COMPARE(redundant_bytes, world->redundant_bytes);
#undef COMPARE
    compare(world, "CPU faults", now.cpu_faults, 0);
    compare(world, "GPU faults", now.gpu_faults, 0);
    if (world->program->rules.strict && !world->relaxed) {
        compare(world, "redundant bytes where nobody reads by turns", world->redundant_bytes, 0);
    }
    if (world->tracing) {
        check_trace(world, &now);
    }
}

/* Of the pages that slot_use named. */
static ferry_place truth_of_use(const struct slot *slot) {
    ferry_place found = FERRY_PLACE_HOST;
    bool first = true;
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].touched) {
            const ferry_place place = backend_sim_page_place(slot->block + i * FERRY_PAGE_BYTES);
            found = first || found == place ? place : FERRY_PLACE_MIXED;
            first = false;
        }
    }
    return found;
}

/* Of pages that were nowhere the library is not told whether the host did read them. */
static bool any_raw(const struct slot *slot) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->past[i].raw) {
            return true;
        }
    }
    return false;
}

static void check_view_place(const struct world *world, struct slot *slot, uint64_t recipe) {
    const ferry_view view = recipe_view(recipe, slot->block, slot->bytes, false);
    slot_use(slot, &view, FERRY_READ);
    const ferry_place truth = truth_of_use(slot), believed = ferry_view_place(&view);
    slot_forget_use(slot);
    if (truth != believed && !any_raw(slot)) {
        char text[400];
        describe(world, slot, &view, text, sizeof text);
        fail(world, "%s is believed to lie at %d, but lies at %d", text, believed, truth);
    }
}

void account_places(const struct world *world, struct slot *slot, uint64_t recipe) {
    if (!world->program->rules.accounts || !slot->live || slot->pages == 0) {
        return;
    }
    for (size_t i = 0; i < slot->pages; i++) {
        const int64_t bytes = FERRY_PAGE_BYTES;
        ferry_view page;
        char *at = slot->block + i * FERRY_PAGE_BYTES;
        const int64_t left = slot->block + slot->bytes - at;
        expect_ok(world, ferry_view_make(at, FERRY_UINT8, 1, left < bytes ? &left : &bytes, &page), "ferry_view_make");
        const ferry_place truth = backend_sim_page_place(at), believed = ferry_view_place(&page);
        const bool unseen = slot->past[i].raw && believed == FERRY_PLACE_NOWHERE && truth == FERRY_PLACE_HOST;
        if (truth != believed && !unseen) {
            fail(world, "page %zu of a%d is believed to lie at %d, but lies at %d", i, (int)(slot - world->slots),
                 believed, truth);
        }
    }
    check_view_place(world, slot, recipe);
}
