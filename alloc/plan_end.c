/* What becomes of a plan: it is counted and remembered, or put back. */
#include "counters.h"
#include "memories.h"
#include "plan.h"

static void count_remote(uint64_t to_device, uint64_t to_host) {
    COUNT(bytes_to_device, to_device);
    COUNT(remote_bytes_to_device, to_device);
    COUNT(bytes_to_host, to_host);
    COUNT(remote_bytes_to_host, to_host);
}

static void count_step(const struct step *step) {
    const size_t bytes = step_bytes(step);
    const bool ours = step->action == POLICY_PREFETCH;
    if (step->remote_bytes > 0) {
        count_remote(step_loads(step) ? step->remote_bytes : 0, step_stores(step) ? step->remote_bytes : 0);
    } else if (step->action == POLICY_DISCARD_PREFETCH && state_place(step->before) != FERRY_PLACE_NOWHERE) {
        COUNT(discarded_bytes, bytes);
    } else if (step_goes_to_device(step)) {
        COUNT(bytes_to_device, bytes);
        COUNT(prefetched_bytes_to_device, ours ? bytes : 0);
    } else if (step_goes_home(step)) {
        COUNT(bytes_to_host, bytes);
        COUNT(prefetched_bytes_to_host, ours ? bytes : 0);
    } else if (step_travels(step) && state_place(step->before) >= 0) {
        COUNT(bytes_between_devices, bytes);
    }
    COUNT(redundant_bytes, step_redundant_bytes(step));
}

static void remember_device_use(const struct trace *trace) {
    struct memories *memories = &trace->place->storage->memories;
    if (trace->by_hand) {
        memories->latest = MOVED_BY_HAND;
        return;
    }
    memories->latest = USED_BY_DEVICE;
    history_device_pass(&memories->history, trace->bytes, trace->passes);
    if (trace->decided_bytes > 0 || trace->to_device) {
        memories->verdict = trace->verdict;
        memories->outlook = trace->outlook;
    }
}

static void remember_host_use(const struct trace *trace) {
    const enum ending ending = trace->access == FERRY_WRITE ? ENDING_OVERWRITE : ENDING_READ;
    memories_host_touch(trace->place, trace->bytes, trace->passes, ending);
    trace->place->storage->memories.latest = USED_BY_HOST;
}

static void remember(const struct plan *plan, const struct trace *trace, ferry_site site) {
    struct memories *memories = &trace->place->storage->memories;
    if (trace->place->region->tiny) {
        return;
    }
    if (plan->user >= 0) {
        remember_device_use(trace);
        memories->used_at = site;
    } else {
        remember_host_use(trace);
    }
    memories->crossed_to_device = trace->to_device ? site : memories->crossed_to_device;
    memories->crossed_to_host = trace->to_host ? site : memories->crossed_to_host;
}

/* What a launch writes has not crossed when it ends, whichever of its operands read it too. */
static void forget_crossings(const struct plan *plan) {
    for (size_t i = 0; i < plan->nsteps && plan->shares_pages; i++) {
        const struct step *step = &plan->steps[i];
        if ((step->access & FERRY_WRITE) != 0) {
            residency_clear_flags(&step->region->residency, step->first_page, step->end_page, STATE_CROSSED);
        }
    }
}

void plan_commit(const struct plan *plan, ferry_site site) {
    for (size_t i = 0; i < plan->nsteps; i++) {
        count_step(&plan->steps[i]);
    }
    forget_crossings(plan);
    for (size_t i = 0; i < plan->ntraces; i++) {
        remember(plan, &plan->traces[i], site);
    }
    count_remote(plan->tiny_bytes_to_device, plan->tiny_bytes_to_host);
    COUNT(prefetches_issued, plan->moves.n + plan->fills.n);
    COUNT(prefetches_skipped, plan->skipped);
}

void plan_forgive(const struct plan *plan) {
    const page_state told = plan->user >= 0 ? STATE_CROSSED_TO_DEVICE : STATE_CROSSED_TO_HOST;
    for (size_t i = 0; i < plan->nsteps; i++) {
        const struct step *step = &plan->steps[i];
        if (step_redundant_bytes(step) > 0) {
            residency_clear_flags(&step->region->residency, step->first_page, step->end_page, told);
        }
    }
}

void plan_undo(const struct plan *plan) {
    for (size_t i = plan->nsteps; i > 0; i--) {
        const struct step *step = &plan->steps[i - 1];
        residency_set(&step->region->residency, step->first_page, step->end_page, step->before);
    }
}
