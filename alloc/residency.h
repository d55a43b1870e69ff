/*
 * Where a region's pages are, as far as the library knows: one state per 2 MiB block, and one per page in blocks whose
 * pages differ. The table belongs to the region, not to its storages, so that a recycled block is known to be where its
 * last owner left it.
 *
 * A state is a place, the number of passes that devices have made over the page since the host last touched it, and two
 * flags: whether these contents have crossed to a device, and to the host, since somebody last wrote them. All calls
 * are made under the movement lock.
 */
#ifndef FERRY_ALLOC_RESIDENCY_H
#define FERRY_ALLOC_RESIDENCY_H

#include "backend.h"

typedef uint16_t page_state;

#define PAGES_PER_BLOCK (FERRY_BLOCK_BYTES / FERRY_PAGE_BYTES)

#define STATE_PLACE_MASK ((page_state)0x03ff)
#define STATE_PASSES_MASK ((page_state)0x1c00)
#define STATE_PASSES_SHIFT 10
#define STATE_PASSES_MAX 7u /* that many or more */
#define STATE_CROSSED_TO_DEVICE ((page_state)0x2000)
#define STATE_CROSSED_TO_HOST ((page_state)0x4000)
#define STATE_CROSSED (STATE_CROSSED_TO_DEVICE | STATE_CROSSED_TO_HOST)
#define STATE_MIXED ((page_state)0x8000) /* a block's only: ask its pages */

#define RESIDENCY_MAX_DEVICES 1000 /* what the place field holds, with room to spare */

/* Both arrays are zero at first, which is FERRY_PLACE_NOWHERE. They are the region's, made and freed with it. */
struct residency {
    page_state *blocks; /* one per block */
    page_state *pages;  /* one per page, meaningful in mixed blocks */
    uint64_t changes;   /* counts what is set: what was found in the table holds for as long as it stays the same */
};

/* A maximal stretch of pages in one state. */
struct residency_run {
    size_t first_page, end_page;
    page_state state;
};

static inline ferry_place state_place(page_state state) {
    return (ferry_place)(state & STATE_PLACE_MASK) + FERRY_PLACE_NOWHERE;
}

static inline page_state state_of_place(ferry_place place) {
    return (page_state)(place - FERRY_PLACE_NOWHERE);
}

static inline unsigned state_passes(page_state state) {
    return (unsigned)(state & STATE_PASSES_MASK) >> STATE_PASSES_SHIFT;
}

static inline page_state state_of_passes(unsigned passes) {
    return (page_state)((passes < STATE_PASSES_MAX ? passes : STATE_PASSES_MAX) << STATE_PASSES_SHIFT);
}

static inline page_state residency_state(const struct residency *table, size_t page) {
    const page_state block = table->blocks[page / PAGES_PER_BLOCK];
    return block == STATE_MIXED ? table->pages[page] : block;
}

/* Whether a device's page is where it should be, and nothing that is known of it changes by a use of that device. */
static inline bool state_is_settled(page_state state, int device, bool written) {
    return state_place(state) == device && state_passes(state) == STATE_PASSES_MAX &&
           (!written || (state & STATE_CROSSED) == 0);
}

/* The run that begins at first_page, not going beyond end_page. first_page < end_page. */
struct residency_run residency_run_at(const struct residency *table, size_t first_page, size_t end_page);

/* Whether the whole range is in one state. first_page < end_page. */
bool residency_is_uniform(const struct residency *table, size_t first_page, size_t end_page);

void residency_set(struct residency *table, size_t first_page, size_t end_page, page_state state);

/* Clears flags in the range, keeping places. */
void residency_clear_flags(struct residency *table, size_t first_page, size_t end_page, page_state flags);

#endif
