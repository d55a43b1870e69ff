#include "crossing.h"

#include <string.h>

#include "buffer.h"
#include "caller.h"
#include "core.h"
#include "counters.h"
#include "finding.h"
#include "link.h"
#include "stream.h"

static _Thread_local ferry_policy thread_policy;

static void bounds_of(const ferry_view *view, char **low, char **high) {
    struct extents extents;
    extents_begin(&extents, view);
    extents_bounds(&extents, low, high);
}

/* Whether a view that begins in the place and ends at `high` leaves it. Tiny storages share pages: there the region
 * bounds it. */
static bool reaches_beyond(const struct storage_place *place, const char *high) {
    return place->region->tiny ? region_find(high - 1) != place->region : high > place->base + place->bytes;
}

/* Finds the storage that a view of some elements lies in. */
static ferry_status find_storage(const ferry_view *view, const char *low, const char *high,
                                 struct storage_place *place) {
    if (!storage_find(low, place)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p does not lie in ferry's memory", view->data);
    }
    if (reaches_beyond(place, high)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p reaches beyond its block of %zu bytes", view->data,
                           place->bytes);
    }
    return FERRY_OK;
}

static ferry_status check_operand(const ferry_operand *operand, struct storage_place *place, char **low, char **high) {
    const ferry_view *view = operand->view;
    if (operand->access < FERRY_READ || operand->access > FERRY_READWRITE) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no access", (int)operand->access);
    }
    if (view->readonly && (operand->access & FERRY_WRITE) != 0) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p is read-only", view->data);
    }
    bounds_of(view, low, high);
    return *low == NULL ? FERRY_OK : find_storage(view, *low, *high, place);
}

static ferry_status check_operands(const ferry_operand *operands, size_t n) {
    struct storage_place place;
    char *low, *high;
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < n && status == FERRY_OK; i++) {
        status = check_operand(&operands[i], &place, &low, &high);
    }
    return status;
}

/* An address of the first record that concerns what lies at `low`. */
static char *first_record(char *low) {
    const struct region *region = region_find(low);
    const bool may_begin_before = region != NULL && region->tiny && region_page(region, low) > 0;
    return may_begin_before ? low - FERRY_PAGE_BYTES : low;
}

/* Calls `visit` with the page record, or the storage's, of every operand that has elements. They have been checked. */
static ferry_status for_each_storage(const ferry_operand *operands, size_t n, ferry_stream *stream, uint64_t number,
                                     ferry_status (*visit)(struct storage *, ferry_access, ferry_stream *, uint64_t)) {
    for (size_t i = 0; i < n; i++) {
        struct storage_place place;
        char *low, *high;
        bounds_of(operands[i].view, &low, &high);
        /* In a tiny region, whose storages may lie on two pages, each page has a record, and that of the page where
         * the storage begins is what its free looks at. */
        char *at = low == NULL ? NULL : first_record(low);
        while (at != NULL && at < high) {
            if (!storage_find(at, &place)) {
                break;
            }
            const ferry_status status = visit(place.storage, operands[i].access, stream, number);
            if (status != FERRY_OK) {
                return status;
            }
            at = place.region->tiny ? place.base + FERRY_PAGE_BYTES : high;
        }
    }
    return FERRY_OK;
}

static ferry_status visit_wait(struct storage *storage, ferry_access access, ferry_stream *stream, uint64_t number) {
    (void)number;
    return use_wait_on_stream(storage, access, stream);
}

static ferry_status visit_record(struct storage *storage, ferry_access access, ferry_stream *stream, uint64_t number) {
    use_record(storage, access, stream, number);
    return FERRY_OK;
}

static ferry_status visit_wait_on_host(struct storage *storage, ferry_access access, ferry_stream *stream,
                                       uint64_t number) {
    (void)stream, (void)number;
    return use_wait_on_host(storage, access);
}

/* The policy of one use: the narrowest scope that names one. */
static ferry_policy policy_of(const ferry_operand *operand, const struct storage_place *place, ferry_policy forced) {
    const ferry_policy scopes[] = {forced, operand->policy, thread_policy, place->storage->memories.policy};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        if (scopes[i] != FERRY_POLICY_DEFAULT) {
            return scopes[i];
        }
    }
    return ferry_heap_policy(place->region->heap);
}

static unsigned passes_of(const ferry_operand *operand) {
    return operand->passes <= 0                  ? FERRY_PASSES_MANY
           : operand->passes > FERRY_PASSES_MANY ? FERRY_PASSES_MANY
                                                 : (unsigned)operand->passes;
}

