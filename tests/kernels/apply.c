/* ferry_apply: what it refuses and leaves alone, and random calls on managed memory against an oracle that walks
 * element by element. */
#include <math.h>

#include "ferry/apply.h"
#include "ferry/stats.h"
#include "kernels/host_loops.h"
#include "tests/kernels/cases.h"

static ferry_array array_of(ferry_dtype dtype, int ndim, const int64_t *shape) {
    ferry_array array;
    REQUIRE_OK(ferry_array_zeros(NULL, dtype, ndim, shape, &array));
    return array;
}

static ferry_array vector_of(ferry_dtype dtype, int64_t n) {
    return array_of(dtype, 1, &n);
}

static ferry_status apply2(ferry_op op, const ferry_view *a, const ferry_view *b, const ferry_view *out) {
    return ferry_apply(op, (const ferry_view *const[]){a, b}, 2, out, NULL);
}

static void operations_have_names(void) {
    for (unsigned op = 0; op < FERRY_OP_COUNT; op++) {
        ferry_op found = FERRY_OP_COUNT;
        CHECK_OK(ferry_op_find(ferry_op_name((ferry_op)op), &found));
        CHECK_INT(found, op);
        CHECK(ferry_op_arity((ferry_op)op) == 1 || ferry_op_arity((ferry_op)op) == 2);
    }
    ferry_op op = FERRY_OP_ADD;
    CHECK_STATUS(ferry_op_find("plus", &op), FERRY_NOT_FOUND);
    CHECK_STATUS(ferry_op_find(NULL, &op), FERRY_INVALID_ARGUMENT);
    CHECK_INT(op, FERRY_OP_ADD);
    CHECK_STRING(ferry_op_name(FERRY_OP_COUNT), "?");
    CHECK_INT(ferry_op_arity(FERRY_OP_COUNT), 0);
}

static void bad_calls_are_refused(void) {
    ferry_array x = vector_of(FERRY_FLOAT64, 6), y = vector_of(FERRY_FLOAT64, 6), i = vector_of(FERRY_INT32, 6);
    ferry_array z = vector_of(FERRY_COMPLEX64, 6), truth = vector_of(FERRY_BOOL, 6);
    const ferry_view *in[] = {&x.view, &x.view};
    ferry_view bad = y.view, plain;
    double own[6] = {0};
    REQUIRE_OK(ferry_view_make(own, FERRY_FLOAT64, 1, (int64_t[]){6}, &plain));
    CHECK_STATUS(ferry_apply(FERRY_OP_ADD, in, 1, &y.view, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply(FERRY_OP_COUNT, in, 1, &y.view, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply(FERRY_OP_LOG, NULL, 1, &y.view, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply(FERRY_OP_LOG, in, 1, NULL, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, NULL, &y.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &plain, &y.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &plain), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &i.view), FERRY_CAST);
    CHECK_STATUS(apply2(FERRY_OP_LEFT_SHIFT, &x.view, &x.view, &y.view), FERRY_DTYPE);
    CHECK_STATUS(apply2(FERRY_OP_SUBTRACT, &truth.view, &truth.view, &y.view), FERRY_DTYPE);
    CHECK_STATUS(apply2(FERRY_OP_ADD, &z.view, &z.view, &z.view), FERRY_DTYPE);
    unsigned exceptions = 77;
    CHECK_STATUS(ferry_apply_checked(FERRY_OP_ADD, in, 2, &y.view, NULL, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply_checked(FERRY_OP_ADD, in, 1, &y.view, NULL, &exceptions), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply_checked(FERRY_OP_ADD, in, 2, &i.view, NULL, &exceptions), FERRY_CAST);
    bad.readonly = true;
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &bad), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_apply_checked(FERRY_OP_ADD, in, 2, &bad, NULL, &exceptions), FERRY_INVALID_ARGUMENT);
    CHECK_UINT(exceptions, 77);
    bad = y.view;
    bad.strides[0] = 0;
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &bad), FERRY_INVALID_ARGUMENT);
    bad = y.view;
    bad.shape[0] = 5;
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &bad), FERRY_SHAPE);
    bad.dtype = FERRY_DTYPE_COUNT;
    CHECK_STATUS(apply2(FERRY_OP_ADD, &x.view, &x.view, &bad), FERRY_INVALID_ARGUMENT);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_array_release(&i);
    ferry_array_release(&z);
    ferry_array_release(&truth);
}

