/* What cuBLAS is asked for: every layout of the matrices and of their stacks, against the simulator's kernel. The first
 * argument names a library with cuBLAS's functions on the host. */
#include "kernels/cublas.h"

#include "kernels/matmul_host.h"
#include "tests/kernels/cases.h"

#define CASES 2000
#define ELEMENTS 20000 /* of each operand's memory */

static double memory[4][ELEMENTS]; /* out, a, b, and out again */

/* Matrices in stacks somewhere in the memory: by rows or by columns, rows and matrices with gaps. */
static ferry_view some_matrices(test_random *random, void *start, ferry_dtype dtype, int ndim, const int64_t *shape) {
    const int64_t item = (int64_t)ferry_dtype_size(dtype);
    const bool by_columns = test_random_int(random, 0, 1);
    const int inner = by_columns ? ndim - 2 : ndim - 1, outer = by_columns ? ndim - 1 : ndim - 2;
    ferry_view view = {.dtype = dtype, .ndim = ndim, .data = start};
    memcpy(view.shape, shape, (size_t)ndim * sizeof *shape);
    view.strides[inner] = item;
    view.strides[outer] = item * (shape[inner] + test_random_int(random, 0, 2));
    int64_t step = view.strides[outer] * shape[outer];
    for (int axis = ndim - 3; axis >= 0; axis--) {
        view.strides[axis] = step + item * test_random_int(random, 0, 1);
        step = view.strides[axis] * shape[axis];
    }
    /* The stride of one row, column or matrix may be anything. */
    for (int axis = 0; axis < ndim; axis++)
        view.strides[axis] = shape[axis] == 1 && test_random_int(random, 0, 1) ? 0 : view.strides[axis];
    REQUIRE(step < ELEMENTS * item);
    return view;
}

static ferry_view some_input(test_random *random, int operand, ferry_dtype dtype, int ndim, const int64_t *shape) {
    int64_t own[FERRY_MAX_DIMS];
    ferry_view broadcast;
    for (int axis = 0; axis < ndim; axis++)
        own[axis] = axis < ndim - 2 && test_random_int(random, 0, 2) == 0 ? 1 : shape[axis];
    const ferry_view view = some_matrices(random, memory[operand], dtype, ndim, own);
    matmul_layout layout;
    CHECK(matmul_layout_of(&view, &layout));
    REQUIRE_OK(ferry_view_broadcast(&view, ndim, shape, &broadcast));
    return broadcast;
}

static void fill(test_random *random, ferry_dtype dtype) {
    const int n = (int)(sizeof memory[0] / ferry_dtype_size(dtype));
    for (int operand = 1; operand < 3; operand++) {
        for (int i = 0; i < n; i++) {
            /* Small integers: exact in any order. */
            const double value = (double)test_random_int(random, -9, 9);
            ferry_dtype_cast(FERRY_FLOAT64, dtype)((char *)memory[operand] + (size_t)i * ferry_dtype_size(dtype), 0,
                                                   (const char *)&value, 0, 1);
        }
    }
}

static void check_case(test_random *random, ferry_dtype dtype) {
    int64_t out_shape[4], a_shape[4], b_shape[4];
    const int ndim = (int)test_random_int(random, 2, 4);
    const int64_t m = test_random_int(random, 1, 6), k = test_random_int(random, 1, 6),
                  n = test_random_int(random, 1, 6);
    for (int axis = 0; axis < ndim - 2; axis++)
        out_shape[axis] = a_shape[axis] = b_shape[axis] = test_random_int(random, 1, 4);
    memcpy(out_shape + ndim - 2, (int64_t[]){m, n}, 2 * sizeof m);
    memcpy(a_shape + ndim - 2, (int64_t[]){m, k}, 2 * sizeof m);
    memcpy(b_shape + ndim - 2, (int64_t[]){k, n}, 2 * sizeof m);
    const ferry_view out = some_matrices(random, memory[0], dtype, ndim, out_shape);
    const ferry_view a = some_input(random, 1, dtype, ndim, a_shape), b = some_input(random, 2, dtype, ndim, b_shape);
    const ferry_view *const views[] = {&out, &a, &b};
    matmul_layout layouts[PLAN_OPERANDS];
    matmul_product p;
    for (int i = 0; i < PLAN_OPERANDS; i++)
        REQUIRE(matmul_layout_of(views[i], &layouts[i]));
    matmul_product_make(&p, views);
    memset(memory[0], 0, sizeof memory[0]);
    CHECK_OK(cublas_multiply(&p, layouts, NULL));
    memcpy(memory[3], memory[0], sizeof memory[0]);
    memset(memory[0], 0, sizeof memory[0]);
    matmul_host_run(NULL, (void *[]){&p});
    CHECK_MEMORY(memory[3], memory[0], sizeof memory[0]);
}

static void products_are_those_of_the_host(void) {
    test_random random = {test_seed(17)};
    for (int i = 0; i < CASES; i++) {
        const ferry_dtype dtype = i % 2 ? FERRY_FLOAT32 : FERRY_FLOAT64;
        if (i % 100 < 2)
            fill(&random, dtype);
        check_case(&random, dtype);
    }
}

static void other_layouts_are_none(void) {
    ferry_view view;
    matmul_layout layout;
    REQUIRE_OK(ferry_view_make(memory[1], FERRY_FLOAT32, 3, (int64_t[]){2, 4, 6}, &view));
    CHECK(matmul_layout_of(&view, &layout) && !layout.by_columns && layout.leading == 6);
    const ferry_view plain = view;
    view.strides[2] = 8; /* gaps in both directions */
    view.strides[1] = 64;
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.strides[1] = -24;
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.strides[1] = 0;
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.strides[1] = 12; /* rows overlap */
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.strides[0] = -96;
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.strides[0] = 98;
    CHECK(!matmul_layout_of(&view, &layout));
    view = plain;
    view.data = (char *)view.data + 1;
    CHECK(!matmul_layout_of(&view, &layout));
    CHECK(!cublas_takes(FERRY_FLOAT16, 1, 1, 1));
    CHECK(!cublas_takes(FERRY_FLOAT32, 1, (int64_t)INT32_MAX + 1, 1));
}

int main(int argc, char **argv) {
    if (argc > 1)
        setenv("FERRY_CUBLAS", argv[1], 1);
    RUN(other_layouts_are_none);
    if (!cublas_is_available())
        SKIP("a build without CUDA does not open cuBLAS");
    RUN(products_are_those_of_the_host);
    return test_finish();
}
