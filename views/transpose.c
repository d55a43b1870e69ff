#include "layout.h"

ferry_status ferry_view_transpose(const ferry_view *view, const int *axes, ferry_view *out) {
    ferry_view result = *view;
    uint32_t seen = 0;
    for (int i = 0; i < view->ndim; ++i) {
        int axis = axes == NULL ? view->ndim - 1 - i : axes[i];
        if (axis < -view->ndim || axis >= view->ndim) {
            return ferry_error(FERRY_INVALID_ARGUMENT, "axis %d does not exist in a view of %d dimensions", axis,
                               view->ndim);
        }
        axis += axis < 0 ? view->ndim : 0;
        if (seen >> axis & 1) {
            return ferry_error(FERRY_INVALID_ARGUMENT, "axis %d is named twice in a transposition", axis);
        }
        seen |= UINT32_C(1) << axis;
        result.shape[i] = view->shape[axis];
        result.strides[i] = view->strides[axis];
    }
    *out = result;
    return FERRY_OK;
}
