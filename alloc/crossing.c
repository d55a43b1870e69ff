#include "crossing.h"

#include "buffer.h"
#include "caller.h"
#include "core.h"
#include "counters.h"
#include "finding.h"
#include "hot.h"
#include "in_place.h"
#include "link.h"
#include "operands.h"
#include "options.h"
#include "stream.h"

static ferry_status visit_wait_on_host(struct storage *storage, ferry_access access, ferry_stream *stream) {
    (void)stream;
    return use_wait_on_host(storage, access);
}

/* What an acquire says of its operands' uses beside what they do themselves. */
struct scopes {
    ferry_policy forced; /* over all others; FERRY_POLICY_DEFAULT: none */
    ferry_policy thread;
    bool by_hand; /* a move, which uses nothing */
};

static uintptr_t page_of(const char *address) {
    return (uintptr_t)address / FERRY_PAGE_BYTES;
}

static bool share_pages(const struct operand *a, const struct operand *b) {
    return a->low != NULL && b->low != NULL && page_of(a->low) <= page_of(b->high - 1) &&
           page_of(b->low) <= page_of(a->high - 1);
}

/* What the launch's other operands do on the pages of operand `at`: a byte that one reads must survive another's
 * overwriting, and no page is decided about twice. */
static void consider_others(struct demand *demand, const struct operands *operands, size_t at) {
    const bool reads = (demand->access & FERRY_READ) != 0;
    unsigned passes = demand->passes;
    for (size_t i = 0; i < operands->n; i++) {
        if (i == at || !share_pages(&operands->items[at], &operands->items[i])) {
            continue;
        }
        const ferry_access other = operands->items[i].given->access;
        const bool other_reads = (other & FERRY_READ) != 0;
        demand->keep_contents = demand->keep_contents || (other_reads && !reads);
        demand->pages_access |= other;
        passes += reads && other_reads ? operand_passes(operands->items[i].given) : 0;
        passes = passes < FERRY_PASSES_MANY ? passes : FERRY_PASSES_MANY;
        /* Readers are planned before those that only write, each in the operands' order. */
        demand->shares_pages = demand->shares_pages || (other_reads == reads ? i < at : other_reads);
    }
    demand->passes = passes;
}

/* What has to be known of an operand's storage before anything is planned: a page that is planned to move is still
 * where it was. */
static void prepare_operand(const struct plan *plan, struct operand *operand, const struct scopes *scopes) {
    if (operand->low == NULL) {
        return;
    }
    if (operand->place.storage->fresh) {
        memories_begin(&operand->place);
    }
    if (operand->place.storage->memories.exports > 0) {
        memories_suspect(&operand->place);
    }
    if (!scopes->by_hand) {
        memories_use(&operand->place.storage->memories, plan->user >= 0 && operand->given->access == FERRY_WRITE);
    }
    operand->policy = scopes->forced != FERRY_POLICY_DEFAULT ? scopes->forced : operand_policy(operand, scopes->thread);
    if (plan->user >= 0 && observe_wanted(operand->policy)) {
        observe_storage(&operand->place);
    }
}

static void plan_operand(struct plan *plan, const struct operands *operands, size_t at, bool by_hand) {
    const struct operand *operand = &operands->items[at];
    if (operand->low == NULL) {
        return;
    }
    struct demand demand = {.place = &operand->place,
                            .policy = operand->policy,
                            .access = operand->given->access,
                            .pages_access = operand->given->access,
                            .passes = operand_passes(operand->given),
                            .counted = by_hand ? 0 : operand_passes_counted(operand->given),
                            .keep_contents = operand->place.storage->memories.exports > 0,
                            .by_hand = by_hand};
    if (operand->contiguous && plan_in_place(plan, operand->low, operand->high, &demand)) {
        return;
    }
    if (operands->n > 1) {
        consider_others(&demand, operands, at);
    }
    plan_view(plan, operand->given->view, &demand);
}

