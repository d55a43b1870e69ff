/* ferry_reduce: what it refuses and leaves alone, how often it goes over memory, and what each backend must agree on.
 */
#include "ferry/reduce.h"

#include <math.h>

#include "ferry/stats.h"
#include "kernels/reduce_host.h"
#include "kernels/reduce_plan.h"
#include "tests/kernels/cases.h"

static ferry_array array_of(ferry_dtype dtype, int ndim, const int64_t *shape) {
    ferry_array array;
    REQUIRE_OK(ferry_array_zeros(NULL, dtype, ndim, shape, &array));
    return array;
}

static ferry_status add(const ferry_view *in, uint32_t axes, const ferry_view *out) {
    return ferry_reduce(FERRY_REDUCTION_ADD, in, axes, out, NULL);
}

static void reductions_have_names(void) {
    for (unsigned i = 0; i < FERRY_REDUCTION_COUNT; i++) {
        ferry_reduction found = FERRY_REDUCTION_COUNT;
        CHECK_OK(ferry_reduction_find(ferry_reduction_name((ferry_reduction)i), &found));
        CHECK_INT(found, i);
    }
    ferry_reduction found = FERRY_REDUCTION_MINIMUM;
    ferry_dtype dtype = FERRY_INT8;
    CHECK_STRING(ferry_reduction_name(FERRY_REDUCTION_LOGICAL_XOR), "logical_xor");
    CHECK_STRING(ferry_reduction_name(FERRY_REDUCTION_COUNT), "?");
    CHECK_STATUS(ferry_reduction_find("subtract", &found), FERRY_NOT_FOUND);
    CHECK_STATUS(ferry_reduction_find(NULL, &found), FERRY_INVALID_ARGUMENT);
    CHECK_INT(found, FERRY_REDUCTION_MINIMUM);
    CHECK_STATUS(ferry_reduce_dtype(FERRY_REDUCTION_COUNT, FERRY_INT8, &dtype), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_reduce_dtype(FERRY_REDUCTION_ADD, FERRY_DTYPE_COUNT, &dtype), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_reduce_dtype(FERRY_REDUCTION_BITWISE_OR, FERRY_FLOAT32, &dtype), FERRY_DTYPE);
    CHECK_INT(dtype, FERRY_INT8);
}

