/*
 * Random programs of the library's public calls, as data: a step names slots, streams and heaps by number and views by
 * recipe, so that it means something whatever happened before it, and steps can be left out to make a failure short.
 */
#ifndef FERRY_TESTS_PROPERTY_PROGRAM_H
#define FERRY_TESTS_PROPERTY_PROGRAM_H

#include "ferry/ferry.h"

enum { SLOTS = 10, STREAMS = 5, HEAPS = 3, OPERANDS = 4, STEPS_MAX = 400 };

/* X(CONSTANT, weight among a program's steps) */
#define STEP_LIST(X)                                                                                                   \
    X(ALLOCATE, 12)                                                                                                    \
    X(FREE, 6)                                                                                                         \
    X(REPLACE, 6)                                                                                                      \
    X(REALLOCATE, 3)                                                                                                   \
    X(HOST_WRITE, 14)                                                                                                  \
    X(HOST_READ, 10)                                                                                                   \
    X(RAW_WRITE, 8)                                                                                                    \
    X(RAW_READ, 2)                                                                                                     \
    X(LAUNCH, 28)                                                                                                      \
    X(READERS, 3)                                                                                                      \
    X(ASSIGN, 6)                                                                                                       \
    X(PREFETCH, 6)                                                                                                     \
    X(SYNC, 3)                                                                                                         \
    X(TRIM, 1)                                                                                                         \
    X(RESET, 1)                                                                                                        \
    X(TRACE, 1)                                                                                                        \
    X(STREAM, 1)                                                                                                       \
    X(HEAP, 1)                                                                                                         \
    X(ADVISE, 4)                                                                                                       \
    X(THREAD, 2)                                                                                                       \
    X(FAULT, 0)

enum step_kind {
#define STEP_ENUM(name, weight) STEP_##name,
    STEP_LIST(STEP_ENUM)
#undef STEP_ENUM
        STEP_KINDS
};

enum allocation {
    ALLOCATION_MALLOC,
    ALLOCATION_CALLOC,
    ALLOCATION_ALIGNED,
    ALLOCATION_ARRAY,
    ALLOCATION_ZEROS,
    ALLOCATIONS
};

struct operand_pick {
    int slot;
    ferry_access access;
    uint64_t recipe; /* of the view */
    uint64_t policy; /* is drawn from it */
    int passes;
};

struct step {
    enum step_kind kind;
    int slot, stream, heap;
    enum allocation allocation;
    size_t bytes;
    int noperands;
    struct operand_pick operands[OPERANDS];
    uint64_t random; /* for what is decided when the step is run */
};

/* What a program may do, and what then has to hold. */
struct rules {
    bool accounts;       /* every byte is accounted for: hints, and every access acquired */
    bool strict;         /* no reading by turns: a page goes home once and comes back only when it was written */
    bool faults;         /* calls of the backend fail now and then */
    bool limited;        /* allocations may fail */
    bool full;           /* devices have not the memory for everything */
    bool cuda;           /* on the real device, where nobody knows the truth about pages */
    ferry_policy policy; /* of everything; FERRY_POLICY_DEFAULT: every scope draws its own */
};

struct program {
    uint64_t seed;
    struct rules rules;
    size_t nsteps;
    struct step steps[STEPS_MAX];
};

void program_generate(struct program *program, uint64_t seed, const struct rules *rules, size_t nsteps);

const char *step_name(enum step_kind kind);

#endif