static void nothing_to_do_is_success(void) {
    ferry_array empty = array_of(FERRY_FLOAT32, 2, (int64_t[]){3, 0}), one = vector_of(FERRY_FLOAT32, 1);
    ferry_stats before, after;
    CHECK_OK(ferry_stats_get(&before));
    CHECK_OK(apply2(FERRY_OP_ADD, &empty.view, &one.view, &empty.view));
    CHECK_OK(ferry_assign(&empty.view, &one.view, NULL));
    CHECK_OK(ferry_stats_get(&after));
    CHECK_UINT(after.launches, before.launches);
    ferry_array_release(&empty);
    ferry_array_release(&one);
}

/* On a stream of the caller's, in place, and where nothing is to be done or nothing can be raised. */
static void exceptions_come_back(void) {
    ferry_array x = vector_of(FERRY_FLOAT64, 100000), none = vector_of(FERRY_FLOAT64, 0);
    const ferry_view *in[] = {&x.view, &x.view}, *nothing[] = {&none.view};
    ferry_stream *stream;
    unsigned exceptions = 77;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    CHECK_OK(ferry_apply_checked(FERRY_OP_NEGATIVE, in, 1, &x.view, stream, &exceptions));
    CHECK_UINT(exceptions, 0);
    CHECK_OK(ferry_apply_checked(FERRY_OP_DIVIDE, in, 2, &x.view, stream, &exceptions));
    CHECK_UINT(exceptions, FERRY_FP_INVALID);
    CHECK_OK(ferry_apply_checked(FERRY_OP_LOG, in, 1, &x.view, stream, &exceptions));
    CHECK_UINT(exceptions, 0);
    exceptions = 77;
    CHECK_OK(ferry_apply_checked(FERRY_OP_LOG, nothing, 1, &none.view, NULL, &exceptions));
    CHECK_UINT(exceptions, 0);
    ferry_stream_destroy(stream);
    ferry_array_release(&x);
    ferry_array_release(&none);
}

static uint64_t bytes_to_device(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.bytes_to_device;
}

/* x + x reads x once; in place, the output is the input. */
static void an_operand_crosses_once(void) {
    int64_t n = 1 << 20;
    ferry_heap *heap;
    ferry_array x, y;
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){.policy = FERRY_POLICY_PREFETCH}, &heap));
    REQUIRE_OK(ferry_array_create(heap, FERRY_FLOAT64, 1, &n, &x));
    REQUIRE_OK(ferry_array_create(heap, FERRY_FLOAT64, 1, &n, &y));
    CHECK_OK(ferry_host_acquire(&x.view, FERRY_WRITE));
    for (int64_t i = 0; i < n; i++)
        ((double *)x.view.data)[i] = (double)i;
    CHECK_OK(ferry_stats_reset());
    CHECK_OK(apply2(FERRY_OP_ADD, &x.view, &x.view, &y.view));
    CHECK_UINT(bytes_to_device(), ferry_view_bytes(&x.view));
    CHECK_OK(apply2(FERRY_OP_MULTIPLY, &y.view, &y.view, &y.view));
    CHECK_OK(apply2(FERRY_OP_SUBTRACT, &y.view, &x.view, &x.view));
    CHECK_UINT(bytes_to_device(), ferry_view_bytes(&x.view));
    CHECK_OK(ferry_host_acquire(&x.view, FERRY_READ));
    const double *values = x.view.data;
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        wrong += values[i] != 4.0 * (double)i * (double)i - (double)i;
    CHECK_INT(wrong, 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_heap_destroy(heap);
}

