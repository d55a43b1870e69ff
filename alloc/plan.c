#include "plan.h"

#include "buffer.h"
#include "core.h"
#include "in_place.h"

static struct plan shared;

struct plan *plan_begin(ferry_place user, const ferry_link_costs *costs) {
    struct plan *plan = &shared;
    plan->user = user;
    plan->costs = costs;
    plan->nsteps = plan->ntraces = plan->moves.n = plan->fills.n = 0;
    plan->inputs_on_device_bytes = plan->inputs_on_host_bytes = 0;
    plan->tiny_bytes_to_device = plan->tiny_bytes_to_host = 0;
    plan->skipped = plan->redundant_bytes = 0;
    plan->answers.region = NULL;
    plan->shares_pages = false;
    plan->brief = true;
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
    struct trace *trace = &plan->traces[plan->ntraces - 1];
    if (trace->end_step > trace->first_step) {
        const struct step *before = &plan->steps[trace->end_step - 1];
        trace->ascending =
            trace->ascending && step->first_page >= before->first_page && step->end_page >= before->end_page;
    }
    trace->end_step = plan->nsteps;
    return true;
}

/* Joins the move before when the two are one range. */
static bool add_move(struct plan *plan, struct move_list *list, const struct step *step, ferry_place to) {
    char *address = step->region->base + step->first_page * FERRY_PAGE_BYTES;
    const size_t bytes = step_bytes(step);
    const backend_move_kind kind =
        step->action == POLICY_DISCARD_PREFETCH ? BACKEND_DISCARD_PREFETCH : BACKEND_PREFETCH;
    backend_move *last = list->n == 0 ? NULL : &list->moves[list->n - 1];
    if (last != NULL && last->kind == kind && (char *)last->address + last->bytes == address &&
        region_find(last->address) == step->region) {
        last->bytes += bytes;
        return true;
    }
    if (!reserve_one(plan, (void **)&list->moves, sizeof *list->moves, list->n, &list->room)) {
        return false;
    }
    list->moves[list->n++] = (backend_move){address, bytes, to, kind};
    return true;
}

static bool is_move(policy_action action) {
    return action == POLICY_PREFETCH || action == POLICY_DISCARD_PREFETCH;
}

static bool add_moves(struct plan *plan, const struct step *step) {
    if (step->fill) {
        return add_move(plan, &plan->fills, step, FERRY_PLACE_HOST);
    }
    return !is_move(step->action) || add_move(plan, &plan->moves, step, plan->user);
}

static struct trace *add_trace(struct plan *plan, const struct demand *demand) {
    if (!reserve_one(plan, (void **)&plan->traces, sizeof *plan->traces, plan->ntraces, &plan->traces_room)) {
        return NULL;
    }
    /* Field by field: a compound literal of this size is made by a string instruction, which is slow to begin. */
    struct trace *trace = &plan->traces[plan->ntraces++];
    trace->place = demand->place;
    trace->access = demand->access;
    trace->bytes = 0;
    trace->passes = plan->user >= 0 ? demand->counted : 0;
    trace->decided_bytes = 0;
    trace->verdict = (struct verdict){0};
    trace->outlook = (struct outlook){0};
    trace->first_step = trace->end_step = plan->nsteps;
    trace->ascending = true;
    trace->acted = trace->to_device = trace->to_host = false;
    trace->by_hand = demand->by_hand;
    return trace;
}

/* Whether a page is in the host's tables; asks about the pages behind it as well, which are wanted next. */
static bool is_present(struct plan *plan, const struct region *region, size_t page, size_t end_page) {
    struct answers *answers = &plan->answers;
    if (answers->region != region || page < answers->first_page || page >= answers->end_page) {
        const size_t left = end_page - page, n = left < sizeof answers->present ? left : sizeof answers->present;
        observe_pages(region, page, n, answers->present);
        answers->region = region;
        answers->first_page = page;
        answers->end_page = page + n;
    }
    return answers->present[page - answers->first_page] != 0;
}

/*
 * Pages that the library has never seen touched may have been filled by a host that did not say so. The kernel's page
 * tables know: shortens the run to pages that agree, and tells whether they are there. end_page: up to where it is
 * worth asking.
 */
static bool host_has_touched(struct plan *plan, const struct region *region, struct residency_run *run,
                             size_t end_page) {
    const bool first = is_present(plan, region, run->first_page, end_page);
    for (size_t page = run->first_page + 1; page < run->end_page; page++) {
        if (is_present(plan, region, page, end_page) != first) {
            run->end_page = page;
        }
    }
    return first;
}

