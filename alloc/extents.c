#include "extents.h"

#include "backend.h"
#include "hot.h"

static const size_t item_bytes[] = {
#define BYTES(constant, name, bytes, kind, type) bytes,
    FERRY_DTYPE_LIST(BYTES)
#undef BYTES
};

struct axis {
    int64_t count, stride; /* stride > 0 */
};

/* Axes that matter, made positive (moving `base` to the lowest element) and sorted by stride, shortest first. -1: no
 * elements. */
static int positive_axes(const ferry_view *view, char **base, struct axis *axes) {
    int naxes = 0;
    *base = view->data;
    for (int i = 0; i < view->ndim; i++) {
        struct axis axis = {view->shape[i], view->strides[i]};
        if (axis.count == 0) {
            return -1;
        }
        if (axis.count == 1 || axis.stride == 0) {
            continue;
        }
        if (axis.stride < 0) {
            *base += axis.stride * (axis.count - 1);
            axis.stride = -axis.stride;
        }
        int at = naxes++;
        for (; at > 0 && axes[at - 1].stride > axis.stride; at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = axis;
    }
    return naxes;
}

static int64_t runs_from(const struct axis *axes, int first, int naxes) {
    int64_t runs = 1;
    for (int i = first; i < naxes && runs <= EXTENTS_MAX; i++) {
        runs = axes[i].count > EXTENTS_MAX ? EXTENTS_MAX + 1 : runs * axes[i].count;
    }
    return runs;
}

HOT size_t extents_contiguous_bytes(const ferry_view *view) {
    int64_t bytes = (int64_t)item_bytes[view->dtype];
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->strides[i] != bytes && view->shape[i] != 1) {
            return 0;
        }
        bytes *= view->shape[i];
    }
    return (size_t)bytes;
}

/* Of a view that is not contiguous. */
static void begin_axes(struct extents *extents, const ferry_view *view) {
    struct axis axes[FERRY_MAX_DIMS];
    const int naxes = positive_axes(view, &extents->base, axes);
    if (naxes < 0) {
        extents->done = true;
        return;
    }
    extents->run_bytes = item_bytes[view->dtype];
    int inner = 0;
    for (; inner < naxes; inner++) {
        const size_t stride = (size_t)axes[inner].stride;
        const bool follows = stride < extents->run_bytes + FERRY_PAGE_BYTES;
        if (!follows && runs_from(axes, inner, naxes) <= EXTENTS_MAX) {
            break;
        }
        extents->dense = extents->dense && stride <= extents->run_bytes;
        extents->run_bytes += stride * (size_t)(axes[inner].count - 1);
    }
    for (int i = naxes - 1; i >= inner; i--) {
        extents->at[extents->naxes] = 0;
        extents->counts[extents->naxes] = axes[i].count;
        extents->strides[extents->naxes++] = axes[i].stride;
    }
}

void extents_begin(struct extents *extents, const ferry_view *view) {
    /* Field by field: the arrays are large, and only outer axes use them. */
    extents->base = view->data;
    extents->run_bytes = extents_contiguous_bytes(view);
    extents->dense = true;
    extents->naxes = 0;
    extents->done = false;
    if (extents->run_bytes == 0) {
        begin_axes(extents, view);
    }
}

void extents_bounds(const struct extents *extents, char **low, char **high) {
    const bool empty = extents->run_bytes == 0;
    int64_t span = (int64_t)extents->run_bytes;
    for (int i = 0; i < extents->naxes; i++) {
        span += extents->strides[i] * (extents->counts[i] - 1);
    }
    *low = empty ? NULL : extents->base;
    *high = empty ? NULL : extents->base + span;
}

bool extents_next(struct extents *extents, char **begin, char **end) {
    if (extents->done) {
        return false;
    }
    *begin = extents->base;
    for (int i = 0; i < extents->naxes; i++) {
        *begin += extents->at[i] * extents->strides[i];
    }
    *end = *begin + extents->run_bytes;
    int axis = extents->naxes - 1;
    while (axis >= 0 && ++extents->at[axis] == extents->counts[axis]) {
        extents->at[axis--] = 0;
    }
    extents->done = axis < 0;
    return true;
}
