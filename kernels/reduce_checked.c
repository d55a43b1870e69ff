/*
 * What a reduction of floats raises, told from its elements and its results. Only a result that an exception can leave
 * behind, an infinity, a NaN or a zero, makes anything look at the elements.
 */
#include <string.h>

#include "elementwise.h"
#include "ferry/reduce.h"
#include "ferry/site.h"
#include "host_loops.h"

#define RESULTS_FEW 64 /* looked at on the host, where whoever asked wants them; more are looked at on the device */

typedef struct checked {
    ferry_reduction reduction;
    const ferry_view *in; /* apart from out */
    uint32_t axes;
    ferry_view results; /* out, or its real parts */
    ferry_stream *stream;
} checked;

/* An exception: of a result that is `result`, each of whose elements x is `element`, of x or of x and x. */
typedef struct sign {
    unsigned raised;
    ferry_op result, element;
    bool of_products_only;
} sign;

static const sign signs[] = {
    {FERRY_FP_OVERFLOW, FERRY_OP_ISINF, FERRY_OP_ISFINITE, false},
    {FERRY_FP_INVALID, FERRY_OP_ISNAN, FERRY_OP_EQUAL, false},
    {FERRY_FP_UNDERFLOW, FERRY_OP_LOGICAL_NOT, FERRY_OP_LOGICAL_AND, true},
};

static ferry_status apply(ferry_op op, const ferry_view *a, const ferry_view *b, const ferry_view *out,
                          ferry_stream *stream) {
    return ferry_apply(op, (const ferry_view *const[]){a, b}, ferry_op_arity(op), out, stream);
}

/* op of each element, or of each with itself, in memory of its own. */
static ferry_status truths_of(ferry_op op, const ferry_view *view, ferry_array *out, ferry_stream *stream) {
    ferry_array truths;
    ferry_status status = ferry_array_create(NULL, FERRY_BOOL, view->ndim, view->shape, &truths);
    if (status != FERRY_OK)
        return status;
    status = apply(op, view, view, &truths.view, stream);
    if (status == FERRY_OK)
        *out = truths;
    else
        ferry_array_release(&truths);
    return status;
}

static ferry_status any_of(const ferry_view *truths, ferry_stream *stream, bool *out) {
    ferry_array any;
    ferry_status status = ferry_array_create(NULL, FERRY_BOOL, 0, NULL, &any);
    if (status != FERRY_OK)
        return status;
    status = ferry_reduce(FERRY_REDUCTION_LOGICAL_OR, truths, FERRY_REDUCE_ALL, &any.view, stream);
    if (status == FERRY_OK)
        status = ferry_host_acquire(&any.view, FERRY_READ);
    if (status == FERRY_OK)
        *out = *(const uint8_t *)any.view.data != 0;
    ferry_array_release(&any);
    return status;
}

static ferry_status any_of_few(const checked *c, ferry_op op, bool *out) {
    double results[RESULTS_FEW];
    uint8_t truths[RESULTS_FEW];
    ferry_view copy;
    const int64_t n = ferry_view_size(&c->results), item = sizeof *results;
    ferry_status status = ferry_view_make(results, FERRY_FLOAT64, c->results.ndim, c->results.shape, &copy);
    if (status == FERRY_OK)
        status = ferry_assign_host(&copy, &c->results);
    if (status != FERRY_OK)
        return status;
    host_loop_find(op, FERRY_FLOAT64, FERRY_FLOAT64)((char *)truths, 1, copy.data, item, copy.data, item, n);
    *out = memchr(truths, 1, (size_t)n) != NULL;
    return FERRY_OK;
}

/* Whether a result is of that kind at all. */
static ferry_status has_results(const checked *c, ferry_op op, bool *out) {
    ferry_array truths;
    if (ferry_view_size(&c->results) <= RESULTS_FEW)
        return any_of_few(c, op, out);
    ferry_status status = truths_of(op, &c->results, &truths, c->stream);
    if (status == FERRY_OK) {
        status = any_of(&truths.view, c->stream, out);
        ferry_array_release(&truths);
    }
    return status;
}

