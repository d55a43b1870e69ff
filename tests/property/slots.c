#include <stdlib.h>

#include "alloc/region.h"
#include "tests/test.h"
#include "views.h"
#include "world.h"

static void *zeroed(size_t count, size_t bytes) {
    void *memory = calloc(count == 0 ? 1 : count, bytes);
    REQUIRE(memory != NULL);
    return memory;
}

static size_t page_bytes(const struct slot *slot, size_t page) {
    const size_t left = slot->bytes - page * FERRY_PAGE_BYTES;
    return left < FERRY_PAGE_BYTES ? left : FERRY_PAGE_BYTES;
}

void slot_open(struct world *world, struct slot *slot, void *block, size_t bytes, bool zero) {
    slot->live = true;
    slot->block = block;
    slot->bytes = bytes;
    slot->tiny = region_find(block)->tiny;
    if (slot->tiny && bytes >= FERRY_PAGE_BYTES) {
        fail(world, "a block of %zu bytes lies among the tiny ones", bytes);
    }
    slot->pages = slot->tiny ? 0 : storage_pages(bytes);
    slot->shadow = zeroed(bytes, 1);
    slot->mask = zeroed(bytes, 1);
    memset(slot->mask, zero ? 0xff : 0, bytes);
    slot->past = zeroed(slot->pages, sizeof *slot->past);
    slot->use = zeroed(slot->pages, sizeof *slot->use);
    for (size_t i = 0; i < slot->pages; i++) {
        /* What the former owner left counts as written where it lies. */
        const ferry_place place = truth_at(world, slot->block + i * FERRY_PAGE_BYTES);
        slot->past[i].raw = place == FERRY_PLACE_HOST;
        slot->past[i].stray = !world->program->rules.accounts;
        slot->past[i].owner = place >= 0 ? DEVICE_SIDE : place == FERRY_PLACE_HOST ? HOST_SIDE : NOBODY;
    }
}

void slot_close(struct slot *slot) {
    free(slot->shadow);
    free(slot->mask);
    free(slot->past);
    free(slot->use);
    *slot = (struct slot){0};
}

char *slot_counterpart(const struct slot *slot, const ferry_view *view, unsigned char *bytes) {
    return (char *)bytes + ((char *)view->data - slot->block);
}

void slot_forget_use(struct slot *slot) {
    if (slot->live) {
        memset(slot->use, 0, slot->pages * sizeof *slot->use);
    }
}

/* Adds the bytes from `from` on, one page at a time. */
static void use_bytes(struct slot *slot, size_t from, size_t bytes, ferry_access access) {
    while (bytes > 0) {
        const size_t page = from / FERRY_PAGE_BYTES, room = (page + 1) * FERRY_PAGE_BYTES - from;
        const size_t here = bytes < room ? bytes : room;
        struct page_use *use = &slot->use[page];
        use->touched = true;
        use->read = use->read || (access & FERRY_READ) != 0;
        use->written = use->written || (access & FERRY_WRITE) != 0;
        use->covered += access == FERRY_WRITE ? (uint32_t)here : 0;
        from += here;
        bytes -= here;
    }
}

static void use_row(struct slot *slot, size_t first, const struct row *row, size_t item, ferry_access access) {
    if (row->stride == (int64_t)item) {
        use_bytes(slot, first, (size_t)row->count * item, access);
        return;
    }
    for (int64_t i = 0; i < row->count; i++) {
        use_bytes(slot, (size_t)((int64_t)first + i * row->stride), item, access);
    }
}

void slot_use(struct slot *slot, const ferry_view *view, ferry_access access) {
    struct rows rows = {.view = view};
    struct row row;
    const bool simple = access == FERRY_WRITE && ferry_view_is_c_contiguous(view);
    for (size_t i = 0; i < slot->pages; i++) {
        slot->use[i].again = slot->use[i].again || slot->use[i].touched;
        slot->use[i].covered = 0;
    }
    while (slot->pages > 0 && rows_next(&rows, &row)) {
        const size_t first = (size_t)((char *)view->data + row.offset - slot->block);
        use_row(slot, first, &row, ferry_dtype_size(view->dtype), access);
    }
    for (size_t i = 0; i < slot->pages; i++) {
        const bool full = slot->use[i].covered == page_bytes(slot, i);
        slot->use[i].full = slot->use[i].full || full;
        slot->use[i].simple = slot->use[i].simple || (full && simple);
    }
}

bool slot_reads_by_turns(const struct slot *slot, int side) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].read && slot->past[i].owner == side && slot->past[i].away) {
            return true;
        }
    }
    return false;
}

bool slot_allows(const struct world *world, const struct slot *slot, int side) {
    return !world->program->rules.strict || !slot_reads_by_turns(slot, side);
}

void slot_set_known(const struct slot *slot, const ferry_view *view, bool known) {
    const size_t n = (size_t)ferry_view_size(view);
    uint64_t *values = zeroed(n, sizeof *values);
    memset(values, known ? 0xff : 0, n * sizeof *values);
    view_scatter(view, slot_counterpart(slot, view, slot->mask), values);
    free(values);
}

static void report_difference(const struct world *world, const struct slot *slot, const ferry_view *view, size_t at,
                              uint64_t got, uint64_t want) {
    char text[400];
    describe(world, slot, view, text, sizeof text);
    fail(world, "contents: element %zu of %s is %#" PRIx64 ", not %#" PRIx64, at, text, got, want);
}

void slot_verify(const struct world *world, const struct slot *slot, const ferry_view *view) {
    const size_t n = (size_t)ferry_view_size(view), item = ferry_dtype_size(view->dtype);
    const uint64_t all = item == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * item)) - 1;
    uint64_t *got = zeroed(n, 8), *want = zeroed(n, 8), *known = zeroed(n, 8);
    view_gather(view, view->data, got);
    view_gather(view, slot_counterpart(slot, view, slot->shadow), want);
    view_gather(view, slot_counterpart(slot, view, slot->mask), known);
    for (size_t i = 0; i < n; i++) {
        if (got[i] != want[i] && known[i] == all) {
            report_difference(world, slot, view, i, got[i], want[i]);
        }
    }
    free(got);
    free(want);
    free(known);
}
