/* The table of reductions: what each computes with, and in which types. */
#ifndef FERRY_KERNELS_REDUCTIONS_H
#define FERRY_KERNELS_REDUCTIONS_H

#include "ferry/reduce.h"

typedef struct reduction_types {
    ferry_op op;             /* combines two of the accumulator's type into one */
    ferry_dtype accumulator; /* elements are cast to it first */
    ferry_dtype result;
} reduction_types;

/* FERRY_INVALID_ARGUMENT for no reduction, FERRY_DTYPE. `in` is a dtype. */
ferry_status reduction_resolve(ferry_reduction reduction, ferry_dtype in, reduction_types *out);

/* The identity, which casts to every accumulator. False where there is none. */
bool reduction_identity(ferry_reduction reduction, int64_t *value);

#endif
