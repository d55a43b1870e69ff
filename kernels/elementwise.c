#include "elementwise.h"

#include <string.h>

#include "ferry/site.h"
#include "launch.h"

#define INPUTS_MAX 2

/* A launch that is ready: what runs, and on which operands. */
typedef struct work {
    plan plan;
    prepared kernel;
    ferry_operand operands[PLAN_OPERANDS];
    size_t noperands;
} work;

/* An input as the call goes on with it. */
typedef struct input {
    ferry_view own;        /* as given, or its copy when it overlaps out */
    ferry_view broadcast;  /* that, in out's shape */
    bool in_place;         /* element for element where out's are */
    ferry_array temporary; /* the copy's memory, else cleared */
    work copy;             /* fills it */
} input;

ferry_status elementwise_check_view(const ferry_view *view, const char *what) {
    if (view == NULL)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s is missing (NULL)", what);
    if ((unsigned)view->dtype >= FERRY_DTYPE_COUNT || view->ndim < 0 || view->ndim > FERRY_MAX_DIMS)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s is no view: dtype %d, %d dimensions", what, (int)view->dtype,
                           view->ndim);
    return FERRY_OK;
}

ferry_status elementwise_check_memory(const ferry_view *view, const char *what) {
    const char *low, *high;
    ferry_view_bounds(view, &low, &high);
    if (low != NULL && (!ferry_owns(low) || !ferry_owns(high - 1)))
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s at %p does not lie in ferry memory", what, view->data);
    return FERRY_OK;
}

ferry_status elementwise_check_output(const ferry_view *out) {
    if (out->readonly)
        return ferry_error(FERRY_INVALID_ARGUMENT, "the output is read-only");
    if (ferry_view_self_overlap(out))
        return ferry_error(FERRY_INVALID_ARGUMENT, "elements of the output overlap one another");
    return elementwise_check_memory(out, "the output");
}

/* Same bytes, element for element, so that every element is read before it is written. */
static bool same_elements(const ferry_view *a, const ferry_view *b) {
    if (a->data != b->data || a->ndim != b->ndim || ferry_dtype_size(a->dtype) != ferry_dtype_size(b->dtype))
        return false;
    for (int axis = 0; axis < a->ndim; axis++) {
        if (a->shape[axis] != b->shape[axis] || (a->shape[axis] > 1 && a->strides[axis] != b->strides[axis]))
            return false;
    }
    return true;
}

static void add_operand(work *w, const ferry_view *view, ferry_access access) {
    w->operands[w->noperands++] = (ferry_operand){.view = view, .access = access, .passes = 1};
}

/* An input that is broadcast is gone over once for each of its copies. */
static int passes_over(const ferry_view *own, const ferry_view *out) {
    const int64_t size = ferry_view_size(own), passes = size > 0 ? ferry_view_size(out) / size : 1;
    return passes < 1 ? 1 : passes < FERRY_PASSES_MANY ? (int)passes : FERRY_PASSES_MANY;
}

static void add_input(work *w, const ferry_view *view, const ferry_view *out) {
    add_operand(w, view, FERRY_READ);
    w->operands[w->noperands - 1].passes = passes_over(view, out);
}

/* An input that overlaps out is copied first, in stream order. */
static ferry_status prepare_copy(input *in, const ferry_view *original, ferry_stream *stream) {
    ferry_status status = ferry_array_create(NULL, original->dtype, original->ndim, original->shape, &in->temporary);
    if (status != FERRY_OK)
        return status;
    in->own = in->temporary.view;
    plan_make(&in->copy.plan, PLAN_COPY, NULL, (const ferry_view *const[]){&in->own, original}, 2);
    add_operand(&in->copy, original, FERRY_READ);
    add_operand(&in->copy, &in->own, FERRY_WRITE);
    return launch_prepare(&in->copy.plan, stream, &in->copy.kernel);
}

/* in->own is set. */
static ferry_status prepare_input(input *in, const ferry_view *original, const ferry_view *out, ferry_stream *stream) {
    ferry_status status = elementwise_check_memory(original, "an input");
    if (status != FERRY_OK)
        return status;
    in->in_place = same_elements(&in->broadcast, out);
    if (in->in_place || !ferry_view_overlap(original, out))
        return FERRY_OK;
    status = prepare_copy(in, original, stream);
    if (status == FERRY_OK)
        status = ferry_view_broadcast(&in->own, out->ndim, out->shape, &in->broadcast);
    return status;
}

static ferry_status run_work(const work *w, ferry_stream *stream) {
    return launch_run(&w->plan, &w->kernel, w->operands, w->noperands, stream);
}

