/*
 * The accounts of a program: what crossed must have been asked for, must be what the simulator saw, and must be counted
 * as redundant exactly when the same contents had crossed in the same direction before. Whether auto migrates or not is
 * its own business: what it chose is taken from what it did.
 */
#include <stdlib.h>

#include "alloc/backend_sim.h"
#include "alloc/counters.h"
#include "alloc/storage.h"
#include "coverage.h"
#include "policies.h"
#include "tests/test.h"

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
    /* A page that the library has never seen touched is made to be there before it is overwritten across the bus. */
    const bool unseen = slot->past[page].raw && use->full;
    if (move->before == move->to && !unseen) {
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
        *past = (struct page_past){.owner = (signed char)side, .raw = past->raw, .stray = past->stray};
    } else if (use->read && past->owner == NOBODY) {
        past->owner = (signed char)side;
    } else if (use->read && past->owner != side) {
        past->away = true;
    }
}

static void check_place(const struct world *world, const struct slot *slot, size_t page, ferry_place place) {
    const ferry_place truth = truth_at(world, slot->block + page * FERRY_PAGE_BYTES);
    if (truth != place && place != FERRY_PLACE_MIXED) {
        fail(world, "page %zu of a%d is used at %d but lies at %d", page, (int)(slot - world->slots), place, truth);
    }
}

static void account_slot(struct world *world, struct slot *slot, int side, ferry_place place) {
    bool touched = false;
    for (size_t i = 0; i < slot->pages; i++) {
        if (!slot->use[i].touched) {
            continue;
        }
        touched = true;
        note_use(&slot->past[i], &slot->use[i], side);
        slot->past[i].raw = slot->past[i].raw || (side == HOST_SIDE && !slot->use[i].written);
        if (world->program->rules.accounts) {
            check_place(world, slot, i, place);
        }
    }
    if (touched && side == HOST_SIDE && policy_of_use(world, slot, FERRY_POLICY_DEFAULT) == FERRY_POLICY_NONE) {
        strayed(world, slot);
    }
}

static void account_slots(struct world *world, int side, ferry_place place) {
    for (int i = 0; i <= SLOTS; i++) {
        if (world->slots[i].live) {
            account_slot(world, &world->slots[i], side, place);
        }
    }
    recorder_clear();
}

void account_step(struct world *world, int side, ferry_place place) {
    const struct recording *recording = recorder_recording();
    for (size_t i = 0; world->program->rules.accounts && i < recording->npages; i++) {
        account_move(world, &recording->pages[i]);
    }
    account_slots(world, side, place);
}

/* A page on the host is used across the bus. */
static void account_remote(struct world *world, const struct launched_operand *operand, size_t bytes, bool whole,
                           struct page_past *past) {
    if ((operand->access & FERRY_READ) != 0) {
        world->remote_bytes_to_device += bytes;
        world->redundant_bytes += past != NULL && past->crossed_to_device ? bytes : 0;
    }
    if ((operand->access & FERRY_WRITE) != 0) {
        world->remote_bytes_to_host += bytes;
    } else if (past != NULL) {
        past->crossed_to_device = past->crossed_to_device || whole;
    }
}

/* A page that stays where it is: the device's own, the host's, used across the bus, or another device's. */
static void account_in_place(struct world *world, const struct launched_operand *operand, size_t page,
                             const struct page_cover *cover) {
    const ferry_place truth = truth_at(world, operand->slot->block + page * FERRY_PAGE_BYTES);
    const size_t bytes = cover->high - cover->low;
    if (truth == FERRY_PLACE_HOST) {
        account_remote(world, operand, bytes, cover->whole, &operand->slot->past[page]);
    } else if (truth != world->launched_on) {
        world->peer_bytes += operand->access == FERRY_READWRITE ? 2 * bytes : bytes;
    }
}

/* What one operand does to one page: moves it, unless an operand before has, and uses it. */
static void account_page(struct world *world, const struct launched_operand *operand, size_t page,
                         const struct page_cover *cover) {
    struct page_past *past = &operand->slot->past[page];
    struct page_use *use = &operand->slot->use[page];
    use->policies |= 1U << operand->policy;
    if (use->move != NULL && !use->settled) {
        account_move(world, use->move);
        use->settled = true;
    } else {
        account_in_place(world, operand, page, cover);
    }
    if ((operand->access & FERRY_WRITE) != 0) {
        past->crossed_to_device = past->crossed_to_host = false;
    }
}

static void account_operand(struct world *world, const struct launched_operand *operand) {
    const struct slot *slot = operand->slot;
    struct page_cover *covers = coverage_of(&operand->view, slot->block, slot->bytes);
    if (slot->tiny) {
        account_remote(world, operand, coverage_bytes(covers, storage_pages(slot->bytes)), false, NULL);
    }
    for (size_t i = 0; i < slot->pages; i++) {
        if (covers[i].touched) {
            account_page(world, operand, i, &covers[i]);
        }
    }
    free(covers);
}

/* What is read is brought before what is only written. */
static void account_operands(struct world *world) {
    for (int writes = 0; writes < 2; writes++) {
        for (int i = 0; i < world->nlaunched; i++) {
            if ((world->launched[i].access == FERRY_WRITE) == (writes == 1)) {
                account_operand(world, &world->launched[i]);
            }
        }
    }
}

static bool follow_only(unsigned policies, ferry_policy one, ferry_policy other) {
    return (policies & ~(1U << one | 1U << other)) == 0;
}

/* Those of all operands in one storage: what one uses across the bus is not moved for another, nor is what lies beside
 * it in the same state. */
