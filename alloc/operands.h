/* The operands of one call, checked, with the storages they lie in: looked up once. */
#ifndef FERRY_ALLOC_OPERANDS_H
#define FERRY_ALLOC_OPERANDS_H

#include "heap.h"

struct operand {
    const ferry_operand *given; /* the caller's, who keeps it as long as this */
    char *low, *high;           /* bounds of its elements; NULL: it has none, and the place is not set */
    bool contiguous;            /* and all between them is its elements' */
    ferry_policy policy;        /* of this use, set by who plans it */
    struct storage_place place; /* of the storage; for a tiny one the page on which the elements begin */
};

#define OPERANDS_FEW 8

struct operands {
    struct operand *items;
    size_t n;
    struct operand few[OPERANDS_FEW];
};

/*
 * FERRY_INVALID_ARGUMENT for an access, a policy or a number of passes that is none, a write to a read-only view,
 * memory that is not ferry's, a view beyond its block. Movement lock held, and for more than OPERANDS_FEW not let go
 * while they are used: there is one buffer for many.
 */
ferry_status operands_find(struct operands *operands, const ferry_operand *given, size_t n);

/* The storage of a view and its bounds; *low is NULL for a view of no elements. */
ferry_status operands_find_view(const ferry_view *view, char **low, char **high, struct storage_place *place);

/* How often the launch goes over the operand, FERRY_PASSES_MANY when it is not known. */
static inline unsigned operand_passes(const ferry_operand *operand) {
    return operand->passes <= 0                  ? FERRY_PASSES_MANY
           : operand->passes > FERRY_PASSES_MANY ? FERRY_PASSES_MANY
                                                 : (unsigned)operand->passes;
}

/* The same as remembered: an unknown number is one. */
static inline unsigned operand_passes_counted(const ferry_operand *operand) {
    const unsigned passes = operand_passes(operand);
    return passes == FERRY_PASSES_MANY ? 1 : passes;
}

/* The policy of one use: the narrowest scope that names one. `thread`: the calling thread's. The operand has elements.
 */
static inline ferry_policy operand_policy(const struct operand *operand, ferry_policy thread) {
    const ferry_policy use = operand->given->policy, advised = operand->place.storage->memories.policy;
    return use != FERRY_POLICY_DEFAULT       ? use
           : thread != FERRY_POLICY_DEFAULT  ? thread
           : advised != FERRY_POLICY_DEFAULT ? advised
                                             : operand->place.region->heap->policy;
}

/* What is done with one storage, or with one page's record of tiny ones. */
typedef ferry_status (*storage_visit)(struct storage *storage, ferry_access access, ferry_stream *stream);

/* Visits what the operands lie in until a visit fails. */
ferry_status operands_visit(const struct operands *operands, ferry_stream *stream, storage_visit visit);

/* Records that work up to `number` on the stream uses what the operands lie in. */
void operands_record(const struct operands *operands, ferry_stream *stream, uint64_t number);

/*
 * The same of operands that an acquire has checked: of a view it looks only where it begins and whether it is empty. So
 * it records all that it finds, and says FERRY_INVALID_ARGUMENT afterwards for an access that is none and for memory
 * that is not ferry's. Movement lock.
 */
ferry_status operands_record_given(const ferry_operand *given, size_t n, ferry_stream *stream, uint64_t number);

#endif