/* The memory that the calls work on, and what it should hold. */
typedef struct world {
    ferry_array memory;
    char *should;
} world;

/* One element by the loops, from inputs as they were: the oracle. */
typedef struct element_call {
    const op_loop *loop;
    host_loop function;
    int nin;
    const ferry_dtype *dtype;
} element_call;

static void compute_element(void *context, char *const *at) {
    const element_call *c = context;
    _Alignas(16) char value[PLAN_OPERANDS][16];
    for (int k = 1; k <= c->nin; k++)
        ferry_dtype_cast(c->dtype[k], c->loop->compute[k - 1])(value[k], 0, at[k], 0, 1);
    c->function(value[0], 0, value[1], 0, value[c->nin], 0, 1);
    ferry_dtype_cast(c->loop->result, c->dtype[0])(at[0], 0, value[0], 0, 1);
}

/* The same view of another block of CASE_BYTES. */
static ferry_view moved(const ferry_view *view, const char *from, char *to) {
    ferry_view other = *view;
    other.data = to + ((const char *)view->data - from);
    return other;
}

static void apply_oracle(const world *w, ferry_op op, const op_loop *loop, const ferry_view *views, int nin) {
    static char before[CASE_BYTES];
    memcpy(before, w->should, CASE_BYTES);
    ferry_view own[PLAN_OPERANDS] = {moved(&views[0], w->memory.view.data, w->should)};
    const ferry_view *pointers[PLAN_OPERANDS] = {&own[0]};
    ferry_dtype dtype[PLAN_OPERANDS] = {views[0].dtype};
    for (int k = 1; k <= nin; k++) {
        own[k] = moved(&views[k], w->memory.view.data, before);
        pointers[k] = &own[k];
        dtype[k] = views[k].dtype;
    }
    element_call c = {loop, host_loop_find(op, loop->compute[0], loop->compute[1]), nin, dtype};
    case_walk(pointers, nin + 1, compute_element, &c);
}

/* The simulator's kernels are the oracle's loops; a device has mathematics of its own, and agrees to the bit in these.
 */
static const ferry_op exact_ops[] = {
    FERRY_OP_NEGATIVE,  FERRY_OP_ABSOLUTE,   FERRY_OP_SIGN,       FERRY_OP_SQUARE,      FERRY_OP_SQRT,
    FERRY_OP_FLOOR,     FERRY_OP_RINT,       FERRY_OP_ISNAN,      FERRY_OP_LOGICAL_NOT, FERRY_OP_INVERT,
    FERRY_OP_ADD,       FERRY_OP_SUBTRACT,   FERRY_OP_MULTIPLY,   FERRY_OP_DIVIDE,      FERRY_OP_FLOOR_DIVIDE,
    FERRY_OP_REMAINDER, FERRY_OP_COPYSIGN,   FERRY_OP_MAXIMUM,    FERRY_OP_FMIN,        FERRY_OP_NOT_EQUAL,
    FERRY_OP_LESS,      FERRY_OP_LEFT_SHIFT, FERRY_OP_BITWISE_XOR};
static const int exact_count = sizeof exact_ops / sizeof *exact_ops;

static bool on_device(void) {
    return strcmp(ferry_backend_name(), "sim") != 0;
}

static bool choose_call(test_random *random, ferry_op *op, ferry_dtype *dtype, op_loop *loop) {
    *op = on_device() ? exact_ops[test_random_int(random, 0, exact_count - 1)]
                      : (ferry_op)test_random_int(random, 0, FERRY_OP_COUNT - 1);
    for (int k = 1; k < PLAN_OPERANDS; k++)
        dtype[k] = (ferry_dtype)test_random_int(random, 0, FERRY_FLOAT64);
    if (op_resolve(*op, &dtype[1], ferry_op_arity(*op), loop) != FERRY_OK)
        return false;
    dtype[0] = (ferry_dtype)test_random_int(random, loop->result, FERRY_COMPLEX128);
    return ferry_dtype_can_cast(loop->result, dtype[0], FERRY_CAST_SAME_KIND);
}

