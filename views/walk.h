/* Going over two views of one shape together. */
#ifndef FERRY_VIEWS_WALK_H
#define FERRY_VIEWS_WALK_H

#include "ferry/view.h"

/* Axes of more than one element only; the last is the inner loop. */
typedef struct view_walk {
    char *dst;
    const char *src;
    int ndim;
    int64_t shape[FERRY_MAX_DIMS];
    int64_t dst_strides[FERRY_MAX_DIMS];
    int64_t src_strides[FERRY_MAX_DIMS];
} view_walk;

/*
 * Views of the same shape, not empty. The order of elements is free: dst is gone over upwards in memory, its largest
 * strides outermost, and axes that are one in both views are merged.
 */
view_walk walk_make(const ferry_view *dst, const ferry_view *src);

/*
 * Whether going over the elements in the walk's order, or in the reverse, writes no element of src before it is read,
 * where both overlap: the elements are of `bytes` bytes in both and a constant distance apart, and do not overlap among
 * themselves. The walk is then turned to the right direction.
 */
bool walk_orders_overlap(view_walk *walk, int64_t bytes);

/* One call of `loop` for each row, which must go over its elements in order. */
void walk_run(const view_walk *walk, ferry_cast_function loop);

#endif
