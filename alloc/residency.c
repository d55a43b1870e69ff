#include "residency.h"

#include <string.h>

static size_t block_end(size_t page, size_t end_page) {
    const size_t end = (page / PAGES_PER_BLOCK + 1) * PAGES_PER_BLOCK;
    return end < end_page ? end : end_page;
}

/* Whether the entries in [first, end) are equal: each to the next. */
static bool are_equal(const page_state *states, size_t first, size_t end) {
    return memcmp(&states[first], &states[first + 1], (end - first - 1) * sizeof *states) == 0;
}

/* First entry in [first, end) whose state is another, or end: four at a time, since a resident array is asked about at
 * every launch. */
static size_t same_until(const page_state *states, size_t first, size_t end, page_state state) {
    const uint64_t four_states = state * UINT64_C(0x0001000100010001);
    while (first + 4 <= end) {
        uint64_t four;
        memcpy(&four, &states[first], sizeof four);
        if (four != four_states) {
            break;
        }
        first += 4;
    }
    while (first < end && states[first] == state) {
        first++;
    }
    return first;
}

struct residency_run residency_run_at(const struct residency *table, size_t first_page, size_t end_page) {
    struct residency_run run = {first_page, first_page, residency_state(table, first_page)};
    const size_t end_block = (end_page + PAGES_PER_BLOCK - 1) / PAGES_PER_BLOCK;
    while (run.end_page < end_page) {
        const size_t block = run.end_page / PAGES_PER_BLOCK;
        size_t same_end;
        size_t asked_until = block_end(run.end_page, end_page);
        if (table->blocks[block] == STATE_MIXED) {
            same_end = same_until(table->pages, run.end_page, asked_until, run.state);
        } else {
            const size_t same_blocks = same_until(table->blocks, block, end_block, run.state);
            same_end = same_blocks == block ? run.end_page : same_blocks * PAGES_PER_BLOCK;
            asked_until = same_end > asked_until ? same_end : asked_until;
        }
        run.end_page = same_end < end_page ? same_end : end_page;
        if (same_end < asked_until) {
            break;
        }
    }
    return run;
}

bool residency_is_uniform(const struct residency *table, size_t first_page, size_t end_page) {
    const size_t block = first_page / PAGES_PER_BLOCK;
    if ((end_page - 1) / PAGES_PER_BLOCK != block) {
        return residency_run_at(table, first_page, end_page).end_page == end_page;
    }
    return table->blocks[block] != STATE_MIXED || are_equal(table->pages, first_page, end_page);
}

/* Gives every page of a uniform block a state of its own. */
static void spread(struct residency *table, size_t block) {
    const page_state state = table->blocks[block];
    for (size_t page = block * PAGES_PER_BLOCK; page < (block + 1) * PAGES_PER_BLOCK; page++) {
        table->pages[page] = state;
    }
    table->blocks[block] = STATE_MIXED;
}

/* Makes a mixed block uniform again once all its pages agree; only then does a large range cost one look per block. */
static void gather(struct residency *table, size_t block) {
    const page_state *pages = &table->pages[block * PAGES_PER_BLOCK];
    for (size_t i = 1; i < PAGES_PER_BLOCK; i++) {
        if (pages[i] != pages[0]) {
            return;
        }
    }
    table->blocks[block] = pages[0];
}

static void set_within_block(struct residency *table, size_t first_page, size_t end_page, page_state state) {
    const size_t block = first_page / PAGES_PER_BLOCK;
    if (end_page - first_page == PAGES_PER_BLOCK) {
        table->blocks[block] = state;
        return;
    }
    if (table->blocks[block] == state) {
        return;
    }
    if (table->blocks[block] != STATE_MIXED) {
        spread(table, block);
    }
    for (size_t page = first_page; page < end_page; page++) {
        table->pages[page] = state;
    }
    gather(table, block);
}

void residency_set(struct residency *table, size_t first_page, size_t end_page, page_state state) {
    table->changes++;
    while (first_page < end_page) {
        const size_t end = block_end(first_page, end_page);
        set_within_block(table, first_page, end, state);
        first_page = end;
    }
}

void residency_clear_flags(struct residency *table, size_t first_page, size_t end_page, page_state flags) {
    while (first_page < end_page) {
        const struct residency_run run = residency_run_at(table, first_page, end_page);
        if ((run.state & flags) != 0) {
            residency_set(table, run.first_page, run.end_page, (page_state)(run.state & ~flags));
        }
        first_page = run.end_page;
    }
}
