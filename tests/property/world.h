/* A program while it runs: what the library was asked for, beside what must be true of it. */
#ifndef FERRY_TESTS_PROPERTY_WORLD_H
#define FERRY_TESTS_PROPERTY_WORLD_H

#include "alloc/backend.h"
#include "program.h"
#include "recorder.h"

/* Who read and wrote a page, and what of it has crossed, since it was last written. */
struct page_past {
    bool crossed_to_device, crossed_to_host;
    signed char owner; /* who touched it first: NOBODY, HOST_SIDE, DEVICE_SIDE */
    bool away;         /* the other side has read it since */
    bool raw;          /* the host may have touched it without telling */
    bool stray;        /* faults of the host's may have brought it home */
};

enum { NOBODY, HOST_SIDE, DEVICE_SIDE };

/* What the step being run does to a page. */
struct page_use {
    bool touched, read, written;
    bool full;        /* one operand overwrites every byte */
    bool simple;      /* and is contiguous */
    bool again;       /* several operands touch it */
    uint32_t covered; /* bytes that the operand overwrites */

    /* Of a launch. */
    unsigned policies; /* bits: those that operands on the page follow */
    const struct recorded_page *move;
    bool settled; /* the move has been accounted for */
    bool filled;  /* it was nowhere, and has been made on the host */
    ferry_place before;
};

struct slot {
    bool live, tiny, is_array;
    bool launched; /* devices have been told of it: the host must acquire it */
    int heap;
    ferry_array array;
    char *block;
    size_t bytes, pages;
    unsigned char *shadow; /* the contents, as a program with plain memory would have them */
    unsigned char *mask;   /* 0xff where they are defined */
    struct page_past *past;
    struct page_use *use;
    ferry_policy advised;
};

struct launched_operand {
    struct slot *slot;
    ferry_view view;
    ferry_access access;
    ferry_policy policy; /* that it follows */
};

struct world {
    const struct program *program;
    struct slot slots[SLOTS + 1]; /* the last holds what is being reallocated */
    ferry_stream *streams[STREAMS];
    ferry_heap *heaps[HEAPS]; /* the first is NULL: the default */
    ferry_policy heap_policies[HEAPS], thread_policy;
    ferry_kernel *kernel;
    struct launched_operand launched[OPERANDS]; /* by the step being run */
    int nlaunched, launched_on;
    size_t at;    /* the step being run */
    bool verbose; /* tell every step on standard error */
    int result;   /* where a failure is reported */
    bool hints;   /* devices have concurrent managed access */
    int devices;
    backend_measure truth_from; /* the simulator's counts at the latest reset */
    backend_measure traced_from;
    bool tracing;
    bool relaxed; /* reading by turns has begun after all */

    /* What the account must say, since the reset. */
    uint64_t redundant_bytes, remote_bytes_to_device, remote_bytes_to_host;
    uint64_t peer_bytes; /* that devices loaded from one another's memory and stored there */
};

/* Reports, and ends the process. */
_Noreturn void fail(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process as a test that cannot be run. */
_Noreturn void skip(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A failure of the library's that nothing explains. */
void expect_ok(const struct world *world, ferry_status status, const char *what);
/* The same, but in a program whose backend fails now and then: false then. */
bool went_well(const struct world *world, ferry_status status, const char *what);

/* slots.c */
void slot_open(struct world *world, struct slot *slot, void *block, size_t bytes, bool zeroed);
void slot_close(struct slot *slot);
/* The view's counterpart in the shadow or the mask. */
char *slot_counterpart(const struct slot *slot, const ferry_view *view, unsigned char *bytes);
/* What the step does to the pages that the view's elements lie on. */
void slot_use(struct slot *slot, const ferry_view *view, ferry_access access);
void slot_forget_use(struct slot *slot);
/* Whether reading what slot_use named would make contents cross once more than once each way. */
bool slot_reads_by_turns(const struct slot *slot, int side);
/* Whether the program may do what slot_use named. */
bool slot_allows(const struct world *world, const struct slot *slot, int side);
/* Compares defined elements with the shadow. */
void slot_verify(const struct world *world, const struct slot *slot, const ferry_view *view);
void slot_set_known(const struct slot *slot, const ferry_view *view, bool known);

/* account.c: after a step, for what slot_use named; `side` is who used it, `place` where it must be now (MIXED:
 * anywhere) */
void account_step(struct world *world, int side, ferry_place place);
/* The same for a launch on the device, whose operands the world knows. */
void account_before_launch(struct world *world);
void account_launch(struct world *world, int device);
/* After every step. */
void account_check(const struct world *world);
void account_reset(struct world *world);

/* places.c: where a page is, as the simulator knows; FERRY_PLACE_HOST where nobody knows. */
ferry_place truth_at(const struct world *world, const void *page);
/* The library's table against the simulator's truth: a slot's every page, and some view of it. Forgets the slot's use.
 */
void places_check(const struct world *world, struct slot *slot, uint64_t recipe);
/* The host touched what slot_use named, and may have brought it home with what lies around it. */
void strayed(struct world *world, const struct slot *slot);

/* steps_memory.c, steps_use.c */
void step_allocate(struct world *world, const struct step *step);
void step_free(struct world *world, const struct step *step);
void step_replace(struct world *world, const struct step *step);
void step_reallocate(struct world *world, const struct step *step);
void step_heap(struct world *world, const struct step *step);
void step_host_write(struct world *world, const struct step *step);
void step_host_read(struct world *world, const struct step *step);
void step_raw(struct world *world, const struct step *step);
void step_assign(struct world *world, const struct step *step);
void step_prefetch(struct world *world, const struct step *step);
/* steps_launch.c */
void step_launch(struct world *world, const struct step *step);
void step_readers(struct world *world, const struct step *step);

void describe(const struct world *world, const struct slot *slot, const ferry_view *view, char *text, size_t bytes);
void say_operand(const struct world *world, const char *verb, const struct slot *slot, const ferry_view *view,
                 ferry_access access);
void free_slot(struct slot *slot);

/* run.c: runs the program and returns a digest of the final contents. A failure ends the process: status 1, with a
 * sentence written to `result`. */
uint64_t world_play(const struct program *program, bool verbose, int result);
/* The same and the end of the process, status 0, with the digest written. */
_Noreturn void world_run(const struct program *program, bool verbose, int result);

#endif