static bool share_pages(const char *low, const char *high, const char *other_low, const char *other_high) {
    return other_low != NULL && (uintptr_t)other_low / FERRY_PAGE_BYTES <= ((uintptr_t)high - 1) / FERRY_PAGE_BYTES &&
           ((uintptr_t)other_high - 1) / FERRY_PAGE_BYTES >= (uintptr_t)low / FERRY_PAGE_BYTES;
}

/* What the launch's other operands do on the pages of operand `at`: a byte that one reads must survive another's
 * overwriting, and no page is decided about twice. */
static void consider_others(struct demand *demand, const ferry_operand *operands, size_t n, size_t at, const char *low,
                            const char *high) {
    const bool reads = (demand->access & FERRY_READ) != 0;
    for (size_t i = 0; i < n; i++) {
        char *other_low, *other_high;
        if (i == at) {
            continue;
        }
        bounds_of(operands[i].view, &other_low, &other_high);
        if (!share_pages(low, high, other_low, other_high)) {
            continue;
        }
        const bool other_reads = (operands[i].access & FERRY_READ) != 0;
        demand->keep_contents = demand->keep_contents || (other_reads && !reads);
        demand->pages_access |= operands[i].access;
        /* Readers are planned before those that only write, each in the operands' order. */
        demand->shares_pages = demand->shares_pages || (other_reads == reads ? i < at : other_reads);
    }
}

static void plan_operand(struct plan *plan, const ferry_operand *operands, size_t n, size_t at, ferry_policy forced) {
    const ferry_operand *operand = &operands[at];
    struct demand demand = {.access = operand->access, .pages_access = operand->access, .passes = passes_of(operand)};
    char *low, *high;
    bounds_of(operand->view, &low, &high);
    if (low == NULL || !storage_find(low, &demand.place)) {
        return;
    }
    memories_begin(&demand.place, plan->user >= 0 && demand.access == FERRY_WRITE);
    demand.policy = policy_of(operand, &demand.place, forced);
    if (plan->user >= 0 && (demand.policy == FERRY_POLICY_AUTO || demand.policy == FERRY_POLICY_PREFETCH)) {
        observe_storage(&demand.place);
    }
    if (n > 1) {
        consider_others(&demand, operands, n, at, low, high);
    }
    plan_view(plan, operand->view, &demand);
}

/* Readers first: where a result goes depends on where they will be. */
static void plan_operands(struct plan *plan, const ferry_operand *operands, size_t n, ferry_policy forced) {
    for (int writers = 0; writers < 2; writers++) {
        for (size_t i = 0; i < n && plan->status == FERRY_OK; i++) {
            if ((operands[i].access == FERRY_WRITE) == (writers != 0)) {
                plan_operand(plan, operands, n, i, forced);
            }
        }
    }
}

/* An acquire: what is asked for, and what has to be said of it once the lock is let go. */
struct acquire {
    const ferry_operand *operands;
    size_t n;
    ferry_policy forced; /* over all scopes; FERRY_POLICY_DEFAULT: none */
    ferry_site site;
    struct strict_crossing finding; /* of strict mode's, when the status is one of its */
};

static ferry_status issue_moves(const struct move_list *list, ferry_stream *stream) {
    return list->n == 0 ? FERRY_OK : core.backend->move(list->moves, list->n, stream->native);
}

/* Brings checked operands to the stream's device. Lock held. */
static ferry_status bring_to_device(struct acquire *acquire, ferry_stream *stream) {
    const ferry_operand *operands = acquire->operands;
    const size_t n = acquire->n;
    struct plan *plan = plan_begin(stream->device, link_costs(stream->device));
    plan_operands(plan, operands, n, acquire->forced);
    ferry_status status = finding_in_plan(plan, acquire->site, &acquire->finding);
    status = status == FERRY_OK ? for_each_storage(operands, n, stream, 0, visit_wait) : status;
    status = status == FERRY_OK ? issue_moves(&plan->fills, stream) : status;
    status = status == FERRY_OK ? issue_moves(&plan->moves, stream) : status;
    if (status != FERRY_OK) {
        plan_undo(plan);
        return status;
    }
    plan_commit(plan, acquire->site);
    if (plan->moves.n > 0 || plan->fills.n > 0) {
        /* A discard in flight must not meet the block's next owner, even if no launch follows. */
        (void)for_each_storage(operands, n, stream, stream_issue(stream), visit_record);
    }
    return FERRY_OK;
}

