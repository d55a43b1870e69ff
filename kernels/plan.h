/* One elementwise pass, reduced to what its kernels need. */
#ifndef FERRY_KERNELS_PLAN_H
#define FERRY_KERNELS_PLAN_H

#include "ops.h"

#define PLAN_COPY FERRY_OP_COUNT /* as the operation: out = a, cast */
#define PLAN_OPERANDS 3
#define PLAN_EXCEPTIONS 4 /* FERRY_FP_ values */

/*
 * out[...] = op(a[...], b[...]). Operand 0 is out, 1 is a, 2 is b; with two operands b is a, or is not looked at. Axes
 * of one element are gone, axes that every operand walks as one are merged, out's strides are positive and fall from
 * the first axis to the last. A plain value, without pointers to anything but managed memory: it is what the
 * simulator's kernel gets.
 */
typedef struct plan {
    ferry_op op;
    ferry_dtype compute[2]; /* what a and b are cast to; of a copy, its dtype */
    ferry_dtype result;
    int noperands;
    ferry_dtype dtype[PLAN_OPERANDS];
    char *data[PLAN_OPERANDS];
    uint32_t *exceptions; /* PLAN_EXCEPTIONS words, word i set to 1 by who raises 1 << i; NULL: not asked for */
    int64_t size;         /* elements, at least 1 */
    int ndim;             /* at least 1 */
    int64_t extent[FERRY_MAX_DIMS];
    int64_t stride[PLAN_OPERANDS][FERRY_MAX_DIMS]; /* bytes */
} plan;

/* What an operand of a plan of one axis is; out is never a scalar unless there is one element. */
typedef enum plan_layout { PLAN_STRIDED, PLAN_CONTIGUOUS, PLAN_SCALAR } plan_layout;

/*
 * `views` are noperands views of one shape, not empty, out first. `loop` is NULL for a copy. Exceptions are not asked
 * for.
 */
void plan_make(plan *p, ferry_op op, const op_loop *loop, const ferry_view *const *views, int noperands);

/* Of the axes alone: two of them changed over; those that every operand walks as one merged. */
void plan_swap_axes(plan *p, int i, int j);
void plan_merge_axes(plan *p);

/* From the operand's data to its element i, in bytes. */
int64_t plan_offset(const plan *p, int operand, int64_t i);

/* Whether the plan has one axis, out is contiguous, and each input is contiguous or one element. */
bool plan_is_contiguous(const plan *p);

plan_layout plan_layout_of(const plan *p, int operand);

/* Whether every element of every operand is aligned to its size (at most 8 bytes). */
bool plan_is_aligned(const plan *p);

#endif
