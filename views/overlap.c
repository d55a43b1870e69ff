/*
 * Whether views share bytes. The bytes of a view with its axes turned to go upwards are
 *
 *     low + sum |stride[i]| x[i] + u,   0 <= x[i] < shape[i],   0 <= u < itemsize,
 *
 * or, counted from its last byte, high - 1 - (such a sum). Taking one view from below and the other from above, they
 * share a byte when the two sums add up to (high of one) - 1 - (low of the other): a bounded Diophantine equation.
 */
#include "diophantine.h"
#include "layout.h"

/* Steps that a question may take: under a millisecond. */
#define WORK 10000

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Adds the sum above. */
static void add_bytes(diophantine *equation, const ferry_view *view) {
    for (int i = 0; i < view->ndim; ++i) {
        if (view->shape[i] > 1 && view->strides[i] != 0) {
            diophantine_add(equation, magnitude(view->strides[i]), view->shape[i] - 1);
        }
    }
    diophantine_add(equation, 1, (int64_t)ferry_dtype_size(view->dtype) - 1);
}

bool ferry_view_overlap(const ferry_view *a, const ferry_view *b) {
    const char *a_low, *a_high, *b_low, *b_high;
    ferry_view_bounds(a, &a_low, &a_high);
    ferry_view_bounds(b, &b_low, &b_high);
    /* Empty views have NULL bounds, and meet nothing. */
    if (a_high <= b_low || b_high <= a_low || a_low == a_high || b_low == b_high) {
        return false;
    }
    diophantine equation = {.n = 0};
    add_bytes(&equation, a);
    add_bytes(&equation, b);
    /* Seen from the nearer pair of ends, where the sum is smaller. */
    equation.right = a_high - b_low < b_high - a_low ? a_high - 1 - b_low : b_high - 1 - a_low;
    int64_t work = WORK;
    return diophantine_may_have_solution(&equation, &work);
}

/* Axes of more than one element; false when one of them has stride 0, which repeats elements. */
static bool moving_axes(const ferry_view *view, int *n, diophantine_term *axes) {
    *n = 0;
    for (int i = 0; i < view->ndim; ++i) {
        if (view->shape[i] > 1) {
            if (view->strides[i] == 0) {
                return false;
            }
            axes[(*n)++] = (diophantine_term){magnitude(view->strides[i]), view->shape[i] - 1};
        }
    }
    return true;
}

/*
 * Two different elements share a byte when, with d[i] the differences of their indices and w that of the byte's places
 * in them, sum stride[i] d[i] + w = 0, |d[i]| <= bound[i], |w| < itemsize, and not all d[i] = 0. Let k be the first
 * axis with d[k] not 0; by symmetry d[k] >= 1. With d[k] = 1 + x[k], d[i] = x[i] - bound[i] for the axes after k, w
 * alike, and all x >= 0 this is one equation for each k.
 */
static bool meet_from_axis(int k, int n, const diophantine_term *axes, int64_t itemsize, int64_t *work) {
    diophantine equation = {.n = 0};
    diophantine_add(&equation, axes[k].coefficient, axes[k].bound - 1);
    int64_t right = itemsize - 1 - axes[k].coefficient;
    for (int i = k + 1; i < n; ++i) {
        int64_t reach;
        if (__builtin_mul_overflow(axes[i].coefficient, axes[i].bound, &reach) ||
            __builtin_add_overflow(right, reach, &right) || axes[i].bound > INT64_MAX / 2) {
            return true;
        }
        diophantine_add(&equation, axes[i].coefficient, 2 * axes[i].bound);
    }
    diophantine_add(&equation, 1, 2 * (itemsize - 1));
    equation.right = right;
    return diophantine_may_have_solution(&equation, work);
}

bool ferry_view_self_overlap(const ferry_view *view) {
    if (ferry_view_size(view) == 0) {
        return false;
    }
    int n;
    diophantine_term axes[FERRY_MAX_DIMS];
    if (!moving_axes(view, &n, axes)) {
        return true;
    }
    int64_t work = WORK;
    for (int k = 0; k < n; ++k) {
        if (meet_from_axis(k, n, axes, (int64_t)ferry_dtype_size(view->dtype), &work)) {
            return true;
        }
    }
    return false;
}