/* One stretch of a view's bytes and the pages it lies on. */
struct stretch {
    const char *begin, *end;
    size_t first_page, end_page;
    bool whole;       /* every byte of the pages is the view's */
    bool overwritten; /* and what they hold is worthless */
};

static ferry_place place_after(const struct plan *plan, const struct step *step) {
    const ferry_place place = state_place(step->before);
    switch (step->action) {
    case POLICY_REMOTE:
        return place == FERRY_PLACE_NOWHERE ? FERRY_PLACE_HOST : place;
    case POLICY_KEEP:
        /* A host that may read pages nobody has touched need not do so: they stay nowhere. */
        return place == FERRY_PLACE_NOWHERE && (step->access & FERRY_WRITE) != 0 ? plan->user : place;
    case POLICY_PREFETCH:
    case POLICY_DISCARD_PREFETCH:
    case POLICY_FAULT:
        break;
    }
    return plan->user;
}

static page_state crossed_after(const struct step *step, bool whole) {
    if ((step->access & FERRY_WRITE) != 0 || step->action == POLICY_DISCARD_PREFETCH) {
        return 0;
    }
    page_state crossed = step->before & STATE_CROSSED;
    /* A page of which a kernel loads a part has not crossed: its other bytes may follow. */
    crossed |= step_goes_to_device(step) || (step_loads(step) && whole) ? STATE_CROSSED_TO_DEVICE : 0;
    crossed |= step_goes_home(step) ? STATE_CROSSED_TO_HOST : 0;
    return crossed;
}

/* Where the pages are afterwards, and what is then known of their contents. */
static page_state state_after(const struct plan *plan, unsigned passes, struct step *step, bool whole) {
    const ferry_place place = place_after(plan, step);
    step->after = state_of_place(place);
    page_state after = step->after | crossed_after(step, whole);
    if (plan->user >= 0 && place != FERRY_PLACE_NOWHERE && !step->region->tiny) {
        after |= state_of_passes(state_passes(step->before) + passes);
    }
    return after;
}

/* What the launch does with some of these pages for operands planned before, as far as it had to be noted. */
struct earlier {
    bool used, remote;
};