static ferry_status begin(ferry_stream *stream, ferry_stream **resolved) {
    ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    movement_lock();
    status = stream_resolve(stream, resolved);
    if (status != FERRY_OK) {
        movement_unlock();
    }
    return status;
}

/* Lets go of the lock, then says what strict mode found. */
static ferry_status end(const struct acquire *acquire, ferry_status status) {
    movement_unlock();
    return finding_tell(status, &acquire->finding);
}

ferry_status ferry_acquire(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    struct acquire acquire = {.operands = operands, .n = n, .site = CALLER_SITE()};
    ferry_stream *resolved = NULL;
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    status = check_operands(operands, n);
    status = status == FERRY_OK ? finding_of_touch(acquire.site, &acquire.finding) : status;
    status = status == FERRY_OK ? bring_to_device(&acquire, resolved) : status;
    return end(&acquire, status);
}

/* Tells a backend that cannot see for itself what the work just queued touches. Lock held. */
static ferry_status declare_touches(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    static backend_touch *touches;
    static size_t room;
    size_t ntouches = 0;
    if (core.backend->touch == NULL) {
        return FERRY_OK;
    }
    for (size_t i = 0; i < n; i++) {
        struct extents extents;
        char *low, *high;
        extents_begin(&extents, operands[i].view);
        while (extents_next(&extents, &low, &high)) {
            if (!buffer_reserve((void **)&touches, sizeof *touches, ntouches, &room)) {
                return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to declare %zu ranges", ntouches + 1);
            }
            touches[ntouches++] = (backend_touch){low, (size_t)(high - low), operands[i].access};
        }
    }
    return ntouches == 0 ? FERRY_OK : core.backend->touch(touches, ntouches, stream->native);
}

ferry_status ferry_complete(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    ferry_stream *resolved = NULL;
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    status = check_operands(operands, n);
    if (status == FERRY_OK) {
        (void)for_each_storage(operands, n, resolved, stream_issue(resolved), visit_record);
        COUNT(launches, 1);
        status = declare_touches(operands, n, resolved);
    }
    movement_unlock();
    return status;
}

/* Device of the first page that a plan brings home. */
static int device_of_moves(const struct plan *plan) {
    for (size_t i = 0; i < plan->nsteps; i++) {
        const ferry_place place = state_place(plan->steps[i].before);
        if (place >= 0) {
            return place;
        }
    }
    return 0;
}

static ferry_status carry_home(const struct plan *plan, const ferry_operand *operand) {
    ferry_stream *transfers = NULL;
    if (plan->status != FERRY_OK || plan->moves.n == 0) {
        return plan->status;
    }
    ferry_status status = stream_for_transfers(device_of_moves(plan), &transfers);
    status = status == FERRY_OK ? issue_moves(&plan->moves, transfers) : status;
    if (status != FERRY_OK) {
        return status;
    }
    status = core.backend->stream_sync(transfers->native);
    if (status != FERRY_OK && operand->access == FERRY_WRITE) {
        /* A discard that nobody has waited for must not meet what is written next. */
        (void)for_each_storage(operand, 1, transfers, stream_issue(transfers), visit_record);
    }
    return status;
}

/* Brings a checked operand home, when its kernels have ended. Lock held. */
static ferry_status bring_home(struct acquire *acquire) {
    const ferry_operand *operand = acquire->operands;
    ferry_status status = core.hints
                              ? for_each_storage(operand, 1, NULL, 0, visit_wait_on_host)
                              /* Without concurrent access the host may not touch anything while any kernel runs. */
                              : stream_wait_for_all();
    if (status != FERRY_OK) {
        return status;
    }
    struct plan *plan = plan_begin(FERRY_PLACE_HOST, NULL);
    plan_operands(plan, operand, 1, acquire->forced);
    status = finding_in_plan(plan, acquire->site, &acquire->finding);
    status = status == FERRY_OK ? carry_home(plan, operand) : status;
    if (status != FERRY_OK) {
        plan_undo(plan);
        return status;
    }
    plan->skipped = 0;
    plan_commit(plan, acquire->site);
    observe_begin_round();
    return FERRY_OK;
}

