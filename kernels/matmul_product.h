/* A stack of matrix products, reduced to what its kernels need. */
#ifndef FERRY_KERNELS_MATMUL_PRODUCT_H
#define FERRY_KERNELS_MATMUL_PRODUCT_H

#include "plan.h"

/*
 * out = a b, all of one type; sums are made in the accumulator's, in order of `inner`, from zero. A plain value: it is
 * what the simulator's kernel gets. Of the plan the axes and data count: out, a, b.
 */
typedef struct matmul_product {
    ferry_dtype dtype, accumulator;
    plan stack;
    int64_t rows, columns, inner;                                    /* of out; of a's columns and b's rows */
    int64_t row_stride[PLAN_OPERANDS], column_stride[PLAN_OPERANDS]; /* bytes */
} matmul_product;

/* What products of that type are summed in. */
ferry_dtype matmul_accumulator(ferry_dtype dtype);

/* `views` are out, a and b: matrices in stacks of one shape, of one dtype, that fit, and have elements. */
void matmul_product_make(matmul_product *p, const ferry_view *const *views);

/* The same product as out^T = b^T a^T. */
void matmul_product_transpose(matmul_product *p);

/* A matrix as a BLAS sees it: one axis without gaps, the other `leading` elements apart. */
typedef struct matmul_layout {
    bool by_columns; /* the rows' axis is the one without gaps */
    int64_t leading;
} matmul_layout;

/* Whether every element of the view is aligned to its size. */
bool matmul_is_aligned(const ferry_view *view);

/* False where the matrix in the view's last two axes has none of 32 bits, or elements are not aligned, or the stack
 * runs backwards. */
bool matmul_layout_of(const ferry_view *view, matmul_layout *out);

#endif
