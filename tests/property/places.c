/* Where pages are: what the library believes, and what the simulator knows. */
#include "alloc/backend_sim.h"
#include "policies.h"
#include "tests/test.h"
#include "views.h"

ferry_place truth_at(const struct world *world, const void *page) {
    return world->program->rules.cuda ? FERRY_PLACE_HOST : backend_sim_page_place(page);
}

/* Of the pages that slot_use named. */
static ferry_place truth_of_use(const struct world *world, const struct slot *slot) {
    ferry_place found = FERRY_PLACE_HOST;
    bool first = true;
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].touched) {
            const ferry_place place = truth_at(world, slot->block + i * FERRY_PAGE_BYTES);
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
    const ferry_place truth = truth_of_use(world, slot), believed = ferry_view_place(&view);
    slot_forget_use(slot);
    if (truth != believed && !any_raw(slot)) {
        char text[400];
        describe(world, slot, &view, text, sizeof text);
        fail(world, "%s is believed to lie at %d, but lies at %d", text, believed, truth);
    }
}

/* What is not as it is believed to be has been touched by the host without a word. */
static bool explained(const struct page_past *past, ferry_place believed, ferry_place truth) {
    return truth == FERRY_PLACE_HOST &&
           ((believed == FERRY_PLACE_NOWHERE && past->raw) || (believed >= 0 && past->stray));
}

static void check_page(const struct world *world, struct slot *slot, size_t page) {
    char *at = slot->block + page * FERRY_PAGE_BYTES;
    const int64_t bytes = FERRY_PAGE_BYTES, left = slot->block + slot->bytes - at;
    ferry_view view;
    expect_ok(world, ferry_view_make(at, FERRY_UINT8, 1, left < bytes ? &left : &bytes, &view), "ferry_view_make");
    const ferry_place truth = truth_at(world, at), believed = ferry_view_place(&view);
    if (truth != believed && !explained(&slot->past[page], believed, truth)) {
        fail(world, "page %zu of a%d is believed to lie at %d, but lies at %d", page, (int)(slot - world->slots),
             believed, truth);
    }
    slot->past[page].stray = slot->past[page].stray && truth != believed;
}

void places_check(const struct world *world, struct slot *slot, uint64_t recipe) {
    const struct rules *rules = &world->program->rules;
    if (!world->hints || rules->cuda || rules->faults || rules->full || !slot->live || slot->pages == 0) {
        return;
    }
    for (size_t i = 0; i < slot->pages; i++) {
        check_page(world, slot, i);
    }
    if (rules->accounts) {
        check_view_place(world, slot, recipe);
    }
}

/* Marks what lies in the block of which the driver may bring anything home with one of its pages. */
static void stray_around(struct world *world, const char *page) {
    const uintptr_t low = (uintptr_t)page / FERRY_BLOCK_BYTES * FERRY_BLOCK_BYTES, high = low + FERRY_BLOCK_BYTES;
    for (int i = 0; i <= SLOTS; i++) {
        struct slot *slot = &world->slots[i];
        const uintptr_t block = (uintptr_t)slot->block;
        size_t at = block < low ? (low - block) / FERRY_PAGE_BYTES : 0;
        for (; slot->live && at < slot->pages && block + at * FERRY_PAGE_BYTES < high; at++) {
            slot->past[at].stray = true;
        }
    }
}

void strayed(struct world *world, const struct slot *slot) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].touched) {
            stray_around(world, slot->block + i * FERRY_PAGE_BYTES);
        }
    }
}