static void compare_worlds(const world *w, ferry_op op, const ferry_view *out) {
    ferry_view should = moved(out, w->memory.view.data, w->should);
    const char *is = w->memory.view.data;
    if (memcmp(is, w->should, CASE_BYTES) == 0)
        return;
    /* NaNs may differ in their bits: take each NaN's over, then nothing may be left. */
    int64_t index[FERRY_MAX_DIMS] = {0};
    for (int64_t i = 0; i < ferry_view_size(out); i++) {
        char *a = out->data, *b = should.data;
        for (int axis = 0; axis < out->ndim; axis++) {
            a += index[axis] * out->strides[axis];
            b += index[axis] * out->strides[axis];
        }
        if (case_same_element(out->dtype, a, b))
            memcpy(b, a, ferry_dtype_size(out->dtype));
        for (int axis = out->ndim - 1; axis >= 0 && ++index[axis] == out->shape[axis]; axis--)
            index[axis] = 0;
    }
    CHECK_THAT(memcmp(is, w->should, CASE_BYTES) == 0, "%s on overlapping views", ferry_op_name(op));
    memcpy(w->should, is, CASE_BYTES);
}

static void random_call(test_random *random, world *w) {
    ferry_op op;
    ferry_dtype dtype[PLAN_OPERANDS];
    op_loop loop;
    if (!choose_call(random, &op, dtype, &loop))
        return;
    int64_t shape[FERRY_MAX_DIMS];
    int ndim = case_shape(random, shape, 150), nin = ferry_op_arity(op);
    ferry_view views[PLAN_OPERANDS];
    views[0] = case_view(random, w->memory.view.data, dtype[0], ndim, shape);
    for (int k = 1; k <= nin; k++) {
        views[k] = case_input(random, w->memory.view.data, dtype[k], ndim, shape);
        if (dtype[k] == dtype[0] && test_random_int(random, 0, 2) == 0)
            views[k] = views[0];
    }
    if (!CHECK_OK(ferry_apply(op, (const ferry_view *const[]){&views[1], &views[2]}, nin, &views[0], NULL)))
        return;
    apply_oracle(w, op, &loop, views, nin);
    CHECK_OK(ferry_host_acquire(&w->memory.view, FERRY_READ));
    compare_worlds(w, op, &views[0]);
}

static void random_calls_agree_with_the_oracle(void) {
    test_random random = {test_seed(11)};
    world w = {vector_of(FERRY_UINT8, CASE_BYTES), malloc(CASE_BYTES)};
    REQUIRE(w.should != NULL);
    /* On a device nearly every call is a kernel to be compiled. */
    const int calls = on_device() ? 300 : 6000;
    for (int i = 0; i < calls; i++) {
        if (i % 20 == 0) {
            CHECK_OK(ferry_host_acquire(&w.memory.view, FERRY_WRITE));
            case_fill(&random, w.memory.view.data, (ferry_dtype)test_random_int(&random, 0, FERRY_FLOAT64));
            memcpy(w.should, w.memory.view.data, CASE_BYTES);
        }
        random_call(&random, &w);
    }
    free(w.should);
    ferry_array_release(&w.memory);
}

int main(void) {
    if (ferry_backend_name() == NULL)
        SKIP("%s", ferry_error_detail());
    RUN(operations_have_names);
    RUN(bad_calls_are_refused);
    RUN(nothing_to_do_is_success);
    RUN(exceptions_come_back);
    RUN(an_operand_crosses_once);
    RUN(random_calls_agree_with_the_oracle);
    return test_finish();
}
