#include <inttypes.h>

#include "layout.h"

/* A slice in bounds: `length` elements from `start` on. */
typedef struct span {
    int64_t start, step, length;
} span;

/* An end of a slice, clipped to low … high, the places that an iteration in its direction can begin or stop at. */
static int64_t clip(int64_t end, int64_t extent, int64_t low, int64_t high) {
    if (end < 0) {
        end += extent;
    }
    return end < low ? low : end > high ? high : end;
}

/* Python's slice.indices(). A step of INT64_MIN becomes -INT64_MAX, so that it can be negated. */
static span span_of(ferry_slice slice, int64_t extent) {
    int64_t step = slice.step < -INT64_MAX ? -INT64_MAX : slice.step;
    bool back = step < 0;
    int64_t low = back ? -1 : 0;
    int64_t high = back ? extent - 1 : extent;
    int64_t start = slice.start == FERRY_SLICE_NONE ? (back ? high : low) : clip(slice.start, extent, low, high);
    int64_t stop = slice.stop == FERRY_SLICE_NONE ? (back ? low : high) : clip(slice.stop, extent, low, high);
    int64_t distance = back ? start - stop : stop - start;
    if (distance <= 0) {
        return (span){0, 1, 0};
    }
    return (span){start, step, (distance - 1) / (back ? -step : step) + 1};
}

ferry_status ferry_view_slice(const ferry_view *view, int nslices, const ferry_slice *slices, ferry_view *out) {
    if (nslices < 0 || nslices > view->ndim) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d slices for a view of %d dimensions", nslices, view->ndim);
    }
    ferry_view result = *view;
    for (int i = 0; i < nslices; ++i) {
        if (slices[i].step == 0) {
            return ferry_error(FERRY_INVALID_ARGUMENT, "the slice of axis %d has step 0", i);
        }
        span part = span_of(slices[i], view->shape[i]);
        result.data = layout_advance(result.data, part.start * view->strides[i]);
        result.shape[i] = part.length;
        /* May wrap when one element is left, whose stride does not matter. */
        result.strides[i] = (int64_t)((uint64_t)view->strides[i] * (uint64_t)part.step);
    }
    *out = result;
    return FERRY_OK;
}

ferry_status ferry_view_index(const ferry_view *view, int nindices, const int64_t *indices, ferry_view *out) {
    if (nindices < 0 || nindices > view->ndim) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d indices for a view of %d dimensions", nindices, view->ndim);
    }
    ferry_view result = *view;
    for (int i = 0; i < nindices; ++i) {
        int64_t extent = view->shape[i];
        if (indices[i] >= extent || indices[i] < -extent) {
            return ferry_error(FERRY_INVALID_ARGUMENT,
                               "index %" PRId64 " is out of bounds for axis %d with extent %" PRId64, indices[i], i,
                               extent);
        }
        result.data =
            layout_advance(result.data, (indices[i] < 0 ? indices[i] + extent : indices[i]) * view->strides[i]);
    }
    result.ndim = view->ndim - nindices;
    for (int i = 0; i < result.ndim; ++i) {
        result.shape[i] = view->shape[i + nindices];
        result.strides[i] = view->strides[i + nindices];
    }
    *out = result;
    return FERRY_OK;
}
