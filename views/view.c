#include <inttypes.h>
#include <stdio.h>

#include "layout.h"

const char *layout_text(int n, const int64_t *numbers, char text[LAYOUT_TEXT_BYTES]) {
    int used = snprintf(text, LAYOUT_TEXT_BYTES, "(");
    for (int i = 0; i < n; ++i) {
        used += snprintf(text + used, LAYOUT_TEXT_BYTES - (size_t)used, "%s%" PRId64, i > 0 ? ", " : "", numbers[i]);
    }
    snprintf(text + used, LAYOUT_TEXT_BYTES - (size_t)used, n == 1 ? ",)" : ")");
    return text;
}

ferry_status layout_check(ferry_dtype dtype, int ndim, const int64_t *shape) {
    if ((unsigned)dtype >= FERRY_DTYPE_COUNT) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no data type", (int)dtype);
    }
    if (ndim < 0 || ndim > FERRY_MAX_DIMS) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d dimensions: a view has 0 to %d", ndim, FERRY_MAX_DIMS);
    }
    if (ndim > 0 && shape == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the shape of %d dimensions is missing (NULL)", ndim);
    }
    char text[LAYOUT_TEXT_BYTES];
    int64_t bytes = (int64_t)ferry_dtype_size(dtype);
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) {
            return ferry_error(FERRY_SHAPE, "shape %s has a negative extent", layout_text(ndim, shape, text));
        }
        if (shape[i] > 0 && __builtin_mul_overflow(bytes, shape[i], &bytes)) {
            return ferry_error(FERRY_SHAPE, "shape %s of %s has more bytes than 64 bits can count",
                               layout_text(ndim, shape, text), ferry_dtype_name(dtype));
        }
    }
    return FERRY_OK;
}

void layout_c_strides(ferry_dtype dtype, int ndim, const int64_t *shape, int64_t *strides) {
    int64_t stride = (int64_t)ferry_dtype_size(dtype);
    for (int i = ndim - 1; i >= 0; --i) {
        strides[i] = stride;
        stride *= shape[i] > 0 ? shape[i] : 1;
    }
}

ferry_status ferry_view_make(void *data, ferry_dtype dtype, int ndim, const int64_t *shape, ferry_view *out) {
    ferry_status status = layout_check(dtype, ndim, shape);
    if (status != FERRY_OK) {
        return status;
    }
    ferry_view view = {.data = data, .dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; ++i) {
        view.shape[i] = shape[i];
    }
    layout_c_strides(dtype, ndim, view.shape, view.strides);
    *out = view;
    return FERRY_OK;
}

int64_t ferry_view_size(const ferry_view *view) {
    int64_t size = 1;
    for (int i = 0; i < view->ndim; ++i) {
        if (view->shape[i] == 0) {
            return 0;
        }
        size *= view->shape[i];
    }
    return size;
}

size_t ferry_view_bytes(const ferry_view *view) {
    return (size_t)ferry_view_size(view) * ferry_dtype_size(view->dtype);
}

/*
 * Axes first, first + step, … from the innermost outwards. Strides of axes with one element do not matter, and a view
 * of no elements is contiguous in every order (NumPy's relaxed strides).
 */
static bool is_contiguous(const ferry_view *view, int first, int step) {
    if (ferry_view_size(view) == 0) {
        return true;
    }
    int64_t stride = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = first; i >= 0 && i < view->ndim; i += step) {
        if (view->shape[i] != 1 && view->strides[i] != stride) {
            return false;
        }
        stride *= view->shape[i];
    }
    return true;
}

bool ferry_view_is_c_contiguous(const ferry_view *view) {
    return is_contiguous(view, view->ndim - 1, -1);
}

bool ferry_view_is_f_contiguous(const ferry_view *view) {
    return is_contiguous(view, 0, 1);
}

void ferry_view_bounds(const ferry_view *view, const char **low, const char **high) {
    if (ferry_view_size(view) == 0) {
        *low = *high = NULL;
        return;
    }
    int64_t below = 0;
    int64_t above = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = 0; i < view->ndim; ++i) {
        int64_t reach = view->strides[i] * (view->shape[i] - 1);
        *(reach < 0 ? &below : &above) += reach;
    }
    *low = layout_advance(view->data, below);
    *high = layout_advance(view->data, above);
}
