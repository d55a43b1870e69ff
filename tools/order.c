#include <stdlib.h>

#include "order.h"

typedef enum axis_order { AXES_UNDECIDED, AXES_AS_IN_C, AXES_SWAPPED } axis_order;

/* The distance between neighbours along an axis of the result; 0 where the input is broadcast. */
static int64_t step(const ferry_view *input, int ndim, int axis) {
    int own = axis - (ndim - input->ndim);
    return own < 0 || input->shape[own] == 1 ? 0 : llabs(input->strides[own]);
}

/* Whether the axis `outer` should lie outside `inner`, as it does in C order; any input that says so settles it. */
static axis_order compare(const ferry_view *const *inputs, int ninputs, int ndim, int outer, int inner) {
    axis_order order = AXES_UNDECIDED;
    for (int i = 0; i < ninputs; i++) {
        int64_t outer_step = step(inputs[i], ndim, outer), inner_step = step(inputs[i], ndim, inner);
        if (outer_step == 0 || inner_step == 0)
            continue;
        if (inner_step <= outer_step)
            return AXES_AS_IN_C;
        order = AXES_SWAPPED;
    }
    return order;
}

/*
 * Insertion of the axes, innermost first, as numpy.nditer does it: an axis moves inwards past those it must precede,
 * over undecided ones as well, and stops at the first that it must not pass.
 */
static void sort_axes(const ferry_view *const *inputs, int ninputs, int ndim, int *innermost_first) {
    for (int placed = 0; placed < ndim; placed++) {
        int axis = ndim - 1 - placed, to = placed;
        for (int i = placed - 1; i >= 0; i--) {
            axis_order order = compare(inputs, ninputs, ndim, axis, innermost_first[i]);
            if (order == AXES_AS_IN_C)
                break;
            if (order == AXES_SWAPPED)
                to = i;
        }
        for (int i = placed; i > to; i--)
            innermost_first[i] = innermost_first[i - 1];
        innermost_first[to] = axis;
    }
}

ferry_status create_like(const ferry_view *const *inputs, int ninputs, ferry_dtype dtype, int ndim,
                         const int64_t *shape, ferry_array *out) {
    int innermost_first[FERRY_MAX_DIMS], axes[FERRY_MAX_DIMS];
    int64_t stored[FERRY_MAX_DIMS];
    sort_axes(inputs, ninputs, ndim, innermost_first);
    for (int i = 0; i < ndim; i++) {
        int axis = innermost_first[ndim - 1 - i];
        stored[i] = shape[axis];
        axes[axis] = i;
    }
    ferry_array array;
    ferry_status status = ferry_array_create(NULL, dtype, ndim, stored, &array);
    if (status != FERRY_OK)
        return status;
    ferry_view in_memory_order = array.view;
    status = ferry_view_transpose(&in_memory_order, axes, &array.view);
    if (status == FERRY_OK)
        *out = array;
    else
        ferry_array_release(&array);
    return status;
}