/* Readers first: where a result goes depends on where they will be. */
static void plan_operands(struct plan *plan, const struct operands *operands, ferry_policy forced) {
    const struct scopes scopes = {forced, caller.policy, plan->user >= 0 && forced != FERRY_POLICY_DEFAULT};
    for (size_t i = 0; i < operands->n; i++) {
        prepare_operand(plan, &operands->items[i], &scopes);
        plan->brief = plan->brief && operands->items[i].given->passes == 1;
    }
    for (int writers = 0; writers < 2; writers++) {
        for (size_t i = 0; i < operands->n && plan->status == FERRY_OK; i++) {
            if ((operands->items[i].given->access == FERRY_WRITE) == (writers != 0)) {
                plan_operand(plan, operands, i, scopes.by_hand);
            }
        }
    }
}

/* An acquire: what is asked for, and what has to be said of it once the lock is let go. */
struct acquire {
    struct operands operands;
    ferry_policy forced; /* over all scopes; FERRY_POLICY_DEFAULT: none */
    ferry_site site;
    struct strict_crossing finding; /* of strict mode's, when the status is one of its */
};

/* Nothing is measured while the stream is captured: what is not known then is guessed. */
static const ferry_link_costs *costs_of_link(const ferry_stream *stream) {
    const bool captured = !link_is_known(stream->device) && core.backend->stream_is_captured != NULL &&
                          core.backend->stream_is_captured(stream->native);
    return link_expected(stream->device, captured ? link_costs_known(stream->device) : link_costs(stream->device));
}

static ferry_status issue_moves(const struct move_list *list, ferry_stream *stream) {
    return list->n == 0 ? FERRY_OK : core.backend->move(list->moves, list->n, stream->native);
}

/*
 * The driver hands what it has to move on a busy stream to a thread of its own, which takes longer about it: 1 MiB
 * behind kernels of some 100 µs was there after 295 µs, where an idle stream takes 70. So the stream may end first what
 * it has, but we wait no longer than the move itself takes.
 */
static void settle(const struct plan *plan, ferry_stream *stream) {
    if (plan->moves.n == 0 || plan->costs == NULL || core.backend->stream_settle == NULL) {
        return;
    }
    double ns = plan->costs->to_device_ns;
    for (size_t i = 0; i < plan->moves.n; i++) {
        ns += plan->costs->to_device_ns_per_byte * (double)plan->moves.moves[i].bytes;
    }
    core.backend->stream_settle(stream->native, (uint64_t)ns);
}

/* What strict mode tells of is told once: the same call, repeated, goes through. */
static void abandon(const struct plan *plan, ferry_status status) {
    plan_undo(plan);
    if (status == FERRY_REDUNDANT) {
        plan_forgive(plan);
    }
}

/* Brings checked operands to the stream's device. Lock held. */
static ferry_status bring_to_device(struct acquire *acquire, ferry_stream *stream) {
    const struct operands *operands = &acquire->operands;
    struct plan *plan = plan_begin(stream->device, costs_of_link(stream));
    plan_operands(plan, operands, acquire->forced);
    ferry_status status = finding_in_plan(plan, acquire->site, &acquire->finding);
    status = status == FERRY_OK ? operands_visit(operands, stream, use_wait_on_stream) : status;
    if (status == FERRY_OK) {
        settle(plan, stream);
        status = issue_moves(&plan->fills, stream);
    }
    status = status == FERRY_OK ? issue_moves(&plan->moves, stream) : status;
    if (status != FERRY_OK) {
        abandon(plan, status);
        return status;
    }
    plan_commit(plan, acquire->site);
    if (plan->moves.n > 0 || plan->fills.n > 0) {
        /* A discard in flight must not meet the block's next owner, even if no launch follows. */
        operands_record(operands, stream, stream_issue(stream));
    }
    return FERRY_OK;
}

