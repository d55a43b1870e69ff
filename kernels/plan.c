#include "plan.h"

#include <string.h>

void plan_swap_axes(plan *p, int i, int j) {
    int64_t extent = p->extent[i];
    p->extent[i] = p->extent[j];
    p->extent[j] = extent;
    for (int k = 0; k < p->noperands; k++) {
        int64_t stride = p->stride[k][i];
        p->stride[k][i] = p->stride[k][j];
        p->stride[k][j] = stride;
    }
}

static void take_axes(plan *p, const ferry_view *const *views) {
    p->ndim = 0;
    p->size = 1;
    for (int axis = 0; axis < views[0]->ndim; axis++) {
        if (views[0]->shape[axis] == 1)
            continue;
        p->extent[p->ndim] = views[0]->shape[axis];
        p->size *= views[0]->shape[axis];
        for (int k = 0; k < p->noperands; k++)
            p->stride[k][p->ndim] = views[k]->strides[axis];
        p->ndim++;
    }
}

/* The order of the elements does not matter: walk out upwards. */
static void flip_axes(plan *p) {
    for (int axis = 0; axis < p->ndim; axis++) {
        if (p->stride[0][axis] >= 0)
            continue;
        for (int k = 0; k < p->noperands; k++) {
            p->data[k] += p->stride[k][axis] * (p->extent[axis] - 1);
            p->stride[k][axis] = -p->stride[k][axis];
        }
    }
}

static void sort_axes(plan *p) {
    for (int i = 1; i < p->ndim; i++) {
        for (int j = i; j > 0 && p->stride[0][j - 1] < p->stride[0][j]; j--)
            plan_swap_axes(p, j - 1, j);
    }
}

/* Whether every operand walks axes i and i + 1 as one axis. */
static bool merges(const plan *p, int i) {
    for (int k = 0; k < p->noperands; k++) {
        if (p->stride[k][i] != p->stride[k][i + 1] * p->extent[i + 1])
            return false;
    }
    return true;
}

static void drop_axis(plan *p, int axis) {
    size_t after = (size_t)(p->ndim - axis - 1) * sizeof(int64_t);
    memmove(&p->extent[axis], &p->extent[axis + 1], after);
    for (int k = 0; k < p->noperands; k++)
        memmove(&p->stride[k][axis], &p->stride[k][axis + 1], after);
    p->ndim--;
}

void plan_merge_axes(plan *p) {
    for (int i = p->ndim - 2; i >= 0; i--) {
        if (merges(p, i)) {
            p->extent[i + 1] *= p->extent[i];
            drop_axis(p, i);
        }
    }
}

/* One element is an axis of one element that is as contiguous as any. */
static void give_axis(plan *p) {
    p->ndim = 1;
    p->extent[0] = 1;
    p->stride[0][0] = (int64_t)ferry_dtype_size(p->dtype[0]);
    for (int k = 1; k < p->noperands; k++)
        p->stride[k][0] = 0;
}

void plan_make(plan *p, ferry_op op, const op_loop *loop, const ferry_view *const *views, int noperands) {
    p->op = op;
    p->exceptions = NULL;
    p->noperands = noperands;
    for (int k = 0; k < noperands; k++) {
        p->dtype[k] = views[k]->dtype;
        p->data[k] = views[k]->data;
    }
    p->compute[0] = loop ? loop->compute[0] : p->dtype[1];
    p->compute[1] = loop ? loop->compute[1] : p->dtype[1];
    p->result = loop ? loop->result : p->dtype[1];
    take_axes(p, views);
    if (p->ndim == 0) {
        give_axis(p);
        return;
    }
    flip_axes(p);
    sort_axes(p);
    plan_merge_axes(p);
}

plan_layout plan_layout_of(const plan *p, int operand) {
    if (p->stride[operand][0] == (int64_t)ferry_dtype_size(p->dtype[operand]))
        return PLAN_CONTIGUOUS;
    return p->stride[operand][0] == 0 ? PLAN_SCALAR : PLAN_STRIDED;
}

bool plan_is_contiguous(const plan *p) {
    if (p->ndim != 1 || plan_layout_of(p, 0) != PLAN_CONTIGUOUS)
        return false;
    for (int k = 1; k < p->noperands; k++) {
        if (plan_layout_of(p, k) == PLAN_STRIDED)
            return false;
    }
    return true;
}

bool plan_is_aligned(const plan *p) {
    for (int k = 0; k < p->noperands; k++) {
        size_t bytes = ferry_dtype_size(p->dtype[k]);
        uint64_t bits = (uint64_t)(uintptr_t)p->data[k];
        for (int axis = 0; axis < p->ndim; axis++)
            bits |= (uint64_t)p->stride[k][axis];
        if (bits & ((bytes < 8 ? bytes : 8) - 1))
            return false;
    }
    return true;
}

int64_t plan_offset(const plan *p, int operand, int64_t i) {
    int64_t offset = 0;
    for (int axis = p->ndim - 1; axis >= 0; axis--) {
        offset += i % p->extent[axis] * p->stride[operand][axis];
        i /= p->extent[axis];
    }
    return offset;
}