static ferry_status host_acquire(const ferry_view *view, ferry_access access, ferry_policy forced, ferry_site site) {
    char *low, *high;
    bounds_of(view, &low, &high);
    if (low == NULL || region_find(low) == NULL) {
        return FERRY_OK;
    }
    ferry_stream *any = NULL;
    ferry_status status = begin(NULL, &any);
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_operand operand = {.view = view, .access = access};
    struct acquire acquire = {.operands = &operand, .n = 1, .forced = forced, .site = site};
    struct storage_place place;
    status = check_operand(&operand, &place, &low, &high);
    status = status == FERRY_OK ? finding_of_touch(site, &acquire.finding) : status;
    status = status == FERRY_OK ? bring_home(&acquire) : status;
    return end(&acquire, status);
}

ferry_status ferry_host_acquire(const ferry_view *view, ferry_access access) {
    return host_acquire(view, access, FERRY_POLICY_DEFAULT, CALLER_SITE());
}

ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access) {
    const ferry_view view = {
        .data = address, .dtype = FERRY_UINT8, .ndim = 1, .shape = {(int64_t)bytes}, .strides = {1}};
    return host_acquire(&view, access, FERRY_POLICY_DEFAULT, CALLER_SITE());
}

ferry_status ferry_prefetch(const ferry_view *view, ferry_place to, ferry_stream *stream) {
    if (to == FERRY_PLACE_HOST) {
        return host_acquire(view, FERRY_READ, FERRY_POLICY_PREFETCH, CALLER_SITE());
    }
    ferry_stream *resolved = NULL;
    const ferry_operand operand = {.view = view, .access = FERRY_READ};
    struct acquire acquire = {.operands = &operand, .n = 1, .forced = FERRY_POLICY_PREFETCH, .site = CALLER_SITE()};
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    struct storage_place place;
    char *low, *high;
    status = check_operand(&operand, &place, &low, &high);
    if (status == FERRY_OK && to != resolved->device) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "a stream of device %d cannot prefetch to place %d",
                             resolved->device, to);
    }
    if (status == FERRY_OK && core.hints && low != NULL && !place.region->tiny) {
        status = bring_to_device(&acquire, resolved);
    }
    return end(&acquire, status);
}

ferry_policy ferry_thread_policy_set(ferry_policy policy) {
    const ferry_policy before = thread_policy;
    thread_policy = policy;
    return before;
}

ferry_status ferry_advise(const ferry_view *view, const ferry_advice *advice) {
    ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    if (strcmp(ferry_policy_name(advice->policy), "unknown") == 0 || advice->passes < 0) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "advice of policy %d and %d passes", (int)advice->policy,
                           advice->passes);
    }
    char *low, *high;
    struct storage_place place;
    bounds_of(view, &low, &high);
    if (low == NULL) {
        return FERRY_OK;
    }
    movement_lock();
    status = find_storage(view, low, high, &place);
    if (status == FERRY_OK && !place.region->tiny) {
        memories_begin(&place, false);
        place.storage->memories.policy = advice->policy;
        place.storage->memories.history.advised = (uint16_t)clamp_passes((unsigned)advice->passes);
    }
    movement_unlock();
    return status;
}

ferry_status crossing_find(const ferry_view *view, char **low, char **high, struct storage_place *place) {
    bounds_of(view, low, high);
    if (*low == NULL) {
        return ferry_error(FERRY_NOT_FOUND, "a view without elements lies nowhere");
    }
    return find_storage(view, *low, *high, place);
}

ferry_place crossing_place(const ferry_view *view, const struct storage_place *place) {
    struct extents extents;
    char *low, *high;
    ferry_place found = FERRY_PLACE_MIXED;
    bool first = true;
    extents_begin(&extents, view);
    while (extents_next(&extents, &low, &high)) {
        size_t page = region_page(place->region, low);
        const size_t end_page = region_page(place->region, high - 1) + 1;
        while (page < end_page) {
            const struct residency_run run = residency_run_at(&place->region->residency, page, end_page);
            found = first || found == state_place(run.state) ? state_place(run.state) : FERRY_PLACE_MIXED;
            first = false;
            page = run.end_page;
        }
    }
    return place->region->tiny && found == FERRY_PLACE_NOWHERE ? FERRY_PLACE_HOST : found;
}

ferry_place ferry_view_place(const ferry_view *view) {
    struct storage_place place;
    char *low, *high;
    bounds_of(view, &low, &high);
    if (low == NULL || !storage_find(low, &place) || reaches_beyond(&place, high)) {
        return FERRY_PLACE_HOST;
    }
    movement_lock();
    const ferry_place found = crossing_place(view, &place);
    movement_unlock();
    return found;
}