/* Of the results of that kind, those whose elements are; `truths` is of the results, and becomes both. */
static ferry_status keep_raised(const checked *c, const sign *s, const ferry_view *truths) {
    ferry_array elements, all;
    ferry_status status = truths_of(s->element, c->in, &elements, c->stream);
    if (status != FERRY_OK)
        return status;
    status = ferry_array_create(NULL, FERRY_BOOL, truths->ndim, truths->shape, &all);
    if (status == FERRY_OK) {
        status = ferry_reduce(FERRY_REDUCTION_LOGICAL_AND, &elements.view, c->axes, &all.view, c->stream);
        if (status == FERRY_OK)
            status = apply(FERRY_OP_LOGICAL_AND, truths, &all.view, truths, c->stream);
        ferry_array_release(&all);
    }
    ferry_array_release(&elements);
    return status;
}

static ferry_status look_for(const checked *c, const sign *s, unsigned *exceptions) {
    ferry_array truths;
    bool raised = false;
    ferry_status status = has_results(c, s->result, &raised);
    if (status != FERRY_OK || !raised)
        return status;
    status = truths_of(s->result, &c->results, &truths, c->stream);
    if (status != FERRY_OK)
        return status;
    status = keep_raised(c, s, &truths.view);
    if (status == FERRY_OK)
        status = any_of(&truths.view, c->stream, &raised);
    ferry_array_release(&truths);
    if (status == FERRY_OK && raised)
        *exceptions |= s->raised;
    return status;
}

static ferry_status look_for_all(const checked *c, unsigned *exceptions) {
    const bool product = c->reduction == FERRY_REDUCTION_MULTIPLY;
    unsigned raised = 0;
    ferry_status status = FERRY_OK;
    if (ferry_dtype_kind(c->in->dtype) != 'f' || !(product || c->reduction == FERRY_REDUCTION_ADD) ||
        ferry_view_size(&c->results) == 0 || ferry_view_size(c->in) == 0) {
        *exceptions = 0;
        return ferry_stream_sync(c->stream);
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs && status == FERRY_OK; i++) {
        if (product || !signs[i].of_products_only)
            status = look_for(c, &signs[i], &raised);
    }
    if (status == FERRY_OK)
        status = ferry_stream_sync(c->stream);
    if (status == FERRY_OK)
        *exceptions = raised;
    return status;
}

static ferry_view real_parts(const ferry_view *view) {
    ferry_view real = *view;
    if (ferry_dtype_kind(view->dtype) == 'c')
        real.dtype = view->dtype == FERRY_COMPLEX64 ? FERRY_FLOAT32 : FERRY_FLOAT64;
    return real;
}

/* The elements are looked at when the results are there: where these overwrite them, it is those of a copy. */
static ferry_status keep_elements(const ferry_view *in, const ferry_view *out, ferry_array *copy,
                                  ferry_stream *stream) {
    if (!ferry_view_overlap(in, out))
        return FERRY_OK;
    ferry_status status = ferry_array_create(NULL, in->dtype, in->ndim, in->shape, copy);
    return status == FERRY_OK ? elementwise_copy(&copy->view, in, stream) : status;
}

static ferry_status reduce_checked(ferry_reduction reduction, const ferry_view *in, uint32_t axes,
                                   const ferry_view *out, ferry_stream *stream, unsigned *exceptions) {
    ferry_array copy = {.owner = NULL};
    ferry_status status = elementwise_check_view(in, "the input");
    if (status == FERRY_OK)
        status = elementwise_check_view(out, "the output");
    if (status == FERRY_OK)
        status = elementwise_check_memory(in, "the input");
    if (status == FERRY_OK)
        status = keep_elements(in, out, &copy, stream);
    if (status == FERRY_OK)
        status = ferry_reduce(reduction, in, axes, out, stream);
    if (status == FERRY_OK) {
        const checked c = {reduction, copy.owner != NULL ? &copy.view : in, axes, real_parts(out), stream};
        status = look_for_all(&c, exceptions);
    }
    ferry_array_release(&copy);
    return status;
}

ferry_status ferry_reduce_checked(ferry_reduction reduction, const ferry_view *in, uint32_t axes, const ferry_view *out,
                                  ferry_stream *stream, unsigned *exceptions) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status =
        exceptions == NULL ? ferry_error(FERRY_INVALID_ARGUMENT, "there is nowhere to put the exceptions (NULL)")
                           : reduce_checked(reduction, in, axes, out, stream, exceptions);
    ferry_site_set(before);
    return status;
}
