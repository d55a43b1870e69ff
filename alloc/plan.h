/*
 * A plan: what one acquire will do, made against the residency table before anything is done. Planning writes the table
 * as it goes, so that pages named twice are moved once; a plan that is not carried out is undone.
 *
 * Movement lock held from plan_begin to plan_commit or plan_undo, and not let go between: the buffers are shared.
 */
#ifndef FERRY_ALLOC_PLAN_H
#define FERRY_ALLOC_PLAN_H

#include "extents.h"
#include "policy.h"
#include "region.h"

/* One run of pages and what becomes of it. */
struct step {
    struct region *region;
    size_t first_page, end_page;
    page_state before, after;
    policy_action action;
};

struct plan {
    ferry_place user;
    struct step *steps;
    size_t nsteps, steps_room;
    backend_move *moves;
    size_t nmoves, moves_room;
    uint64_t remote_bytes_to_device, remote_bytes_to_host;
    uint64_t skipped;    /* operands with nothing to move */
    ferry_status status; /* the first failure; later calls do nothing */
};

/* What a view asks of the memory it lies in. */
struct demand {
    struct storage_place place;
    ferry_policy policy;
    ferry_access access;
    bool keep_contents; /* a WRITE whose pages hold bytes that somebody else reads */
};

/* The library's one plan, emptied. */
struct plan *plan_begin(ferry_place user);

/* Adds what the extents of one view need. */
void plan_view(struct plan *plan, const ferry_view *view, const struct demand *demand);

/* Counts what was planned, once it has been handed to the backend. */
void plan_commit(const struct plan *plan);

/* Puts the residency table back. */
void plan_undo(const struct plan *plan);

#endif
