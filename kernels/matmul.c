#include "ferry/matmul.h"

#include <string.h>

#include "elementwise.h"
#include "ferry/site.h"
#include "matmul_launch.h"

/* A call, as matrices in stacks: of the inputs and of out, without the type of any. */
typedef struct request {
    ferry_dtype dtype;                /* that is computed in */
    ferry_view matrix[PLAN_OPERANDS]; /* out, a, b: two axes at least */
    int64_t rows, columns, inner;
} request;

/* An operand as the product goes on with it. */
typedef struct operand {
    ferry_view view;       /* the matrices of the request, or memory in their place */
    ferry_array temporary; /* that memory, else cleared */
} operand;

static void insert_axis(ferry_view *view, int at) {
    for (int axis = view->ndim; axis > at; axis--) {
        view->shape[axis] = view->shape[axis - 1];
        view->strides[axis] = view->strides[axis - 1];
    }
    view->shape[at] = 1;
    view->strides[at] = (int64_t)ferry_dtype_size(view->dtype);
    view->ndim++;
}

/* a of one axis is a row, b of one a column. */
static ferry_status take_input(ferry_view *matrix, const ferry_view *view, bool is_row, const char *what) {
    *matrix = *view;
    if (view->ndim == 0)
        return ferry_error(FERRY_SHAPE, "%s has no axes: a matrix product wants one at least", what);
    if (view->ndim == 1)
        insert_axis(matrix, is_row ? 0 : 1);
    return FERRY_OK;
}

/* The axes that inputs of one axis do not give out. */
static ferry_status take_output(ferry_view *matrix, const ferry_view *out, const ferry_view *a, const ferry_view *b) {
    const int missing = (a->ndim == 1) + (b->ndim == 1);
    *matrix = *out;
    if (out->ndim + missing < 2 || out->ndim + missing > FERRY_MAX_DIMS)
        return ferry_error(FERRY_SHAPE, "an output of %d dimensions holds no such product", out->ndim);
    if (b->ndim == 1)
        insert_axis(matrix, matrix->ndim);
    if (a->ndim == 1)
        insert_axis(matrix, matrix->ndim - 1);
    return FERRY_OK;
}

/* The matrices' stack alone. */
static ferry_view stack_of(const ferry_view *matrix) {
    ferry_view stack = *matrix;
    stack.ndim -= 2;
    return stack;
}

static ferry_status check_stacks(const request *r) {
    const ferry_view out = stack_of(&r->matrix[0]), a = stack_of(&r->matrix[1]), b = stack_of(&r->matrix[2]);
    int64_t shape[FERRY_MAX_DIMS];
    int ndim;
    ferry_status status = ferry_broadcast_shapes((const ferry_view *const[]){&a, &b}, 2, &ndim, shape);
    if (status == FERRY_OK && (ndim != out.ndim || memcmp(shape, out.shape, (size_t)ndim * sizeof *shape) != 0))
        status = ferry_error(FERRY_SHAPE, "the output's stack of matrices has not the shape of the inputs'");
    return status;
}

static ferry_status check_shapes(request *r) {
    const ferry_view *out = &r->matrix[0], *a = &r->matrix[1], *b = &r->matrix[2];
    r->rows = a->shape[a->ndim - 2];
    r->inner = a->shape[a->ndim - 1];
    r->columns = b->shape[b->ndim - 1];
    if (b->shape[b->ndim - 2] != r->inner)
        return ferry_error(FERRY_SHAPE, "matrices of %lld columns and of %lld rows have no product",
                           (long long)r->inner, (long long)b->shape[b->ndim - 2]);
    if (out->shape[out->ndim - 2] != r->rows || out->shape[out->ndim - 1] != r->columns)
        return ferry_error(FERRY_SHAPE, "the output holds %lld x %lld, the product has %lld x %lld",
                           (long long)out->shape[out->ndim - 2], (long long)out->shape[out->ndim - 1],
                           (long long)r->rows, (long long)r->columns);
    return check_stacks(r);
}

static ferry_status check_dtypes(request *r, const ferry_view *a, const ferry_view *b, const ferry_view *out) {
    r->dtype = ferry_dtype_promote(a->dtype, b->dtype);
    if (r->dtype > FERRY_FLOAT64)
        return ferry_error(FERRY_DTYPE, "matmul has no loop for %s and %s", ferry_dtype_name(a->dtype),
                           ferry_dtype_name(b->dtype));
    if (!ferry_dtype_can_cast(r->dtype, out->dtype, FERRY_CAST_SAME_KIND))
        return ferry_error(FERRY_CAST, "matmul gives %s, which does not cast to the output's %s",
                           ferry_dtype_name(r->dtype), ferry_dtype_name(out->dtype));
    return FERRY_OK;
}

static ferry_status check(request *r, const ferry_view *a, const ferry_view *b, const ferry_view *out) {
    ferry_status status = elementwise_check_view(a, "the first input");
    if (status == FERRY_OK)
        status = elementwise_check_view(b, "the second input");
    if (status == FERRY_OK)
        status = elementwise_check_view(out, "the output");
    if (status == FERRY_OK)
        status = check_dtypes(r, a, b, out);
    if (status == FERRY_OK)
        status = take_input(&r->matrix[1], a, true, "the first input");
    if (status == FERRY_OK)
        status = take_input(&r->matrix[2], b, false, "the second input");
    if (status == FERRY_OK)
        status = take_output(&r->matrix[0], out, a, b);
    if (status == FERRY_OK)
        status = check_shapes(r);
    if (status == FERRY_OK)
        status = elementwise_check_output(out);
    if (status == FERRY_OK)
        status = elementwise_check_memory(a, "the first input");
    return status == FERRY_OK ? elementwise_check_memory(b, "the second input") : status;
}

