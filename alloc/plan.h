/*
 * A plan: what one acquire will do, made against the residency table before anything is done. Planning writes the table
 * as it goes, so that pages named twice are moved once; a plan that is not carried out is undone.
 *
 * Movement lock held from plan_begin to plan_commit or plan_undo, and not let go between: the buffers are shared.
 */
#ifndef FERRY_ALLOC_PLAN_H
#define FERRY_ALLOC_PLAN_H

#include "extents.h"
#include "step.h"

/* What one view's use adds to the memories of its storage. */
struct trace {
    const struct storage_place *place; /* the caller's, as long as the plan */
    ferry_access access;
    size_t bytes;
    unsigned passes;      /* this launch's, or those that the host's touch puts an end to */
    size_t decided_bytes; /* of the largest run that was decided, or that ended */
    struct verdict verdict;
    struct outlook outlook;
    size_t first_step, end_step;
    bool ascending;          /* its steps are, by their pages */
    bool acted;              /* something was not simply in place */
    bool to_device, to_host; /* bytes of it cross */
    bool by_hand;
};

/* What the page tables said of a stretch of pages. */
struct answers {
    const struct region *region; /* NULL: nothing has been asked */
    size_t first_page, end_page;
    unsigned char present[4096];
};

struct plan {
    ferry_place user;
    const ferry_link_costs *costs; /* of the device's link; NULL for the host */
    struct step *steps;
    size_t nsteps, steps_room;
    struct move_list {
        backend_move *moves;
        size_t n, room;
    } moves,   /* to the user */
        fills; /* to the host: pages that have never been touched, before a kernel uses them across the bus */
    struct trace *traces;
    size_t ntraces, traces_room;
    uint64_t inputs_on_device_bytes, inputs_on_host_bytes; /* of what the launch reads, by where it will be */
    uint64_t tiny_bytes_to_device, tiny_bytes_to_host;     /* of blocks that never migrate */
    uint64_t skipped;                                      /* operands with nothing to move */
    ferry_status status;                                   /* the first failure; later calls do nothing */
    struct answers answers;
    bool shares_pages;              /* some operands may */
    bool brief;                     /* the launch goes over each operand once */
    struct storage_place redundant; /* the first storage whose bytes would cross again, */
    uint64_t redundant_bytes;       /* and how many, where the user could have avoided it */
};

/* What a view asks of the memory it lies in. */
struct demand {
    const struct storage_place *place;
    ferry_policy policy;
    ferry_access access;
    ferry_access pages_access; /* of all operands of the launch together */
    unsigned passes;           /* that the launch makes, at least 1 */
    unsigned counted;          /* of them, as remembered: an unknown number is one */
    bool keep_contents;        /* a WRITE whose pages hold bytes that somebody else may read */
    bool shares_pages;         /* perhaps, with an operand planned before */
    bool by_hand;              /* moved, not used */
};

/* The library's one plan, emptied. `costs`: of the device's link; NULL for the host. */
struct plan *plan_begin(ferry_place user, const ferry_link_costs *costs);

/* Adds a use of all bytes from `begin` to `end` when they are where a device wants them and nothing that is known of
 * them changes, so that it makes no difference what the launch's other operands do: most uses at most launches. false,
 * and nothing added: it takes plan_view. */
bool plan_in_place(struct plan *plan, const char *begin, const char *end, const struct demand *demand);

/* Adds what the extents of one view need. What is read comes before what is only written. */
void plan_view(struct plan *plan, const ferry_view *view, const struct demand *demand);

/* Counts and remembers what was planned, once it has been handed to the backend; `site`: on whose behalf. */
void plan_commit(const struct plan *plan, ferry_site site);

/* Lets what strict mode has told of cross the next time: the state is that of before the plan. */
void plan_forgive(const struct plan *plan);

/* Puts the residency table back. */
void plan_undo(const struct plan *plan);

#endif
