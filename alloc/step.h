/* A run of pages and what a plan makes of it. */
#ifndef FERRY_ALLOC_STEP_H
#define FERRY_ALLOC_STEP_H

#include "policy.h"
#include "region.h"

struct step {
    struct region *region;
    size_t first_page, end_page;
    page_state before, after;
    policy_action action;
    bool fill;           /* made on the host first: a kernel that met a page that is nowhere would fault for it */
    size_t remote_bytes; /* of the view, when it is used across the bus */
    ferry_access access;
};

/* Whether its contents leave where they are, by our hand or by a fault. */
static inline bool step_travels(const struct step *step) {
    return step->action == POLICY_PREFETCH || step->action == POLICY_FAULT;
}

/* Whether they cross from the host to a device, or from one to the host. */
static inline bool step_goes_to_device(const struct step *step) {
    return step_travels(step) && state_place(step->before) == FERRY_PLACE_HOST && state_place(step->after) >= 0;
}

static inline bool step_goes_home(const struct step *step) {
    return step_travels(step) && state_place(step->before) >= 0 && state_place(step->after) == FERRY_PLACE_HOST;
}

/* Whether a kernel loads, or stores, across the bus. */
static inline bool step_loads(const struct step *step) {
    return step->remote_bytes > 0 && (step->access & FERRY_READ) != 0;
}

static inline bool step_stores(const struct step *step) {
    return step->remote_bytes > 0 && (step->access & FERRY_WRITE) != 0;
}

static inline size_t step_bytes(const struct step *step) {
    return (step->end_page - step->first_page) * FERRY_PAGE_BYTES;
}

/* Bytes that cross in a direction in which they have crossed, unwritten. */
static inline uint64_t step_redundant_bytes(const struct step *step) {
    if (step_goes_to_device(step) && (step->before & STATE_CROSSED_TO_DEVICE) != 0) {
        return step_bytes(step);
    }
    if (step_goes_home(step) && (step->before & STATE_CROSSED_TO_HOST) != 0) {
        return step_bytes(step);
    }
    return step_loads(step) && (step->before & STATE_CROSSED_TO_DEVICE) != 0 ? step->remote_bytes : 0;
}

#endif