/* The first of one operand's steps that may lie at or behind the run; its last ones follow. */
static size_t first_near(const struct plan *plan, const struct trace *trace, const struct step *run) {
    size_t low = trace->first_step, high = trace->ascending ? trace->end_step : low;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (plan->steps[middle].end_page <= run->first_page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void find_earlier(const struct plan *plan, const struct trace *trace, const struct step *run,
                         struct earlier *earlier) {
    for (size_t i = first_near(plan, trace, run); i < trace->end_step; i++) {
        const struct step *step = &plan->steps[i];
        if (step->first_page >= run->end_page && trace->ascending) {
            break;
        }
        if (step->first_page < run->end_page && run->first_page < step->end_page) {
            earlier->used = true;
            earlier->remote = earlier->remote || step->action == POLICY_REMOTE;
        }
    }
}

/* The last trace is the operand's own. */
static struct earlier earlier_uses(const struct plan *plan, const struct step *run) {
    struct earlier earlier = {false, false};
    for (size_t i = 0; i + 1 < plan->ntraces; i++) {
        if (plan->traces[i].place->region == run->region) {
            find_earlier(plan, &plan->traces[i], run, &earlier);
        }
    }
    return earlier;
}

static bool inputs_on_device(const struct plan *plan) {
    return plan->inputs_on_host_bytes <= plan->inputs_on_device_bytes;
}

/* Decides about the step's pages. */
static struct verdict decide(const struct plan *plan, const struct demand *demand, const struct step *step,
                             bool overwritten, struct outlook *outlook) {
    const struct region *region = step->region;
    struct policy_question question = {.policy = demand->policy,
                                       .hints = core.hints,
                                       .homed = region->homed,
                                       .tiny = region->tiny,
                                       .overwritten = overwritten,
                                       .place = state_place(step->before),
                                       .user = plan->user,
                                       .access = demand->pages_access,
                                       .bytes = step_bytes(step),
                                       .brief = plan->brief,
                                       .costs = plan->costs};
    if (question.policy == FERRY_POLICY_AUTO && question.user >= 0 && question.place < 0) {
        const struct coming_use use = {demand->pages_access, demand->passes,
                                       memories_passes(demand->place, state_passes(step->before)),
                                       inputs_on_device(plan)};
        question.outlook = *outlook = predict(&demand->place->storage->memories.history, &use);
    }
    return policy_decide(&question);
}

static size_t bytes_within(const struct step *step, const struct stretch *stretch) {
    const char *begin = step->region->base + step->first_page * FERRY_PAGE_BYTES;
    const char *end = step->region->base + step->end_page * FERRY_PAGE_BYTES;
    begin = begin < stretch->begin ? stretch->begin : begin;
    end = end > stretch->end ? stretch->end : end;
    return (size_t)(end - begin);
}

/* What the storage will remember of the step. */
static void trace_step(struct plan *plan, const struct demand *demand, struct trace *trace, const struct step *step,
                       const struct verdict *verdict, const struct outlook *outlook) {
    const size_t bytes = step_bytes(step);
    const bool decided = plan->user >= 0 ? verdict->remote_ns > 0 : state_passes(step->before) > 0;
    if (decided && bytes > trace->decided_bytes) {
        trace->decided_bytes = bytes;
        trace->verdict = *verdict;
        trace->outlook = *outlook;
        trace->passes = plan->user >= 0 ? trace->passes : memories_passes(demand->place, state_passes(step->before));
    }
    trace->to_device = trace->to_device || step_goes_to_device(step) || step_loads(step);
    trace->to_host = trace->to_host || step_goes_home(step) || step_stores(step);
    trace->acted = trace->acted || step->action != POLICY_KEEP;
}

/* Whether the user could do something about it: not where the library has found crossing again to be the cheapest, nor
 * where faults do as they like. */
static bool is_avoidable(const struct demand *demand, const struct step *step) {
    return demand->policy != FERRY_POLICY_NONE &&
           !(demand->policy == FERRY_POLICY_AUTO && step->action == POLICY_REMOTE);
}

static void note_redundant(struct plan *plan, const struct demand *demand, const struct step *step) {
    const uint64_t again = step_redundant_bytes(step);
    const bool first = plan->redundant_bytes == 0;
    if (again > 0 && is_avoidable(demand, step) && (first || plan->redundant.storage == demand->place->storage)) {
        plan->redundant = *demand->place;
        plan->redundant_bytes += again;
    }
}

static void note_input(struct plan *plan, const struct demand *demand, size_t pages, page_state after) {
    if (plan->user >= 0 && (demand->access & FERRY_READ) != 0) {
        const uint64_t bytes = pages * FERRY_PAGE_BYTES;
        *(state_place(after) >= 0 ? &plan->inputs_on_device_bytes : &plan->inputs_on_host_bytes) += bytes;
    }
}

/* Plans a run of pages in one state. */
static void plan_run(struct plan *plan, const struct demand *demand, const struct stretch *stretch,
                     const struct residency_run *run, struct trace *trace) {
    struct region *region = demand->place->region;
    if (plan->user >= 0 && state_is_settled(run->state, plan->user, (demand->access & FERRY_WRITE) != 0)) {
        note_input(plan, demand, run->end_page - run->first_page, run->state);
        return;
    }
    struct step step = {.region = region,
                        .first_page = run->first_page,
                        .end_page = run->end_page,
                        .before = run->state,
                        .after = run->state,
                        .access = demand->access};
    const struct earlier earlier = demand->shares_pages ? earlier_uses(plan, &step) : (struct earlier){false, false};
    struct outlook outlook = {0};
    /* No page is decided about twice, nor its passes counted. */
    const struct verdict verdict = earlier.remote ? (struct verdict){.action = POLICY_REMOTE}
                                                  : decide(plan, demand, &step, stretch->overwritten, &outlook);
    const bool remote = verdict.action == POLICY_REMOTE && !region->tiny;
    step.action = verdict.action;
    step.remote_bytes = remote ? bytes_within(&step, stretch) : 0;
    step.fill = remote && state_place(run->state) == FERRY_PLACE_NOWHERE && demand->policy != FERRY_POLICY_NONE;
    step.after = state_after(plan, earlier.used ? 0 : demand->counted, &step, stretch->whole);
    trace_step(plan, demand, trace, &step, &verdict, &outlook);
    note_input(plan, demand, run->end_page - run->first_page, step.after);
    if (!earlier.used) {
        note_redundant(plan, demand, &step);
    }
    if (step.action == POLICY_KEEP && step.after == step.before) {
        return;
    }
    if (add_step(plan, &step) && add_moves(plan, &step)) {
        residency_set(&region->residency, run->first_page, run->end_page, step.after);
    }
}

/* Plans pages of one storage that are used in one way. */
static void plan_stretch(struct plan *plan, const struct demand *demand, const struct stretch *stretch,
                         struct trace *trace) {
    struct region *region = demand->place->region;
    size_t page = stretch->first_page;
    while (page < stretch->end_page && plan->status == FERRY_OK) {
        struct residency_run run = residency_run_at(&region->residency, page, stretch->end_page);
        if (state_place(run.state) == FERRY_PLACE_NOWHERE && !stretch->overwritten && plan->user >= 0 &&
            !region->tiny && host_has_touched(plan, region, &run, stretch->end_page)) {
            run.state = state_of_place(FERRY_PLACE_HOST);
        }
        page = run.end_page;
        plan_run(plan, demand, stretch, &run, trace);
    }
}

/* Whole pages inside the run are the view's own; a page that it shares, at either edge, is not. Behind the storage's
 * last byte there is nobody. */
static void plan_extent(struct plan *plan, const struct demand *demand, const char *begin, const char *end, bool dense,
                        struct trace *trace) {
    const struct region *region = demand->place->region;
    const char *page_end = end;
    if (end == demand->place->base + demand->place->bytes) {
        page_end = demand->place->base + storage_pages(demand->place->bytes) * FERRY_PAGE_BYTES;
    }
    const size_t begin_bytes = (size_t)(begin - region->base), end_bytes = (size_t)(page_end - region->base);
    const size_t first = begin_bytes / FERRY_PAGE_BYTES, last = storage_pages(end_bytes);
    const size_t inner = storage_pages(begin_bytes), inner_end = end_bytes / FERRY_PAGE_BYTES;
    struct stretch stretch = {begin, end, first, last, false, false};
    if (!dense || inner >= inner_end) {
        plan_stretch(plan, demand, &stretch, trace);
        return;
    }
    stretch.end_page = inner;
    plan_stretch(plan, demand, &stretch, trace);
    const bool overwritten = demand->access == FERRY_WRITE && !demand->keep_contents;
    stretch = (struct stretch){begin, end, inner, inner_end, true, overwritten};
    plan_stretch(plan, demand, &stretch, trace);
    stretch = (struct stretch){begin, end, inner_end, last, false, false};
    plan_stretch(plan, demand, &stretch, trace);
}

static void count_tiny(struct plan *plan, ferry_access access, size_t bytes) {
    plan->tiny_bytes_to_device += (access & FERRY_READ) != 0 ? bytes : 0;
    plan->tiny_bytes_to_host += (access & FERRY_WRITE) != 0 ? bytes : 0;
}

bool plan_in_place(struct plan *plan, const char *begin, const char *end, const struct demand *demand) {
    if (plan->user < 0 || !in_place(demand->place, begin, end, plan->user, demand->access)) {
        return false;
    }
    const struct region *region = demand->place->region;
    const size_t page = region_page(region, begin), end_page = region_page(region, end - 1) + 1;
    struct trace *trace = add_trace(plan, demand);
    if (trace != NULL) {
        trace->bytes = (size_t)(end - begin);
        note_input(plan, demand, end_page - page, residency_state(&region->residency, page));
        plan->skipped += demand->policy != FERRY_POLICY_NONE ? 1 : 0;
    }
    return true;
}

void plan_view(struct plan *plan, const ferry_view *view, const struct demand *demand) {
    struct extents extents;
    char *begin, *end;
    struct trace *trace = add_trace(plan, demand);
    plan->shares_pages = plan->shares_pages || demand->shares_pages;
    extents_begin(&extents, view);
    while (plan->status == FERRY_OK && extents_next(&extents, &begin, &end)) {
        plan_extent(plan, demand, begin, end, extents.dense, trace);
        trace->bytes += (size_t)(end - begin);
    }
    if (plan->status != FERRY_OK) {
        return;
    }
    if (demand->place->region->tiny && core.hints && plan->user >= 0) {
        count_tiny(plan, demand->access, trace->bytes);
    }
    plan->skipped += !trace->acted && demand->policy != FERRY_POLICY_NONE ? 1 : 0;
}
