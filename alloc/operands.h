/* The operands of one call, checked, with the storages they lie in: looked up once. */
#ifndef FERRY_ALLOC_OPERANDS_H
#define FERRY_ALLOC_OPERANDS_H

#include "storage.h"

struct operand {
    ferry_operand given;
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

/* What is done with one storage, or with one page's record of tiny ones. */
typedef ferry_status (*storage_visit)(struct storage *storage, ferry_access access, ferry_stream *stream,
                                      uint64_t number);

/* Visits what the operands lie in until a visit fails. */
ferry_status operands_visit(const struct operands *operands, ferry_stream *stream, uint64_t number,
                            storage_visit visit);

#endif
