#include "matmul_product.h"

ferry_dtype matmul_accumulator(ferry_dtype dtype) {
    return dtype == FERRY_FLOAT16 ? FERRY_FLOAT32 : dtype == FERRY_FLOAT32 ? FERRY_FLOAT64 : dtype;
}

static void take_stack(plan *p, const ferry_view *const *views) {
    *p = (plan){.noperands = PLAN_OPERANDS, .size = 1};
    for (int axis = 0; axis < views[0]->ndim - 2; axis++) {
        if (views[0]->shape[axis] == 1)
            continue;
        p->size *= views[0]->shape[axis];
        p->extent[p->ndim] = views[0]->shape[axis];
        for (int k = 0; k < PLAN_OPERANDS; k++)
            p->stride[k][p->ndim] = views[k]->strides[axis];
        p->ndim++;
    }
    plan_merge_axes(p);
    if (p->ndim == 0)
        p->extent[p->ndim++] = 1;
}

void matmul_product_make(matmul_product *p, const ferry_view *const *views) {
    const int last = views[0]->ndim - 1;
    take_stack(&p->stack, views);
    p->dtype = views[0]->dtype;
    p->accumulator = matmul_accumulator(p->dtype);
    p->rows = views[0]->shape[last - 1];
    p->columns = views[0]->shape[last];
    p->inner = views[1]->shape[last];
    for (int k = 0; k < PLAN_OPERANDS; k++) {
        p->stack.data[k] = views[k]->data;
        p->stack.dtype[k] = views[k]->dtype;
        p->row_stride[k] = views[k]->strides[last - 1];
        p->column_stride[k] = views[k]->strides[last];
    }
}

static void swap(int64_t *a, int64_t *b) {
    const int64_t kept = *a;
    *a = *b;
    *b = kept;
}

void matmul_product_transpose(matmul_product *p) {
    char *data = p->stack.data[1];
    p->stack.data[1] = p->stack.data[2];
    p->stack.data[2] = data;
    for (int axis = 0; axis < p->stack.ndim; axis++)
        swap(&p->stack.stride[1][axis], &p->stack.stride[2][axis]);
    swap(&p->rows, &p->columns);
    swap(&p->row_stride[1], &p->row_stride[2]);
    swap(&p->column_stride[1], &p->column_stride[2]);
    for (int k = 0; k < PLAN_OPERANDS; k++)
        swap(&p->row_stride[k], &p->column_stride[k]);
}

/* Whether vectors of `extent` elements, one after another in memory, lie `stride` bytes apart. */
static bool is_leading(int64_t extent, int64_t step, int64_t count, int64_t stride, int64_t item, int64_t *leading) {
    if (extent > 1 && step != item)
        return false;
    *leading = count > 1 ? stride / item : extent;
    return *leading >= extent && *leading <= INT32_MAX;
}

bool matmul_is_aligned(const ferry_view *view) {
    uint64_t bits = (uint64_t)(uintptr_t)view->data;
    for (int axis = 0; axis < view->ndim; axis++)
        bits |= view->shape[axis] > 1 ? (uint64_t)view->strides[axis] : 0;
    return (bits & (uint64_t)(ferry_dtype_size(view->dtype) - 1)) == 0;
}

static bool stack_runs_backwards(const ferry_view *view) {
    for (int axis = 0; axis < view->ndim - 2; axis++) {
        if (view->strides[axis] < 0)
            return true;
    }
    return false;
}

bool matmul_layout_of(const ferry_view *view, matmul_layout *out) {
    const int last = view->ndim - 1;
    const int64_t item = (int64_t)ferry_dtype_size(view->dtype);
    if (!matmul_is_aligned(view) || stack_runs_backwards(view))
        return false;
    const int64_t rows = view->shape[last - 1], columns = view->shape[last];
    const int64_t row_stride = view->strides[last - 1], column_stride = view->strides[last];
    *out = (matmul_layout){.by_columns = false};
    if (is_leading(columns, column_stride, rows, row_stride, item, &out->leading))
        return true;
    out->by_columns = true;
    return is_leading(rows, row_stride, columns, column_stride, item, &out->leading);
}
