#include "ferry/reduce.h"

#include "elementwise.h"
#include "ferry/site.h"
#include "reduce_launch.h"

/* Values that pass from one launch to the next: fewer would lie in memory that never leaves the host. */
#define VALUES_LEAST 4096

/* One pass, ready to run. */
typedef struct step {
    reduce_pass pass;
    reduce_prepared kernel;
    ferry_view source, target;
    ferry_array values; /* the target's memory, of every pass but the last */
} step;

typedef struct request {
    reduction_types types;
    uint32_t axes;    /* of in, no others */
    int64_t elements; /* that make one result */
} request;

/* Values that pass from one launch to the next stay on the device. */
static ferry_operand operand_of(const ferry_view *view, ferry_access access, const ferry_array *values) {
    return (ferry_operand){.view = view,
                           .access = access,
                           .passes = 1,
                           .policy = values->owner != NULL ? FERRY_POLICY_PREFETCH : FERRY_POLICY_DEFAULT};
}

static ferry_status run_step(const step *s, const ferry_array *before, ferry_stream *stream) {
    const ferry_operand operands[] = {operand_of(&s->source, FERRY_READ, before),
                                      operand_of(&s->target, FERRY_WRITE, &s->values)};
    ferry_status status = ferry_acquire(operands, 2, stream);
    if (status != FERRY_OK)
        return status;
    status = reduce_launch_enqueue(&s->pass, &s->kernel, stream);
    ferry_status completed = ferry_complete(operands, 2, stream);
    return status != FERRY_OK ? status : completed;
}

/* Gives a pass of several chunks memory for their values, and makes the pass that goes on. */
static ferry_status split_step(step *s, step *next) {
    const int64_t needed = s->pass.kept.size * s->pass.chunks, n = needed < VALUES_LEAST ? VALUES_LEAST : needed;
    ferry_status status = ferry_array_create(NULL, s->pass.accumulator, 1, &n, &s->values);
    if (status != FERRY_OK)
        return status;
    next->source = s->values.view;
    next->target = s->target;
    s->target = s->values.view;
    reduce_plan_split(&s->pass, s->values.view.data, &next->pass);
    return FERRY_OK;
}

/* Everything that can fail before the first byte moves, then the launches. */
static ferry_status run_steps(step *steps, ferry_stream *stream) {
    static const ferry_array no_values = {.owner = NULL};
    ferry_status status = FERRY_OK;
    int n = 1;
    for (; status == FERRY_OK && steps[n - 1].pass.chunks > 1; n++)
        status = split_step(&steps[n - 1], &steps[n]);
    for (int i = 0; i < n && status == FERRY_OK; i++)
        status = reduce_launch_prepare(&steps[i].pass, stream, &steps[i].kernel);
    for (int i = 0; i < n && status == FERRY_OK; i++)
        status = run_step(&steps[i], i > 0 ? &steps[i - 1].values : &no_values, stream);
    for (int i = 0; i < n; i++)
        ferry_array_release(&steps[i].values);
    return status;
}

static ferry_status run(const request *r, const ferry_view *in, const ferry_view *out, ferry_stream *stream) {
    step steps[REDUCE_PASSES_MAX];
    for (int i = 0; i < REDUCE_PASSES_MAX; i++)
        steps[i].values = (ferry_array){.owner = NULL};
    steps[0].source = *in;
    steps[0].target = *out;
    reduce_plan_first(&steps[0].pass, &r->types, in, r->axes, out);
    return run_steps(steps, stream);
}

/* The results go to memory of their own first. */
static ferry_status run_beside(const request *r, const ferry_view *in, const ferry_view *out, ferry_stream *stream) {
    ferry_array results;
    ferry_status status = ferry_array_create(NULL, out->dtype, out->ndim, out->shape, &results);
    if (status != FERRY_OK)
        return status;
    status = run(r, in, &results.view, stream);
    if (status == FERRY_OK)
        status = elementwise_copy(out, &results.view, stream);
    ferry_array_release(&results);
    return status;
}

static ferry_status fill_with_identity(ferry_reduction reduction, const ferry_view *out, ferry_stream *stream) {
    int64_t identity;
    if (!reduction_identity(reduction, &identity))
        return ferry_error(FERRY_SHAPE, "%s of no elements has no value: it has no identity",
                           ferry_reduction_name(reduction));
    return elementwise_fill(out, identity, stream);
}

/* r->axes and r->elements, and whether out has the axes that are left. */
static ferry_status check_shapes(request *r, const ferry_view *in, uint32_t axes, const ferry_view *out) {
    const uint32_t all = in->ndim == 32 ? UINT32_MAX : (UINT32_C(1) << in->ndim) - 1;
    int to = 0;
    r->axes = axes & all;
    r->elements = 1;
    if (axes != FERRY_REDUCE_ALL && axes != r->axes)
        return ferry_error(FERRY_INVALID_ARGUMENT, "axes %#x are not all axes of an input of %d dimensions",
                           (unsigned)axes, in->ndim);
    for (int axis = 0; axis < in->ndim; axis++) {
        if (r->axes >> axis & 1)
            r->elements *= in->shape[axis];
        else if (to >= out->ndim || out->shape[to++] != in->shape[axis])
            return ferry_error(FERRY_SHAPE, "the output has not the input's shape without axes %#x: axis %d differs",
                               (unsigned)r->axes, axis);
    }
    if (to != out->ndim)
        return ferry_error(FERRY_SHAPE, "the output has %d dimensions, where %d are left", out->ndim, to);
    return FERRY_OK;
}

static ferry_status check(ferry_reduction reduction, const ferry_view *in, const ferry_view *out,
                          reduction_types *types) {
    ferry_status status = elementwise_check_view(in, "the input");
    if (status == FERRY_OK)
        status = elementwise_check_view(out, "the output");
    if (status == FERRY_OK)
        status = reduction_resolve(reduction, in->dtype, types);
    if (status != FERRY_OK)
        return status;
    if (!ferry_dtype_can_cast(types->result, out->dtype, FERRY_CAST_SAME_KIND))
        return ferry_error(FERRY_CAST, "%s of %s gives %s, which does not cast to the output's %s",
                           ferry_reduction_name(reduction), ferry_dtype_name(in->dtype),
                           ferry_dtype_name(types->result), ferry_dtype_name(out->dtype));
    status = elementwise_check_output(out);
    return status == FERRY_OK ? elementwise_check_memory(in, "the input") : status;
}

static ferry_status reduce(ferry_reduction reduction, const ferry_view *in, uint32_t axes, const ferry_view *out,
                           ferry_stream *stream) {
    request r;
    ferry_status status = check(reduction, in, out, &r.types);
    if (status == FERRY_OK)
        status = check_shapes(&r, in, axes, out);
    if (status != FERRY_OK || ferry_view_size(out) == 0)
        return status;
    if (r.elements == 0)
        return fill_with_identity(reduction, out, stream);
    return ferry_view_overlap(in, out) ? run_beside(&r, in, out, stream) : run(&r, in, out, stream);
}

ferry_status ferry_reduce(ferry_reduction reduction, const ferry_view *in, uint32_t axes, const ferry_view *out,
                          ferry_stream *stream) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = reduce(reduction, in, axes, out, stream);
    ferry_site_set(before);
    return status;
}
