#include "sim_machine.h"

void sim_page_put(struct sim_region *region, size_t page, ferry_place to) {
    struct sim_page *entry = &region->pages[page];
    struct sim_block *block = &region->blocks[page / SIM_BLOCK_PAGES];
    ferry_place from = sim_page_place(entry);
    if (from >= 0) {
        sim.resident_pages[from]--;
        block->resident--;
    }
    if (to >= 0) {
        sim.resident_pages[to]++;
        block->resident++;
        block->used = sim.tick;
    }
    entry->code = (uint8_t)(to - FERRY_PLACE_NOWHERE);
}

static void mark(const struct sim_span *span, enum sim_guard guard) {
    for (size_t i = span->first; i < span->first + span->count; i++)
        span->region->pages[i].guard = (uint8_t)guard;
}

static enum sim_guard needed(const struct sim_page *page) {
    if (page->writers || sim_page_place(page) >= 0)
        return SIM_TOUCHES;
    return page->readers && sim.tells_stores ? SIM_STORES : SIM_NOTHING;
}

/* When the system refuses to divide its mappings further, the whole region is opened: touches are then missed, never
 * served wrongly. */
static void open_run(const struct sim_span *run) {
    mark(run, SIM_NOTHING);
    if (sim.config.tracker->give(run))
        return;
    struct sim_span whole = {run->region, 0, atomic_load(&run->region->bytes) / FERRY_PAGE_BYTES, false};
    mark(&whole, SIM_NOTHING);
    sim.config.tracker->give(&whole);
}

bool sim_span_guard(const struct sim_span *span) {
    if (!sim.config.tracker->take(span)) {
        open_run(span);
        return false;
    }
    mark(span, SIM_TOUCHES);
    return true;
}

static void guard_run_stores(const struct sim_span *run) {
    if (sim.config.tracker->take_stores(run))
        mark(run, SIM_STORES);
    else
        open_run(run);
}

void sim_span_guard_stores(const struct sim_span *span) {
    const struct sim_page *pages = span->region->pages;
    size_t end = sim.tells_stores ? span->first + span->count : span->first;
    for (size_t i = span->first; i < end;) {
        size_t run = i;
        while (run < end && pages[run].guard == SIM_NOTHING)
            run++;
        if (run > i)
            guard_run_stores(&(struct sim_span){span->region, i, run - i, false});
        i = run > i ? run : i + 1;
    }
}

void sim_span_unguard(const struct sim_span *span) {
    const struct sim_page *pages = span->region->pages;
    size_t end = span->first + span->count;
    for (size_t i = span->first; i < end;) {
        enum sim_guard guard = needed(&pages[i]);
        size_t run = i;
        while (run < end && pages[run].guard > guard && needed(&pages[run]) == guard)
            run++;
        struct sim_span lowered = {span->region, i, run - i, false};
        if (lowered.count)
            guard == SIM_STORES ? guard_run_stores(&lowered) : open_run(&lowered);
        i = run > i ? run : i + 1;
    }
}

static void count_use(const struct sim_span *span, uint32_t change) {
    for (size_t i = span->first; i < span->first + span->count; i++)
        *(span->only_read ? &span->region->pages[i].readers : &span->region->pages[i].writers) += change;
}

void sim_span_pend(const struct sim_span *span) {
    count_use(span, 1);
}

void sim_span_unpend(const struct sim_span *span) {
    count_use(span, UINT32_MAX); /* one less */
    sim_span_unguard(span);
}

/* Where the bytes of one page that a move puts from `from` to `to` are accounted; they differ. */
static uint64_t *prefetch_account(ferry_place from, ferry_place to, struct sim_work *work) {
    if (from == FERRY_PLACE_NOWHERE)
        return &work->filled_device;
    if (to == FERRY_PLACE_HOST)
        return &work->to_host;
    return from == FERRY_PLACE_HOST ? &work->to_device : &work->between;
}

static uint64_t *account(ferry_place from, const backend_move *move, struct sim_work *work) {
    if (from == move->to)
        return &work->settled;
    if (from == FERRY_PLACE_NOWHERE && move->to == FERRY_PLACE_HOST)
        return &work->filled_host; /* whether or not there were contents to discard */
    if (move->kind == BACKEND_PREFETCH)
        return prefetch_account(from, move->to, work);
    return move->to == FERRY_PLACE_HOST ? &work->discarded_to_host : &work->discarded_to_device;
}

static void move_in_block(struct sim_region *region, size_t first, size_t end, const backend_move *move,
                          struct sim_work *work) {
    uint64_t absent = 0;
    for (size_t i = first; i < end; i++)
        absent += sim_page_place(&region->pages[i]) != move->to;
    if (move->to >= 0)
        sim_evict(region, first / SIM_BLOCK_PAGES, move->to, absent, work);
    for (size_t i = first; i < end; i++) {
        *account(sim_page_place(&region->pages[i]), move, work) += FERRY_PAGE_BYTES;
        sim_page_put(region, i, move->to);
    }
}

static size_t block_end(size_t page, size_t end) {
    size_t next = (page / SIM_BLOCK_PAGES + 1) * SIM_BLOCK_PAGES;
    return next < end ? next : end;
}

void sim_span_move(const struct sim_span *span, const backend_move *move, struct sim_work *work) {
    size_t end = span->first + span->count;
    for (size_t i = span->first; i < end; i = block_end(i, end))
        move_in_block(span->region, i, block_end(i, end), move, work);
}