static unsigned policies_in(const struct world *world, const struct slot *slot) {
    unsigned policies = 0;
    for (int i = 0; i < world->nlaunched; i++) {
        policies |= world->launched[i].slot == slot ? 1U << world->launched[i].policy : 0;
    }
    return policies;
}

/* Whether what became of a page is something that its operands' policies, or those beside it, ask for. NULL: it is. */
static const char *complaint_about(const struct page_use *use, unsigned beside, ferry_place truth, int device) {
    const ferry_policy prefetch = FERRY_POLICY_PREFETCH, remote = FERRY_POLICY_REMOTE, none = FERRY_POLICY_NONE;
    if (use->move != NULL && use->move->to != device) {
        return "was moved elsewhere";
    }
    if (use->move != NULL && follow_only(use->policies, none, none)) {
        return "was moved, though nothing was to be done";
    }
    if (use->move != NULL && use->move->before < 0 && follow_only(use->policies, remote, none)) {
        return "was moved, though it was to be used across the bus";
    }
    if (use->move == NULL && truth < 0 && follow_only(beside, prefetch, prefetch)) {
        return "is used across the bus, though it was to be prefetched";
    }
    /* An operand of policy none that comes first has the kernel make them. */
    if (use->before == FERRY_PLACE_NOWHERE && truth < 0 && !use->filled && (use->policies & 1U << none) == 0) {
        return "is used across the bus, but did not exist";
    }
    if (truth >= 0 && truth != device && !follow_only(use->policies, none, none)) {
        return "was left on another device";
    }
    return NULL;
}

static void check_choices(const struct world *world, const struct slot *slot, int device) {
    const unsigned beside = policies_in(world, slot);
    for (size_t i = 0; i < slot->pages; i++) {
        const ferry_place truth = truth_at(world, slot->block + i * FERRY_PAGE_BYTES);
        const char *complaint = slot->use[i].touched ? complaint_about(&slot->use[i], beside, truth, device) : NULL;
        if (complaint != NULL) {
            fail(world, "page %zu of a%d %s; it lies at %d", i, (int)(slot - world->slots), complaint, truth);
        }
    }
}

/* Every move with the page that it concerns. */
static void assign_moves(struct world *world) {
    const struct recording *recording = recorder_recording();
    for (size_t i = 0; i < recording->npages; i++) {
        size_t page;
        const struct slot *slot = slot_of(world, recording->pages[i].page, &page);
        const struct recorded_page *move = &recording->pages[i];
        struct page_use *use = &slot->use[page];
        if (use->move != NULL || use->filled) {
            fail(world, "page %zu of a%d was moved twice", page, (int)(slot - world->slots));
        }
        check_move(world, move, slot, page);
        /* Pages that are nowhere are made on the host, where the kernel is to use them. */
        use->filled = move->before < 0 && move->to == FERRY_PLACE_HOST;
        use->move = use->filled ? NULL : move;
    }
}

void account_before_launch(struct world *world) {
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &world->slots[i];
        for (size_t j = 0; slot->live && j < slot->pages; j++) {
            slot->use[j].before = truth_at(world, slot->block + j * FERRY_PAGE_BYTES);
        }
    }
}

void account_launch(struct world *world, int device) {
    world->launched_on = device;
    if (world->program->rules.accounts) {
        assign_moves(world);
        account_operands(world);
        for (int i = 0; i < SLOTS; i++) {
            check_choices(world, &world->slots[i], device);
        }
    }
    account_slots(world, DEVICE_SIDE, FERRY_PLACE_MIXED);
}

void account_reset(struct world *world) {
    world->truth_from = world->program->rules.cuda ? (backend_measure){0} : backend_sim_totals();
    world->redundant_bytes = world->peer_bytes = 0;
    world->remote_bytes_to_device = world->remote_bytes_to_host = 0;
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
    if (recorder_recording()->complaint != NULL) {
        fail(world, "the backend was given %s", recorder_recording()->complaint);
    }
    if (world->program->rules.cuda) {
        return;
    }
    if (!world->program->rules.faults) {
        compare(world, "unsynchronised host accesses", backend_sim_unsynchronised(), 0);
    }
    if (!world->program->rules.accounts) {
        return;
    }
    const backend_measure now = backend_sim_totals(), *from = &world->truth_from;
#define COMPARE(name, truth) compare(world, #name, atomic_load(&counters.name), truth)
    COMPARE(bytes_to_device,
            now.bytes_to_device - from->bytes_to_device + now.remote_bytes_to_device - from->remote_bytes_to_device);
    COMPARE(bytes_to_host,
            now.bytes_to_host - from->bytes_to_host + now.remote_bytes_to_host - from->remote_bytes_to_host);
    COMPARE(prefetched_bytes_to_device, now.prefetched_bytes_to_device - from->prefetched_bytes_to_device);
    COMPARE(prefetched_bytes_to_host, now.prefetched_bytes_to_host - from->prefetched_bytes_to_host);
    /* What one device loads from another's pages is not counted: no such page has moved. */
    COMPARE(bytes_between_devices, now.bytes_between_devices - from->bytes_between_devices - world->peer_bytes);
    COMPARE(remote_bytes_to_device, now.remote_bytes_to_device - from->remote_bytes_to_device);
    COMPARE(remote_bytes_to_host, now.remote_bytes_to_host - from->remote_bytes_to_host);
    COMPARE(remote_bytes_to_device, world->remote_bytes_to_device);
    COMPARE(remote_bytes_to_host, world->remote_bytes_to_host);
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
