#include "plan.h"

#include <sys/mman.h>

#include "buffer.h"
#include "core.h"
#include "counters.h"

static struct plan shared;

struct plan *plan_begin(ferry_place user) {
    struct plan *plan = &shared;
    plan->user = user;
    plan->nsteps = plan->nmoves = 0;
    plan->remote_bytes_to_device = plan->remote_bytes_to_host = plan->skipped = 0;
    plan->status = FERRY_OK;
    return plan;
}

/* Room for one more. */
static bool reserve_one(struct plan *plan, void **items, size_t item_bytes, size_t count, size_t *room) {
    if (buffer_reserve(items, item_bytes, count, room)) {
        return true;
    }
    plan->status = ferry_error(FERRY_OUT_OF_MEMORY, "no memory to plan a movement of %zu ranges", count);
    return false;
}

static bool add_step(struct plan *plan, const struct step *step) {
    if (!reserve_one(plan, (void **)&plan->steps, sizeof *plan->steps, plan->nsteps, &plan->steps_room)) {
        return false;
    }
    plan->steps[plan->nsteps++] = *step;
    return true;
}

/* Joins the move before when the two are one range. */
static bool add_move(struct plan *plan, const struct step *step) {
    char *address = step->region->base + step->first_page * FERRY_PAGE_BYTES;
    const size_t bytes = (step->end_page - step->first_page) * FERRY_PAGE_BYTES;
    const backend_move_kind kind =
        step->action == POLICY_DISCARD_PREFETCH ? BACKEND_DISCARD_PREFETCH : BACKEND_PREFETCH;
    backend_move *last = plan->nmoves == 0 ? NULL : &plan->moves[plan->nmoves - 1];
    if (last != NULL && last->kind == kind && (char *)last->address + last->bytes == address &&
        region_find(last->address) == step->region) {
        last->bytes += bytes;
        return true;
    }
    if (!reserve_one(plan, (void **)&plan->moves, sizeof *plan->moves, plan->nmoves, &plan->moves_room)) {
        return false;
    }
    plan->moves[plan->nmoves++] = (backend_move){address, bytes, plan->user, kind};
    return true;
}

/*
 * Pages that the library has never seen touched may have been filled by a host that did not say so. The kernel's page
 * tables know: shortens the run to pages that agree, and tells whether they are there. When it cannot be told, they
 * count as there.
 */
static bool host_has_touched(const struct region *region, struct residency_run *run) {
    enum { PAGES_AT_ONCE = 4096 };
    unsigned char present[PAGES_AT_ONCE];
    size_t page = run->first_page;
    bool first = false;
    while (page < run->end_page) {
        const size_t n = run->end_page - page < PAGES_AT_ONCE ? run->end_page - page : PAGES_AT_ONCE;
        if (mincore(region->base + page * FERRY_PAGE_BYTES, n * FERRY_PAGE_BYTES, present) != 0) {
            return true;
        }
        first = page == run->first_page ? (present[0] & 1) != 0 : first;
        for (size_t i = 0; i < n; i++, page++) {
            if (((present[i] & 1) != 0) != first) {
                run->end_page = page;
                return first;
            }
        }
    }
    return first;
}

static bool travels(policy_action action) {
    return action == POLICY_PREFETCH || action == POLICY_FAULT;
}

static bool from_host_to_device(const struct step *step) {
    return travels(step->action) && state_place(step->before) == FERRY_PLACE_HOST && state_place(step->after) >= 0;
}

static bool from_device_to_host(const struct step *step) {
    return travels(step->action) && state_place(step->before) >= 0 && state_place(step->after) == FERRY_PLACE_HOST;
}

/* Where the pages are afterwards, and what is then known of their contents. */
static page_state state_after(const struct plan *plan, struct step *step, ferry_access access) {
    ferry_place place = state_place(step->before);
    if (step->action == POLICY_REMOTE) {
        place = place == FERRY_PLACE_NOWHERE ? FERRY_PLACE_HOST : place;
    } else if (step->action != POLICY_KEEP || (access & FERRY_WRITE) != 0) {
        /* A host that may read pages nobody has touched need not do so: they stay nowhere. */
        place = plan->user;
    }
    step->after = state_of_place(place);
    if ((access & FERRY_WRITE) != 0 || step->action == POLICY_DISCARD_PREFETCH) {
        return step->after;
    }
    page_state flags = step->before & STATE_CROSSED;
    flags |= from_host_to_device(step) ? STATE_CROSSED_TO_DEVICE : 0;
    flags |= from_device_to_host(step) ? STATE_CROSSED_TO_HOST : 0;
    return step->after | flags;
}

