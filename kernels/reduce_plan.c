#include "reduce_plan.h"

static bool is_reduced(uint32_t axes, int axis) {
    return axes >> axis & 1;
}

static void start_plan(plan *p, const ferry_view *in, const ferry_view *out) {
    *p = (plan){.noperands = 2, .size = 1, .dtype = {out->dtype, in->dtype}, .data = {out->data, in->data}};
}

static void add_axis(plan *p, int64_t extent, int64_t target_stride, int64_t source_stride) {
    p->size *= extent;
    if (extent == 1)
        return;
    p->extent[p->ndim] = extent;
    p->stride[0][p->ndim] = target_stride;
    p->stride[1][p->ndim++] = source_stride;
}

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* By falling strides of the source. An axis that repeats elements stays where it is, as in a copy. */
static void sort_axes(plan *p) {
    const int64_t *stride = p->stride[1];
    for (int i = 1; i < p->ndim; i++) {
        for (int j = i; j > 0 && stride[j - 1] != 0 && magnitude(stride[j - 1]) < magnitude(stride[j]); j--)
            plan_swap_axes(p, j - 1, j);
    }
}

static void finish_plan(plan *p) {
    sort_axes(p);
    plan_merge_axes(p);
    if (p->ndim == 0)
        p->extent[p->ndim++] = 1;
}

static int64_t chunks_of(int64_t elements) {
    return (elements - 1) / REDUCE_CHUNK + 1;
}

void reduce_plan_first(reduce_pass *p, const reduction_types *types, const ferry_view *in, uint32_t axes,
                       const ferry_view *out) {
    int to = 0;
    p->op = types->op;
    p->accumulator = types->accumulator;
    start_plan(&p->kept, in, out);
    start_plan(&p->reduced, in, out);
    for (int axis = 0; axis < in->ndim; axis++) {
        if (is_reduced(axes, axis))
            add_axis(&p->reduced, in->shape[axis], 0, in->strides[axis]);
        else
            add_axis(&p->kept, in->shape[axis], out->strides[to++], in->strides[axis]);
    }
    finish_plan(&p->kept);
    finish_plan(&p->reduced);
    p->chunks = chunks_of(p->reduced.size);
}

static void set_operand(reduce_pass *p, int operand, void *data) {
    p->kept.data[operand] = p->reduced.data[operand] = data;
    p->kept.dtype[operand] = p->reduced.dtype[operand] = p->accumulator;
}

void reduce_plan_split(reduce_pass *p, void *values, reduce_pass *next) {
    const int64_t item = (int64_t)ferry_dtype_size(p->accumulator);
    *next = *p;
    set_operand(p, 0, values);
    set_operand(next, 1, values);
    int64_t stride = p->chunks * item;
    for (int axis = p->kept.ndim - 1; axis >= 0; axis--) {
        p->kept.stride[0][axis] = next->kept.stride[1][axis] = stride;
        stride *= p->kept.extent[axis];
    }
    next->reduced.size = next->reduced.extent[0] = p->chunks;
    next->reduced.ndim = 1;
    next->reduced.stride[1][0] = item;
    next->chunks = chunks_of(p->chunks);
}