HOT static ferry_status begin(ferry_stream *stream, ferry_stream **resolved) {
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

HOT ferry_status ferry_acquire(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    struct acquire acquire;
    acquire.forced = FERRY_POLICY_DEFAULT;
    const struct caller *says = &caller;
    struct launch launch = {.site = caller_site(says, __builtin_return_address(0)), .thread_policy = says->policy};
    ferry_status status = begin(stream, &launch.stream);
    if (status != FERRY_OK) {
        return status;
    }
    acquire.site = launch.site;
    status = operands_find(&acquire.operands, operands, n);
    if (status == FERRY_OK && !strict_on() && in_place_acquire(&acquire.operands, &launch)) {
        movement_unlock();
        return FERRY_OK;
    }
    status = status == FERRY_OK ? finding_of_touch(acquire.site, &acquire.finding) : status;
    status = status == FERRY_OK ? bring_to_device(&acquire, launch.stream) : status;
    return end(&acquire, status);
}

/* Tells a backend that cannot see for itself what the work just queued touches. Lock held. */
FERRY_COLD static ferry_status declare_touches(const ferry_operand *given, size_t n, ferry_stream *stream) {
    static backend_touch *touches;
    static size_t room;
    size_t ntouches = 0;
    struct operands operands;
    const ferry_status status = operands_find(&operands, given, n);
    if (status != FERRY_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        struct extents extents;
        char *low, *high;
        extents_begin(&extents, given[i].view);
        while (extents_next(&extents, &low, &high)) {
            if (!buffer_reserve((void **)&touches, sizeof *touches, ntouches, &room)) {
                return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to declare %zu ranges", ntouches + 1);
            }
            touches[ntouches++] = (backend_touch){low, (size_t)(high - low), given[i].access};
        }
    }
    return ntouches == 0 ? FERRY_OK : core.backend->touch(touches, ntouches, stream->native);
}

HOT ferry_status ferry_complete(const ferry_operand *operands, size_t n, ferry_stream *stream) {
    ferry_stream *resolved = NULL;
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    status = operands_record_given(operands, n, resolved, stream_issue(resolved));
    if (status == FERRY_OK) {
        COUNT(launches, 1);
        status = core.backend->touch == NULL ? FERRY_OK : declare_touches(operands, n, resolved);
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

/* Only one range tells what its bytes cost. */
static void note_home(const struct plan *plan, int device, uint64_t ns) {
    const backend_move *move = plan->moves.moves;
    if (plan->moves.n == 1) {
        link_note_home(device, move->bytes, move->kind == BACKEND_DISCARD_PREFETCH, ns);
    }
}

static ferry_status carry_home(const struct plan *plan, const struct operands *operand) {
    ferry_stream *transfers = NULL;
    if (plan->status != FERRY_OK || plan->moves.n == 0) {
        return plan->status;
    }
    const int device = device_of_moves(plan);
    ferry_status status = stream_for_transfers(device, &transfers);
    const uint64_t begin_ns = core.backend->now_ns();
    status = status == FERRY_OK ? issue_moves(&plan->moves, transfers) : status;
    if (status != FERRY_OK) {
        return status;
    }
    status = core.backend->stream_sync(transfers->native);
    if (status == FERRY_OK) {
        note_home(plan, device, core.backend->now_ns() - begin_ns);
    }
    if (status != FERRY_OK && operand->items->given->access == FERRY_WRITE) {
        /* A discard that nobody has waited for must not meet what is written next. */
        operands_record(operand, transfers, stream_issue(transfers));
    }
    return status;
}

/* Brings a checked operand home, when its kernels have ended. Lock held. */
static ferry_status bring_home(struct acquire *acquire) {
    const struct operands *operand = &acquire->operands;
    ferry_status status = core.hints
                              ? operands_visit(operand, NULL, visit_wait_on_host)
                              /* Without concurrent access the host may not touch anything while any kernel runs. */
                              : stream_wait_for_all();
    if (status != FERRY_OK) {
        return status;
    }
    struct plan *plan = plan_begin(FERRY_PLACE_HOST, NULL);
    plan_operands(plan, operand, acquire->forced);
    status = finding_in_plan(plan, acquire->site, &acquire->finding);
    status = status == FERRY_OK ? carry_home(plan, operand) : status;
    if (status != FERRY_OK) {
        abandon(plan, status);
        return status;
    }
    plan->skipped = 0;
    plan_commit(plan, acquire->site);
    observe_begin_round();
    return FERRY_OK;
}

static ferry_status host_acquire(const ferry_view *view, ferry_access access, ferry_policy forced, ferry_site site) {
    if (!ferry_owns(view->data)) {
        return FERRY_OK;
    }
    ferry_stream *any = NULL;
    ferry_status status = begin(NULL, &any);
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_operand operand = {.view = view, .access = access};
    struct acquire acquire;
    acquire.forced = forced;
    acquire.site = site;
    status = operands_find(&acquire.operands, &operand, 1);
    status = status == FERRY_OK ? finding_of_touch(site, &acquire.finding) : status;
    status = status == FERRY_OK ? bring_home(&acquire) : status;
    return end(&acquire, status);
}

ferry_status ferry_host_acquire(const ferry_view *view, ferry_access access) {
    return host_acquire(view, access, FERRY_POLICY_DEFAULT, CALLER_SITE());
}

ferry_status crossing_host_acquire(void *address, size_t bytes, ferry_access access, ferry_site site) {
    const ferry_view view = {
        .data = address, .dtype = FERRY_UINT8, .ndim = 1, .shape = {(int64_t)bytes}, .strides = {1}};
    return host_acquire(&view, access, FERRY_POLICY_DEFAULT, site);
}

ferry_status ferry_prefetch(const ferry_view *view, ferry_place to, ferry_stream *stream) {
    if (to == FERRY_PLACE_HOST) {
        return host_acquire(view, FERRY_READ, FERRY_POLICY_PREFETCH, CALLER_SITE());
    }
    ferry_stream *resolved = NULL;
    const ferry_operand operand = {.view = view, .access = FERRY_READ};
    struct acquire acquire;
    acquire.forced = FERRY_POLICY_PREFETCH;
    acquire.site = CALLER_SITE();
    ferry_status status = begin(stream, &resolved);
    if (status != FERRY_OK) {
        return status;
    }
    status = operands_find(&acquire.operands, &operand, 1);
    if (status == FERRY_OK && to != resolved->device) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "a stream of device %d cannot prefetch to place %d",
                             resolved->device, to);
    }
    const struct operand *found = acquire.operands.items;
    if (status == FERRY_OK && core.hints && found->low != NULL && !found->place.region->tiny) {
        status = bring_to_device(&acquire, resolved);
    }
    return end(&acquire, status);
}

ferry_policy ferry_thread_policy_set(ferry_policy policy) {
    const ferry_policy before = caller.policy;
    caller.policy = options_is_policy(policy) ? policy : before;
    return before;
}

ferry_status ferry_advise(const ferry_view *view, const ferry_advice *advice) {
    ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    if (!options_is_policy(advice->policy) || advice->passes < 0) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "advice of policy %d and %d passes", (int)advice->policy,
                           advice->passes);
    }
    char *low, *high;
    struct storage_place place;
    movement_lock();
    status = operands_find_view(view, &low, &high, &place);
    if (status == FERRY_OK && low != NULL && !place.region->tiny) {
        memories_begin(&place);
        place.storage->memories.policy = advice->policy;
        place.storage->memories.history.advised = (uint16_t)clamp_passes((unsigned)advice->passes);
    }
    movement_unlock();
    return status;
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
    if (!ferry_owns(view->data) || operands_find_view(view, &low, &high, &place) != FERRY_OK || low == NULL) {
        return FERRY_PLACE_HOST;
    }
    movement_lock();
    const ferry_place found = crossing_place(view, &place);
    movement_unlock();
    return found;
}