/* Whether the product can work on the matrices where they are. */
static bool fits(const request *r, const ferry_view *matrix, const matmul_prepared *prepared) {
    matmul_layout layout;
    return matrix->dtype == r->dtype &&
           (prepared->by_cublas ? matmul_layout_of(matrix, &layout) : matmul_is_aligned(matrix));
}

static ferry_status allocate(operand *o, ferry_dtype dtype) {
    ferry_status status = ferry_array_create(NULL, dtype, o->view.ndim, o->view.shape, &o->temporary);
    if (status == FERRY_OK)
        o->view = o->temporary.view;
    return status;
}

/* The operands in memory that the product can work on; of inputs it is filled at the end, when all of it is there. */
static ferry_status prepare_operands(const request *r, operand *operands, const matmul_prepared *prepared,
                                     ferry_stream *stream) {
    ferry_status status = FERRY_OK;
    const ferry_view *m = r->matrix;
    for (int k = 0; k < PLAN_OPERANDS && status == FERRY_OK; k++) {
        const bool beside = k == 0 && (ferry_view_overlap(&m[0], &m[1]) || ferry_view_overlap(&m[0], &m[2]));
        operands[k].view = m[k];
        if (beside || !fits(r, &m[k], prepared))
            status = allocate(&operands[k], r->dtype);
    }
    for (int k = 1; k < PLAN_OPERANDS && status == FERRY_OK; k++) {
        if (operands[k].temporary.owner != NULL)
            status = elementwise_copy(&operands[k].view, &m[k], stream);
    }
    return status;
}

/* The inputs in the shape of the output's stack. */
static ferry_status make_product(matmul_product *p, const operand *operands, matmul_prepared *prepared) {
    const ferry_view *out = &operands[0].view;
    ferry_view views[PLAN_OPERANDS] = {*out};
    ferry_status status = FERRY_OK;
    for (int k = 1; k < PLAN_OPERANDS && status == FERRY_OK; k++) {
        const ferry_view *own = &operands[k].view;
        int64_t shape[FERRY_MAX_DIMS];
        memcpy(shape, out->shape, sizeof shape);
        memcpy(shape + out->ndim - 2, own->shape + own->ndim - 2, 2 * sizeof *shape);
        status = ferry_view_broadcast(own, out->ndim, shape, &views[k]);
    }
    for (int k = 0; k < PLAN_OPERANDS && prepared->by_cublas; k++)
        matmul_layout_of(&operands[k].view, &prepared->layouts[k]);
    if (status == FERRY_OK)
        matmul_product_make(p, (const ferry_view *const[]){&views[0], &views[1], &views[2]});
    return status;
}

static ferry_status launch(const matmul_product *p, const operand *operands, const matmul_prepared *prepared,
                           ferry_stream *stream) {
    const ferry_operand acquired[] = {
        {.view = &operands[1].view, .access = FERRY_READ, .passes = FERRY_PASSES_MANY},
        {.view = &operands[2].view, .access = FERRY_READ, .passes = FERRY_PASSES_MANY},
        {.view = &operands[0].view, .access = FERRY_WRITE, .passes = 1},
    };
    ferry_status status = ferry_acquire(acquired, PLAN_OPERANDS, stream);
    if (status != FERRY_OK)
        return status;
    status = matmul_launch_enqueue(p, prepared, stream);
    ferry_status completed = ferry_complete(acquired, PLAN_OPERANDS, stream);
    return status != FERRY_OK ? status : completed;
}

static ferry_status run(const request *r, operand *operands, ferry_stream *stream) {
    matmul_prepared prepared;
    matmul_product p;
    ferry_status status = matmul_launch_choose(r->dtype, r->rows, r->columns, r->inner, &prepared);
    if (status == FERRY_OK)
        status = prepare_operands(r, operands, &prepared, stream);
    if (status == FERRY_OK)
        status = make_product(&p, operands, &prepared);
    if (status == FERRY_OK)
        status = matmul_launch_prepare(&p, stream, &prepared);
    if (status == FERRY_OK)
        status = launch(&p, operands, &prepared, stream);
    if (status == FERRY_OK && operands[0].temporary.owner != NULL)
        status = elementwise_copy(&r->matrix[0], &operands[0].view, stream);
    return status;
}

static ferry_status matmul(const ferry_view *a, const ferry_view *b, const ferry_view *out, ferry_stream *stream) {
    request r;
    operand operands[PLAN_OPERANDS];
    ferry_status status = check(&r, a, b, out);
    if (status != FERRY_OK || ferry_view_size(out) == 0)
        return status;
    if (r.inner == 0)
        return elementwise_fill(out, 0, stream);
    for (int k = 0; k < PLAN_OPERANDS; k++)
        operands[k].temporary = (ferry_array){.owner = NULL};
    status = run(&r, operands, stream);
    for (int k = 0; k < PLAN_OPERANDS; k++)
        ferry_array_release(&operands[k].temporary);
    return status;
}

ferry_status ferry_matmul(const ferry_view *a, const ferry_view *b, const ferry_view *out, ferry_stream *stream) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = matmul(a, b, out, stream);
    ferry_site_set(before);
    return status;
}