/* Plans pages of one storage that are used in one way; whether anything has to be moved. */
static bool plan_pages(struct plan *plan, const struct demand *demand, size_t first_page, size_t end_page,
                       bool overwritten) {
    struct region *region = demand->place.region;
    bool moved = false;
    while (first_page < end_page && plan->status == FERRY_OK) {
        struct residency_run run = residency_run_at(&region->residency, first_page, end_page);
        if (state_place(run.state) == FERRY_PLACE_NOWHERE && !overwritten && plan->user >= 0 && !region->tiny &&
            host_has_touched(region, &run)) {
            run.state = state_of_place(FERRY_PLACE_HOST);
        }
        first_page = run.end_page;
        const struct policy_question question = {demand->policy,         core.hints, region->tiny, overwritten,
                                                 state_place(run.state), plan->user};
        struct step step = {region, run.first_page, run.end_page, run.state, run.state, policy_decide(&question)};
        const bool move = step.action == POLICY_PREFETCH || step.action == POLICY_DISCARD_PREFETCH;
        step.after = state_after(plan, &step, demand->access);
        if (step.action == POLICY_KEEP && step.after == step.before) {
            continue;
        }
        if (!add_step(plan, &step) || (move && !add_move(plan, &step))) {
            break;
        }
        moved = moved || move;
        residency_set(&region->residency, run.first_page, run.end_page, step.after);
    }
    return moved;
}

/* What lay in the block before it was allocated is nobody's contents any more. */
static void freshen(const struct storage_place *place) {
    if (place->storage->fresh && !place->region->tiny) {
        const size_t first = region_page(place->region, place->base);
        residency_clear_flags(&place->region->residency, first, first + place->storage->pages, STATE_CROSSED);
        place->storage->fresh = false;
    }
}

/* Whole pages inside the run are the view's own; a page that it shares, at either edge, is not. Behind the storage's
 * last byte there is nobody. */
static bool plan_run(struct plan *plan, const struct demand *demand, const char *begin, const char *end, bool owned) {
    const struct region *region = demand->place.region;
    if (end == demand->place.base + demand->place.bytes) {
        end = demand->place.base + storage_pages(demand->place.bytes) * FERRY_PAGE_BYTES;
    }
    const size_t begin_bytes = (size_t)(begin - region->base), end_bytes = (size_t)(end - region->base);
    const size_t first = begin_bytes / FERRY_PAGE_BYTES, last = storage_pages(end_bytes);
    const size_t inner = storage_pages(begin_bytes), inner_end = end_bytes / FERRY_PAGE_BYTES;
    if (!owned || inner >= inner_end) {
        return plan_pages(plan, demand, first, last, false);
    }
    bool moved = plan_pages(plan, demand, first, inner, false);
    moved = plan_pages(plan, demand, inner, inner_end, true) || moved;
    return plan_pages(plan, demand, inner_end, last, false) || moved;
}

static void count_remote(struct plan *plan, ferry_access access, size_t bytes) {
    plan->remote_bytes_to_device += (access & FERRY_READ) != 0 ? bytes : 0;
    plan->remote_bytes_to_host += (access & FERRY_WRITE) != 0 ? bytes : 0;
}

void plan_view(struct plan *plan, const ferry_view *view, const struct demand *demand) {
    struct extents extents;
    char *begin, *end;
    bool moved = false;
    freshen(&demand->place);
    extents_begin(&extents, view);
    const bool owned = demand->access == FERRY_WRITE && extents.dense && !demand->keep_contents;
    const bool remote = demand->place.region->tiny && core.hints && plan->user >= 0;
    while (plan->status == FERRY_OK && extents_next(&extents, &begin, &end)) {
        moved = plan_run(plan, demand, begin, end, owned) || moved;
        if (remote) {
            count_remote(plan, demand->access, (size_t)(end - begin));
        }
    }
    plan->skipped += !moved && !remote && demand->policy != FERRY_POLICY_NONE ? 1 : 0;
}

static void count_step(const struct step *step) {
    const size_t bytes = (step->end_page - step->first_page) * FERRY_PAGE_BYTES;
    const bool ours = step->action == POLICY_PREFETCH;
    if (step->action == POLICY_DISCARD_PREFETCH && state_place(step->before) != FERRY_PLACE_NOWHERE) {
        COUNT(discarded_bytes, bytes);
    } else if (from_host_to_device(step)) {
        COUNT(bytes_to_device, bytes);
        COUNT(prefetched_bytes_to_device, ours ? bytes : 0);
        COUNT(redundant_bytes, (step->before & STATE_CROSSED_TO_DEVICE) != 0 ? bytes : 0);
    } else if (from_device_to_host(step)) {
        COUNT(bytes_to_host, bytes);
        COUNT(prefetched_bytes_to_host, ours ? bytes : 0);
        COUNT(redundant_bytes, (step->before & STATE_CROSSED_TO_HOST) != 0 ? bytes : 0);
    } else if (travels(step->action) && state_place(step->before) >= 0) {
        COUNT(bytes_between_devices, bytes);
    }
}

void plan_commit(const struct plan *plan) {
    for (size_t i = 0; i < plan->nsteps; i++) {
        count_step(&plan->steps[i]);
    }
    COUNT(bytes_to_device, plan->remote_bytes_to_device);
    COUNT(remote_bytes_to_device, plan->remote_bytes_to_device);
    COUNT(bytes_to_host, plan->remote_bytes_to_host);
    COUNT(remote_bytes_to_host, plan->remote_bytes_to_host);
    COUNT(prefetches_issued, plan->nmoves);
    COUNT(prefetches_skipped, plan->skipped);
}

void plan_undo(const struct plan *plan) {
    for (size_t i = plan->nsteps; i > 0; i--) {
        const struct step *step = &plan->steps[i - 1];
        residency_set(&step->region->residency, step->first_page, step->end_page, step->before);
    }
}
