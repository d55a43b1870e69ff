#include "crossing.h"

#include "buffer.h"
#include "core.h"
#include "counters.h"
#include "deferred.h"
#include "plan.h"
#include "stream.h"

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

/* Whether another operand reads bytes on pages that operand `at` writes: what they hold must then survive. */
static bool read_by_others(const ferry_operand *operands, size_t n, size_t at, const char *low, const char *high) {
    const uintptr_t first = (uintptr_t)low / FERRY_PAGE_BYTES, last = ((uintptr_t)high - 1) / FERRY_PAGE_BYTES;
    for (size_t i = 0; i < n; i++) {
        char *other_low, *other_high;
        if (i == at || (operands[i].access & FERRY_READ) == 0) {
            continue;
        }
        bounds_of(operands[i].view, &other_low, &other_high);
        if (other_low != NULL && (uintptr_t)other_low / FERRY_PAGE_BYTES <= last &&
            ((uintptr_t)other_high - 1) / FERRY_PAGE_BYTES >= first) {
            return true;
        }
    }
    return false;
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

static void plan_operands(struct plan *plan, const ferry_operand *operands, size_t n, ferry_policy override) {
    for (size_t i = 0; i < n && plan->status == FERRY_OK; i++) {
        struct demand demand = {.access = operands[i].access};
        char *low, *high;
        bounds_of(operands[i].view, &low, &high);
        if (low == NULL || !storage_find(low, &demand.place)) {
            continue;
        }
        demand.policy = override == FERRY_POLICY_DEFAULT ? ferry_heap_policy(demand.place.region->heap) : override;
        demand.keep_contents = demand.access == FERRY_WRITE && read_by_others(operands, n, i, low, high);
        plan_view(plan, operands[i].view, &demand);
    }
}

/* Brings checked operands to the stream's device. Lock held. */
static ferry_status bring_to_device(const ferry_operand *operands, size_t n, ferry_stream *stream,
                                    ferry_policy override) {
    struct plan *plan = plan_begin(stream->device);
    plan_operands(plan, operands, n, override);
    ferry_status status = plan->status;
    status = status == FERRY_OK ? for_each_storage(operands, n, stream, 0, visit_wait) : status;
    if (status == FERRY_OK && plan->nmoves > 0) {
        status = core.backend->move(plan->moves, plan->nmoves, stream->native);
    }
    if (status != FERRY_OK) {
        plan_undo(plan);
        return status;
    }
    plan_commit(plan);
    if (plan->nmoves > 0) {
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

ferry_status ferry_acquire(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    ferry_stream *resolved = NULL;
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    status = check_operands(operands, n);
    status = status == FERRY_OK ? bring_to_device(operands, n, resolved, FERRY_POLICY_DEFAULT) : status;
    movement_unlock();
    return status;
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
    if (plan->status != FERRY_OK || plan->nmoves == 0) {
        return plan->status;
    }
    ferry_status status = stream_for_transfers(device_of_moves(plan), &transfers);
    status = status == FERRY_OK ? core.backend->move(plan->moves, plan->nmoves, transfers->native) : status;
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
static ferry_status bring_home(const ferry_operand *operand, ferry_policy override) {
    ferry_status status = core.hints
                              ? for_each_storage(operand, 1, NULL, 0, visit_wait_on_host)
                              /* Without concurrent access the host may not touch anything while any kernel runs. */
                              : stream_wait_for_all();
    if (status != FERRY_OK) {
        return status;
    }
    struct plan *plan = plan_begin(FERRY_PLACE_HOST);
    plan_operands(plan, operand, 1, override);
    status = carry_home(plan, operand);
    if (status != FERRY_OK) {
        plan_undo(plan);
        return status;
    }
    plan->skipped = 0;
    plan_commit(plan);
    return FERRY_OK;
}

static ferry_status host_acquire(const ferry_view *view, ferry_access access, ferry_policy override) {
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
    struct storage_place place;
    status = check_operand(&operand, &place, &low, &high);
    status = status == FERRY_OK ? bring_home(&operand, override) : status;
    movement_unlock();
    return status;
}

ferry_status ferry_host_acquire(const ferry_view *view, ferry_access access) {
    return host_acquire(view, access, FERRY_POLICY_DEFAULT);
}

ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access) {
    const ferry_view view = {
        .data = address, .dtype = FERRY_UINT8, .ndim = 1, .shape = {(int64_t)bytes}, .strides = {1}};
    return host_acquire(&view, access, FERRY_POLICY_DEFAULT);
}

ferry_status ferry_prefetch(const ferry_view *view, ferry_place to, ferry_stream *stream) {
    if (to == FERRY_PLACE_HOST) {
        return host_acquire(view, FERRY_READ, FERRY_POLICY_PREFETCH);
    }
    ferry_stream *resolved = NULL;
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_operand operand = {.view = view, .access = FERRY_READ};
    struct storage_place place;
    char *low, *high;
    status = check_operand(&operand, &place, &low, &high);
    if (status == FERRY_OK && to != resolved->device) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "a stream of device %d cannot prefetch to place %d",
                             resolved->device, to);
    }
    if (status == FERRY_OK && core.hints && low != NULL && !place.region->tiny) {
        status = bring_to_device(&operand, 1, resolved, FERRY_POLICY_PREFETCH);
    }
    movement_unlock();
    return status;
}

ferry_place ferry_view_place(const ferry_view *view) {
    struct extents extents;
    struct storage_place place;
    char *low, *high;
    bounds_of(view, &low, &high);
    if (low == NULL || !storage_find(low, &place) || reaches_beyond(&place, high)) {
        return FERRY_PLACE_HOST;
    }
    ferry_place found = FERRY_PLACE_MIXED;
    bool first = true;
    movement_lock();
    extents_begin(&extents, view);
    while (extents_next(&extents, &low, &high)) {
        size_t page = region_page(place.region, low);
        const size_t end_page = region_page(place.region, high - 1) + 1;
        while (page < end_page) {
            const struct residency_run run = residency_run_at(&place.region->residency, page, end_page);
            found = first || found == state_place(run.state) ? state_place(run.state) : FERRY_PLACE_MIXED;
            first = false;
            page = run.end_page;
        }
    }
    movement_unlock();
    return place.region->tiny && found == FERRY_PLACE_NOWHERE ? FERRY_PLACE_HOST : found;
}