/* Inputs that are the same view are one operand. */
static int distinct_inputs(const input *inputs, int nin) {
    return nin == 2 && inputs[0].broadcast.dtype == inputs[1].broadcast.dtype &&
                   same_elements(&inputs[0].broadcast, &inputs[1].broadcast)
               ? 1
               : nin;
}

static ferry_status prepare_work(work *w, const elementwise_call *c, const input *inputs, int nin) {
    const ferry_view *views[PLAN_OPERANDS] = {c->out};
    bool in_place = false;
    for (int i = 0; i < nin; i++) {
        views[i + 1] = &inputs[i].broadcast;
        in_place |= inputs[i].in_place;
        if (!inputs[i].in_place)
            add_input(w, &inputs[i].own, c->out);
    }
    add_operand(w, c->out, in_place ? FERRY_READWRITE : FERRY_WRITE);
    plan_make(&w->plan, c->op, c->loop, views, nin + 1);
    w->plan.exceptions = c->exceptions;
    return launch_prepare(&w->plan, c->stream, &w->kernel);
}

/* Everything that can fail before the first byte moves, then the launches. */
static ferry_status run(const elementwise_call *c, input *inputs) {
    work w = {.noperands = 0};
    ferry_status status = FERRY_OK;
    const int nin = distinct_inputs(inputs, c->nin);
    for (int i = 0; i < nin && status == FERRY_OK; i++)
        status = prepare_input(&inputs[i], c->in[i], c->out, c->stream);
    if (status == FERRY_OK)
        status = prepare_work(&w, c, inputs, nin);
    for (int i = 0; i < nin && status == FERRY_OK; i++) {
        if (inputs[i].temporary.owner != NULL)
            status = run_work(&inputs[i].copy, c->stream);
    }
    if (status == FERRY_OK)
        status = run_work(&w, c->stream);
    for (int i = 0; i < nin; i++)
        ferry_array_release(&inputs[i].temporary);
    return status;
}

ferry_status elementwise_run(const elementwise_call *c) {
    input inputs[INPUTS_MAX];
    for (int i = 0; i < c->nin; i++) {
        memset(&inputs[i].temporary, 0, sizeof inputs[i].temporary);
        inputs[i].copy.noperands = 0;
        inputs[i].own = *c->in[i];
        ferry_status status = ferry_view_broadcast(c->in[i], c->out->ndim, c->out->shape, &inputs[i].broadcast);
        if (status != FERRY_OK)
            return status;
    }
    ferry_status status = elementwise_check_output(c->out);
    if (status != FERRY_OK || ferry_view_size(c->out) == 0)
        return status;
    return run(c, inputs);
}

static ferry_status check_dtypes(ferry_op op, const op_loop *loop, const ferry_view *out) {
    if (ferry_dtype_can_cast(loop->result, out->dtype, FERRY_CAST_SAME_KIND))
        return FERRY_OK;
    return ferry_error(FERRY_CAST, "%s gives %s, which does not cast to the output's %s", ferry_op_name(op),
                       ferry_dtype_name(loop->result), ferry_dtype_name(out->dtype));
}

ferry_status elementwise_resolve(const elementwise_call *c, op_loop *loop) {
    static const char *const names[INPUTS_MAX] = {"the first input", "the second input"};
    ferry_dtype dtypes[INPUTS_MAX];
    ferry_status status = op_check(c->op, c->nin);
    if (status == FERRY_OK && c->in == NULL)
        status = ferry_error(FERRY_INVALID_ARGUMENT, "the inputs are missing (NULL)");
    if (status == FERRY_OK)
        status = elementwise_check_view(c->out, "the output");
    for (int i = 0; i < c->nin && status == FERRY_OK; i++) {
        status = elementwise_check_view(c->in[i], names[i]);
        if (status == FERRY_OK)
            dtypes[i] = c->in[i]->dtype;
    }
    if (status == FERRY_OK)
        status = op_resolve(c->op, dtypes, c->nin, loop);
    return status == FERRY_OK ? check_dtypes(c->op, loop, c->out) : status;
}

ferry_status ferry_apply(ferry_op op, const ferry_view *const *in, int nin, const ferry_view *out,
                         ferry_stream *stream) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    op_loop loop;
    const elementwise_call call = {.op = op, .loop = &loop, .in = in, .nin = nin, .out = out, .stream = stream};
    ferry_status status = elementwise_resolve(&call, &loop);
    if (status == FERRY_OK)
        status = elementwise_run(&call);
    ferry_site_set(before);
    return status;
}
