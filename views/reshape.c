#include "layout.h"

static ferry_status wrong_size(const ferry_view *view, int ndim, const int64_t *shape) {
    char from[LAYOUT_TEXT_BYTES];
    char to[LAYOUT_TEXT_BYTES];
    return ferry_error(FERRY_SHAPE, "shape %s does not reshape to %s: the numbers of elements differ",
                       layout_text(view->ndim, view->shape, from), layout_text(ndim, shape, to));
}

/* Replaces the extent -1, if there is one, by what is left for it. */
static ferry_status fill_in_extent(const ferry_view *view, int ndim, const int64_t *shape, int64_t *filled) {
    int unknown = -1;
    for (int i = 0; i < ndim; ++i) {
        filled[i] = shape[i];
        if (shape[i] == -1 && unknown < 0) {
            unknown = i;
            filled[i] = 1;
        }
    }
    /* Also refuses a second -1, as a negative extent. */
    ferry_status status = layout_check(view->dtype, ndim, filled);
    if (status != FERRY_OK) {
        return status;
    }
    ferry_view known = {.dtype = view->dtype, .ndim = ndim};
    for (int i = 0; i < ndim; ++i) {
        known.shape[i] = filled[i];
    }
    int64_t have = ferry_view_size(view);
    int64_t want = ferry_view_size(&known);
    bool fits = unknown < 0 ? have == want : want != 0 && have % want == 0;
    if (!fits) {
        return wrong_size(view, ndim, shape);
    }
    if (unknown >= 0) {
        filled[unknown] = have / want;
    }
    return FERRY_OK;
}

/* The view without its axes of one element. */
static ferry_view squeezed(const ferry_view *view) {
    ferry_view result = *view;
    result.ndim = 0;
    for (int i = 0; i < view->ndim; ++i) {
        if (view->shape[i] != 1) {
            result.shape[result.ndim] = view->shape[i];
            result.strides[result.ndim++] = view->strides[i];
        }
    }
    return result;
}

/* Whether axes first … last are one axis with the stride of the last. */
static bool is_one_run(const ferry_view *view, int first, int last) {
    for (int i = first; i < last; ++i) {
        if (view->strides[i] != view->shape[i + 1] * view->strides[i + 1]) {
            return false;
        }
    }
    return true;
}

/*
 * Both shapes are cut, from the left, into the shortest groups of axes whose products agree. A group can be split anew
 * when its old axes are one run in memory; the new strides then grow from the run's stride leftwards. False when one is
 * not. `old` has at least one axis, none of them of one element or none.
 */
static bool strides_without_copy(const ferry_view *old, int ndim, const int64_t *shape, int64_t *strides) {
    int begin = 0;
    int new_begin = 0;
    while (begin < old->ndim) {
        int end = begin + 1;
        int new_end = new_begin + 1;
        int64_t product = old->shape[begin];
        int64_t new_product = shape[new_begin];
        while (product != new_product) {
            if (product < new_product) {
                product *= old->shape[end++];
            } else {
                new_product *= shape[new_end++];
            }
        }
        if (!is_one_run(old, begin, end - 1)) {
            return false;
        }
        int64_t stride = old->strides[end - 1];
        for (int i = new_end - 1; i >= new_begin; --i) {
            strides[i] = stride;
            stride *= shape[i];
        }
        begin = end;
        new_begin = new_end;
    }
    /* What remains are extents of 1. */
    for (int i = new_begin; i < ndim; ++i) {
        strides[i] = strides[new_begin - 1];
    }
    return true;
}

static bool has_shape(const ferry_view *view, int ndim, const int64_t *shape) {
    bool same = view->ndim == ndim;
    for (int i = 0; same && i < ndim; ++i) {
        same = view->shape[i] == shape[i];
    }
    return same;
}

static ferry_status needs_copy(const ferry_view *view, int ndim, const int64_t *shape) {
    char from[LAYOUT_TEXT_BYTES];
    char strides[LAYOUT_TEXT_BYTES];
    char to[LAYOUT_TEXT_BYTES];
    return ferry_error(FERRY_SHAPE, "no view of shape %s exists of shape %s with strides %s: copy it first",
                       layout_text(ndim, shape, to), layout_text(view->ndim, view->shape, from),
                       layout_text(view->ndim, view->strides, strides));
}

ferry_status ferry_view_reshape(const ferry_view *view, int ndim, const int64_t *shape, ferry_view *out) {
    ferry_view result = {.data = view->data, .dtype = view->dtype, .ndim = ndim, .readonly = view->readonly};
    if (ndim < 0 || ndim > FERRY_MAX_DIMS) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d dimensions: a view has 0 to %d", ndim, FERRY_MAX_DIMS);
    }
    if (ndim > 0 && shape == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the shape of %d dimensions is missing (NULL)", ndim);
    }
    ferry_status status = fill_in_extent(view, ndim, shape, result.shape);
    if (status != FERRY_OK) {
        return status;
    }
    if (has_shape(view, ndim, result.shape)) {
        *out = *view;
        return FERRY_OK;
    }
    ferry_view old = squeezed(view);
    if (ferry_view_is_c_contiguous(view)) {
        layout_c_strides(view->dtype, ndim, result.shape, result.strides);
    } else if (!strides_without_copy(&old, ndim, result.shape, result.strides)) {
        return needs_copy(view, ndim, result.shape);
    }
    *out = result;
    return FERRY_OK;
}