static void bad_calls_are_refused(void) {
    ferry_array x = array_of(FERRY_FLOAT64, 2, (int64_t[]){4, 6}), y = array_of(FERRY_FLOAT64, 1, (int64_t[]){6});
    ferry_array i = array_of(FERRY_INT32, 1, (int64_t[]){6}), z = array_of(FERRY_COMPLEX64, 1, (int64_t[]){6});
    ferry_array none = array_of(FERRY_FLOAT64, 2, (int64_t[]){0, 6});
    ferry_view bad = y.view, plain;
    double own[6] = {0};
    REQUIRE_OK(ferry_view_make(own, FERRY_FLOAT64, 1, (int64_t[]){6}, &plain));
    CHECK_STATUS(add(NULL, 1, &y.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(add(&x.view, 1, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_reduce(FERRY_REDUCTION_COUNT, &x.view, 1, &y.view, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(add(&x.view, 5, &y.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(add(&x.view, 1, &plain), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(add(&plain, 0, &y.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(add(&x.view, 2, &y.view), FERRY_SHAPE);
    CHECK_STATUS(add(&x.view, 0, &y.view), FERRY_SHAPE);
    CHECK_STATUS(add(&x.view, FERRY_REDUCE_ALL, &y.view), FERRY_SHAPE);
    CHECK_STATUS(add(&x.view, 1, &i.view), FERRY_CAST);
    CHECK_STATUS(add(&z.view, 0, &z.view), FERRY_DTYPE);
    CHECK_STATUS(ferry_reduce(FERRY_REDUCTION_MAXIMUM, &none.view, 1, &y.view, NULL), FERRY_SHAPE);
    bad.readonly = true;
    CHECK_STATUS(add(&x.view, 1, &bad), FERRY_INVALID_ARGUMENT);
    bad = y.view;
    bad.strides[0] = 0;
    CHECK_STATUS(add(&x.view, 1, &bad), FERRY_INVALID_ARGUMENT);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_array_release(&i);
    ferry_array_release(&z);
    ferry_array_release(&none);
}

static void no_results_need_no_launch(void) {
    ferry_array x = array_of(FERRY_FLOAT32, 2, (int64_t[]){3, 0}), y = array_of(FERRY_FLOAT32, 1, (int64_t[]){0});
    ferry_stats before, after;
    CHECK_OK(ferry_stats_get(&before));
    CHECK_OK(add(&x.view, 1, &y.view));
    CHECK_OK(ferry_stats_get(&after));
    CHECK_UINT(after.launches, before.launches);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

/* The input crosses once, and nothing of the values between the passes. */
static void the_input_crosses_once(void) {
    const int64_t n = 1 << 21;
    ferry_heap *heap;
    ferry_array x, y = array_of(FERRY_FLOAT64, 0, NULL);
    ferry_stats stats;
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){.policy = FERRY_POLICY_PREFETCH}, &heap));
    REQUIRE_OK(ferry_array_create(heap, FERRY_FLOAT64, 1, &n, &x));
    CHECK_OK(ferry_host_acquire(&x.view, FERRY_WRITE));
    for (int64_t i = 0; i < n; i++)
        ((double *)x.view.data)[i] = (double)i;
    CHECK_OK(ferry_stats_reset());
    CHECK_OK(add(&x.view, FERRY_REDUCE_ALL, &y.view));
    CHECK_OK(ferry_sync(NULL));
    REQUIRE_OK(ferry_stats_get(&stats));
    CHECK_UINT(stats.bytes_to_device, ferry_view_bytes(&x.view));
    CHECK_UINT(stats.launches, 2);
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK(*(double *)y.view.data == (double)n * (double)(n - 1) / 2);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_heap_destroy(heap);
}

/* The passes of a reduction by the simulator's kernel, on memory of the test's own. */
static void reduce_on_host(const reduction_types *types, const ferry_view *in, uint32_t axes, const ferry_view *out) {
    void *values[REDUCE_PASSES_MAX] = {NULL};
    reduce_pass pass, next;
    reduce_plan_first(&pass, types, in, axes, out);
    for (int i = 0; pass.chunks > 1; i++) {
        values[i] = malloc((size_t)(pass.kept.size * pass.chunks) * ferry_dtype_size(types->accumulator));
        REQUIRE(values[i] != NULL);
        reduce_plan_split(&pass, values[i], &next);
        reduce_host_run(NULL, (void *[]){&pass});
        pass = next;
    }
    reduce_host_run(NULL, (void *[]){&pass});
    for (int i = 0; i < REDUCE_PASSES_MAX; i++)
        free(values[i]);
}

static void fill(test_random *random, const ferry_view *view) {
    char *at = view->data;
    const size_t item = ferry_dtype_size(view->dtype);
    for (int64_t i = 0; i < ferry_view_size(view); i++, at += item) {
        const double value = 0.5 + test_random_unit(random);
        const uint64_t bits = test_random_next(random);
        if (ferry_dtype_kind(view->dtype) == 'f')
            ferry_dtype_cast(FERRY_FLOAT64, view->dtype)(at, 0, (const char *)&value, 0, 1);
        else
            memcpy(at, &bits, item);
    }
}

/* Axes in another order, every other element along one of them, or a start off the alignment. */
static ferry_view see_otherwise(test_random *random, ferry_view view) {
    ferry_slice slices[3] = {{0, FERRY_SLICE_NONE, 1}, {0, FERRY_SLICE_NONE, 1}, {0, FERRY_SLICE_NONE, 1}};
    const int orders[][3] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}};
    const int axis = (int)test_random_int(random, 0, 2);
    slices[axis].start = test_random_int(random, 0, view.shape[axis] > 1);
    slices[axis].step = test_random_int(random, 1, 2);
    REQUIRE_OK(ferry_view_slice(&view, 3, slices, &view));
    REQUIRE_OK(ferry_view_transpose(&view, orders[test_random_int(random, 0, 2)], &view));
    return view;
}

static void check_case(test_random *random, ferry_reduction reduction, ferry_dtype dtype, const int64_t *shape) {
    ferry_array in = array_of(dtype, 3, shape), out;
    reduction_types types;
    if (reduction_resolve(reduction, dtype, &types) == FERRY_OK) {
        int64_t kept[3];
        int nkept = 0;
        const uint32_t axes = (uint32_t)test_random_int(random, 0, 7);
        REQUIRE_OK(ferry_host_acquire(&in.view, FERRY_WRITE));
        fill(random, &in.view);
        const ferry_view view = see_otherwise(random, in.view);
        for (int axis = 0; axis < 3; axis++) {
            if (!(axes >> axis & 1))
                kept[nkept++] = view.shape[axis];
        }
        out = array_of(types.result, nkept, kept);
        ferry_view want = out.view;
        const size_t bytes = ferry_view_bytes(&want);
        want.data = malloc(bytes + 1);
        REQUIRE(want.data != NULL);
        reduce_on_host(&types, &view, axes, &want);
        CHECK_OK(ferry_reduce(reduction, &view, axes, &out.view, NULL));
        CHECK_OK(ferry_host_acquire(&out.view, FERRY_READ));
        CHECK_THAT(memcmp(out.view.data, want.data, bytes) == 0,
                   "%s of %s, axes %u of (%" PRId64 ", %" PRId64 ", %" PRId64 "): other bits than the host's",
                   ferry_reduction_name(reduction), ferry_dtype_name(dtype), axes, view.shape[0], view.shape[1],
                   view.shape[2]);
        free(want.data);
        ferry_array_release(&out);
    }
    ferry_array_release(&in);
}

/* Whatever the backend: the bits that the host's loops give, without NaNs, which have several. */
static void results_are_the_hosts_to_the_bit(void) {
    static const int64_t shapes[][3] = {{1, 1, 70000}, {3, 9000, 2}, {50, 4, 60}, {2500, 1, 40}, {2, 3, 20000}};
    test_random random = {test_seed(11)};
    /* On a device nearly every call is a kernel to be compiled. */
    const int calls = strcmp(ferry_backend_name(), "sim") == 0 ? 400 : 100;
    for (int i = 0; i < calls; i++) {
        const ferry_reduction reduction = (ferry_reduction)(i % FERRY_REDUCTION_COUNT);
        const ferry_dtype dtype = (ferry_dtype)test_random_int(&random, FERRY_BOOL, FERRY_FLOAT64);
        check_case(&random, reduction, dtype, shapes[test_random_int(&random, 0, 4)]);
    }
}

int main(void) {
    if (ferry_backend_name() == NULL)
        SKIP("%s", ferry_error_detail());
    RUN(reductions_have_names);
    RUN(bad_calls_are_refused);
    RUN(no_results_need_no_launch);
    RUN(the_input_crosses_once);
    RUN(results_are_the_hosts_to_the_bit);
    return test_finish();
}
