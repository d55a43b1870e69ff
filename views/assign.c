#include <stdlib.h>

#include "ferry/movement.h"
#include "ferry/site.h"
#include "layout.h"
#include "walk.h"

static const char *const rule_names[] = {
    [FERRY_CAST_NO] = "no",
    [FERRY_CAST_SAFE] = "safe",
    [FERRY_CAST_SAME_KIND] = "same-kind",
    [FERRY_CAST_UNSAFE] = "unsafe",
};

/* Drops leading axes of one element that dst does not have, as NumPy's assignment does, which broadcast_to would
 * refuse. */
static ferry_view without_extra_axes(const ferry_view *src, int ndim) {
    ferry_view result = *src;
    int extra = 0;
    while (src->ndim - extra > ndim && src->shape[extra] == 1) {
        ++extra;
    }
    result.ndim = src->ndim - extra;
    for (int i = 0; i < result.ndim; ++i) {
        result.shape[i] = src->shape[i + extra];
        result.strides[i] = src->strides[i + extra];
    }
    return result;
}

/* Everything that can be wrong; *fitted is src with dst's shape. */
static ferry_status fit(const ferry_view *dst, const ferry_view *src, ferry_casting rule, ferry_view *fitted) {
    if (dst->readonly) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the destination of the assignment is read-only");
    }
    if ((unsigned)rule > FERRY_CAST_UNSAFE) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no casting rule", (int)rule);
    }
    if (!ferry_dtype_can_cast(src->dtype, dst->dtype, rule)) {
        return ferry_error(FERRY_CAST, "cannot cast %s to %s by the %s rule", ferry_dtype_name(src->dtype),
                           ferry_dtype_name(dst->dtype), rule_names[rule]);
    }
    ferry_view stripped = without_extra_axes(src, dst->ndim);
    return ferry_view_broadcast(&stripped, dst->ndim, dst->shape, fitted);
}

static void run(const ferry_view *dst, const ferry_view *src) {
    view_walk over = walk_make(dst, src);
    walk_run(&over, ferry_dtype_cast(src->dtype, dst->dtype));
}

/* A contiguous copy's view: repeated elements (stride 0) are held once. Its data is NULL yet. */
static ferry_view compact(const ferry_view *view) {
    ferry_view result = *view;
    for (int i = 0; i < view->ndim; ++i) {
        result.shape[i] = view->strides[i] == 0 ? 1 : view->shape[i];
    }
    layout_c_strides(view->dtype, view->ndim, result.shape, result.strides);
    result.data = NULL;
    return result;
}

/* The part of the view that `compact` holds. */
static ferry_view without_repeats(const ferry_view *view, const ferry_view *held) {
    ferry_view result = *view;
    for (int i = 0; i < view->ndim; ++i) {
        result.shape[i] = held->shape[i];
    }
    return result;
}

/* dst = copy of src, each acquired when its turn comes. */
static ferry_status assign_by_copy(const ferry_view *dst, const ferry_view *src) {
    ferry_view held = compact(src);
    ferry_view part = without_repeats(src, &held);
    held.data = malloc(ferry_view_bytes(&held));
    if (held.data == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a copy of %zu bytes, which overlapping views need",
                           ferry_view_bytes(&held));
    }
    ferry_view stretched;
    ferry_status status = ferry_view_broadcast(&held, dst->ndim, dst->shape, &stretched);
    if (status == FERRY_OK) {
        status = ferry_host_acquire(src, FERRY_READ);
    }
    if (status == FERRY_OK) {
        run(&held, &part);
        status = ferry_host_acquire(dst, FERRY_WRITE);
    }
    if (status == FERRY_OK) {
        run(dst, &stretched);
    }
    free(held.data);
    return status;
}

/* Where the two share pages, src's acquire has brought them home, and a page that is home keeps its contents. */
static ferry_status assign_directly(const ferry_view *dst, const ferry_view *src, const view_walk *over) {
    ferry_status status = ferry_host_acquire(src, FERRY_READ);
    if (status == FERRY_OK) {
        status = ferry_host_acquire(dst, FERRY_WRITE);
    }
    if (status == FERRY_OK) {
        walk_run(over, ferry_dtype_cast(src->dtype, dst->dtype));
    }
    return status;
}

static ferry_status assign(const ferry_view *dst, const ferry_view *src, ferry_casting rule) {
    ferry_view fitted;
    ferry_status status = fit(dst, src, rule, &fitted);
    if (status != FERRY_OK || ferry_view_size(dst) == 0) {
        return status;
    }
    view_walk over = walk_make(dst, &fitted);
    if (ferry_view_overlap(dst, &fitted)) {
        size_t bytes = ferry_dtype_size(dst->dtype);
        bool ordered = bytes == ferry_dtype_size(fitted.dtype) && walk_orders_overlap(&over, (int64_t)bytes);
        if (!ordered) {
            return assign_by_copy(dst, &fitted);
        }
    }
    return assign_directly(dst, &fitted, &over);
}

ferry_status ferry_assign_host_casting(const ferry_view *dst, const ferry_view *src, ferry_casting rule) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = assign(dst, src, rule);
    ferry_site_set(before);
    return status;
}

ferry_status ferry_assign_host(const ferry_view *dst, const ferry_view *src) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = assign(dst, src, FERRY_CAST_SAME_KIND);
    ferry_site_set(before);
    return status;
}
