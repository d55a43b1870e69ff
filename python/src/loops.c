/*
 * One call of an inner loop: n elements of each operand at their strides. NumPy has resolved types, broadcast, and
 * copied operands that overlap; but reductions and accumulations come through the same loops, with operands that
 * overlap on purpose and are to be gone through one element after the other. So a launch is made only where the order
 * cannot matter.
 */
#include "loop.h"

#include <fenv.h>

#include "allocator.h"
#include "scopes.h"

#define SCALAR_BYTES 16 /* room for any element */

/* The operands of a call, inputs first. */
typedef struct call {
    loop *loop;
    int64_t n;
    ferry_view views[LOOP_OPERANDS];
    void *scalars; /* copies of inputs that repeat one element, a slot for each; NULL without any */
} call;

static ferry_view view_of_operand(const call *c, int operand, char *data, int64_t step) {
    ferry_view view = {.data = data, .dtype = c->loop->dtypes[operand], .ndim = 1};
    view.shape[0] = c->n;
    view.strides[0] = step;
    return view;
}

static bool is_aligned(const ferry_view *view) {
    const uintptr_t bytes = ferry_dtype_size(view->dtype);
    return (((uintptr_t)view->data | (uintptr_t)view->strides[0]) & (bytes - 1)) == 0;
}

/* One element, over and over: it is passed apart from the array it lies in. */
static bool repeats(const ferry_view *view) {
    return view->strides[0] == 0 || view->shape[0] == 1;
}

static bool same_elements(const ferry_view *a, const ferry_view *b) {
    return a->data == b->data && a->strides[0] == b->strides[0];
}

static bool disjoint(const ferry_view *a, const ferry_view *b) {
    const char *low_a, *high_a, *low_b, *high_b;
    ferry_view_bounds(a, &low_a, &high_a);
    ferry_view_bounds(b, &low_b, &high_b);
    return high_a <= low_b || high_b <= low_a;
}

/* Whether the input may be read in any order while the output is written. */
static bool input_fits(const ferry_view *in, const ferry_view *out) {
    if (!is_aligned(in) || !(disjoint(in, out) || same_elements(in, out)))
        return false;
    return repeats(in) || ferry_owns(in->data);
}

static bool output_fits(const ferry_view *out) {
    return is_aligned(out) && (out->strides[0] != 0 || out->shape[0] == 1);
}

/* A signed power raises ValueError for a negative exponent, which only one that repeats, in its slot, can be asked
 * about here. */
static bool exponent_is_negative(const call *c) {
    const ferry_view *exponent = &c->views[1];
    int64_t value;
    if (c->loop->op != FERRY_OP_POWER || ferry_dtype_kind(exponent->dtype) != 'i')
        return false;
    if (!repeats(exponent))
        return true;
    ferry_dtype_cast(exponent->dtype, FERRY_INT64)((char *)&value, 8, exponent->data, 8, 1);
    return value < 0;
}

static bool call_make(call *c, char **args, const npy_intp *steps) {
    const int nin = c->loop->nin;
    c->views[nin] = view_of_operand(c, nin, args[nin], steps[nin]);
    if (!output_fits(&c->views[nin]))
        return false;
    for (int i = 0; i < nin; i++) {
        c->views[i] = view_of_operand(c, i, args[i], steps[i]);
        if (!input_fits(&c->views[i], &c->views[nin]))
            return false;
    }
    return true;
}

/* What the thread has launched without waiting may be about to write the element. */
static ferry_status settle_for(const ferry_view *scalar) {
    return ferry_owns(scalar->data) ? thread_settle() : FERRY_OK;
}

/* Small blocks of ferry's stay where they are, and a kernel reads them across the bus. */
static ferry_status pass_scalars(call *c) {
    for (int i = 0; i < c->loop->nin; i++) {
        ferry_view *view = &c->views[i];
        if (!repeats(view))
            continue;
        if (c->scalars == NULL && (c->scalars = ferry_malloc((size_t)SCALAR_BYTES * LOOP_OPERANDS)) == NULL)
            return FERRY_LIMIT;
        const ferry_status status = settle_for(view);
        if (status != FERRY_OK)
            return status;
        char *slot = (char *)c->scalars + (ptrdiff_t)SCALAR_BYTES * i;
        memcpy(slot, view->data, ferry_dtype_size(view->dtype));
        view->data = slot;
        view->strides[0] = 0;
    }
    return FERRY_OK;
}

void loop_raise_exceptions(unsigned exceptions) {
    static const struct {
        unsigned exception;
        int flag;
    } known[] = {{FERRY_FP_DIVIDE, FE_DIVBYZERO},
                 {FERRY_FP_OVERFLOW, FE_OVERFLOW},
                 {FERRY_FP_UNDERFLOW, FE_UNDERFLOW},
                 {FERRY_FP_INVALID, FE_INVALID}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if ((exceptions & known[i].exception) != 0)
            feraiseexcept(known[i].flag);
    }
}

/* On behalf of the line that the result was allocated for. The simulator's kernels leave flags of their own. */
static ferry_status launch_in_place_of_loop(const call *c) {
    fexcept_t flags;
    unsigned exceptions;
    const ferry_site site = allocator_take_site(c->views[c->loop->nin].data), before = ferry_site_get();
    if (site != 0)
        ferry_site_set(site);
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    const ferry_status status = thread_apply(c->loop->op, c->views, &exceptions);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    loop_raise_exceptions(exceptions);
    if (site != 0)
        ferry_site_set(before);
    if (status == FERRY_OK)
        atomic_fetch_add_explicit(&c->loop->launches, 1, memory_order_relaxed);
    return status;
}

void loop_raise(ferry_status status) {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (!PyErr_Occurred())
        raise_status(status);
    PyGILState_Release(state);
}

bool loop_is_refusal(ferry_status status) {
    return status != FERRY_OK && status != FERRY_BACKEND && status != FERRY_REDUNDANT && status != FERRY_UNSYNCHRONISED;
}

static bool serve_elementwise(call *c) {
    ferry_status status = pass_scalars(c);
    if (status == FERRY_OK)
        status = exponent_is_negative(c) ? FERRY_UNSUPPORTED : launch_in_place_of_loop(c);
    ferry_free(c->scalars);
    if (loop_is_refusal(status))
        return false;
    if (status != FERRY_OK)
        loop_raise(status);
    return true;
}

/* Most calls are turned away by the first line. */
static bool serve_call(loop *l, char **args, int64_t n, const npy_intp *steps, void *data) {
    if (n < loop_gate(&l->length) || !ferry_owns(args[l->nin]))
        return false;
    call c = {.loop = l, .n = n, .scalars = NULL};
    return call_make(&c, args, steps) && n >= loop_length(l, data, &l->length, loop_measure_launch) &&
           serve_elementwise(&c);
}

static bool serve(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const int64_t n = dimensions[0];
    if (n < 1)
        return false;
    if (l->op == FERRY_OP_COUNT)
        return loop_serve_product(l, args, dimensions, steps, data);
    return l->nin == 2 && steps[2] == 0 && steps[0] == 0 && args[0] == args[2]
               ? loop_serve_reduction(l, args, n, steps, data)
               : serve_call(l, args, n, steps, data);
}

void loop_call(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    if (serve(l, args, dimensions, steps, data))
        return;
    const ferry_status status = thread_settle();
    if (status != FERRY_OK)
        loop_raise(status);
    l->numpy(args, dimensions, steps, data);
}
