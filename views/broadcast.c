#include <stdio.h>

#include "layout.h"

/* Axes align at the right: axis i of `ndim` meets this axis of the view; negative where the view has none. */
static int aligned_axis(const ferry_view *view, int ndim, int i) {
    return i - (ndim - view->ndim);
}

static ferry_status does_not_broadcast(const ferry_view *view, int ndim, const int64_t *shape) {
    char from[LAYOUT_TEXT_BYTES];
    char to[LAYOUT_TEXT_BYTES];
    return ferry_error(FERRY_SHAPE, "shape %s does not broadcast to %s", layout_text(view->ndim, view->shape, from),
                       layout_text(ndim, shape, to));
}

ferry_status ferry_view_broadcast(const ferry_view *view, int ndim, const int64_t *shape, ferry_view *out) {
    ferry_status status = layout_check(view->dtype, ndim, shape);
    if (status != FERRY_OK) {
        return status;
    }
    if (ndim < view->ndim) {
        return does_not_broadcast(view, ndim, shape);
    }
    ferry_view result = {.data = view->data, .dtype = view->dtype, .ndim = ndim, .readonly = view->readonly};
    bool repeats = false;
    for (int i = 0; i < ndim; ++i) {
        int axis = aligned_axis(view, ndim, i);
        int64_t extent = axis < 0 ? 1 : view->shape[axis];
        if (extent != shape[i] && extent != 1) {
            return does_not_broadcast(view, ndim, shape);
        }
        repeats = repeats || extent < shape[i];
        result.shape[i] = shape[i];
        result.strides[i] = extent == shape[i] && axis >= 0 ? view->strides[axis] : 0;
    }
    result.readonly = view->readonly || (repeats && ferry_view_size(&result) > 0);
    *out = result;
    return FERRY_OK;
}

static ferry_status shapes_do_not_meet(const ferry_view *const *views, int n) {
    char text[512];
    char shape[LAYOUT_TEXT_BYTES];
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < n && used < sizeof text; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                                 layout_text(views[i]->ndim, views[i]->shape, shape));
    }
    return ferry_error(FERRY_SHAPE, "shapes do not broadcast together: %s", text);
}

/* The extent of axis i of the common shape: the one that is not 1. False when there are two. */
static bool common_extent(const ferry_view *const *views, int n, int ndim, int i, int64_t *extent) {
    *extent = 1;
    for (int k = 0; k < n; ++k) {
        int axis = aligned_axis(views[k], ndim, i);
        int64_t own = axis < 0 ? 1 : views[k]->shape[axis];
        if (own != 1 && *extent != 1 && own != *extent) {
            return false;
        }
        *extent = own != 1 ? own : *extent;
    }
    return true;
}

ferry_status ferry_broadcast_shapes(const ferry_view *const *views, int n, int *ndim, int64_t *shape) {
    int most = 0;
    for (int k = 0; k < n; ++k) {
        most = views[k]->ndim > most ? views[k]->ndim : most;
    }
    int64_t common[FERRY_MAX_DIMS] = {0};
    for (int i = 0; i < most; ++i) {
        if (!common_extent(views, n, most, i, &common[i])) {
            return shapes_do_not_meet(views, n);
        }
    }
    ferry_status status = layout_check(FERRY_BOOL, most, common);
    if (status != FERRY_OK) {
        return status;
    }
    for (int i = 0; i < most; ++i) {
        shape[i] = common[i];
    }
    *ndim = most;
    return FERRY_OK;
}
