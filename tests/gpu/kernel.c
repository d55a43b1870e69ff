/* A user's kernel from source: compiled, launched with movement, its mistakes reported and survived. */
#include "tests/gpu/gpu.h"

#define COUNT 300001

static const char axpy_source[] =
    "extern \"C\" __global__ void axpy(const double *x, double *y, double a, long long n) {\n"
    "    long long step = (long long)gridDim.x * blockDim.x;\n"
    "    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n"
    "extern \"C\" __global__ void reversed(const double *x, double *y) {\n"
    "    extern __shared__ double tile[];\n"
    "    tile[threadIdx.x] = x[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];\n"
    "}\n";

static ferry_kernel *axpy;

static ferry_status launch_axpy(const ferry_array *x, const ferry_array *y, double a, ferry_grid grid) {
    int64_t count = x->view.shape[0];
    ferry_arg args[] = {
        {.operand = {.view = &x->view, .access = FERRY_READ}},
        {.operand = {.view = &y->view, .access = FERRY_READWRITE}},
        {.value = &a, .bytes = sizeof a},
        {.value = &count, .bytes = sizeof count},
    };
    return ferry_launch(axpy, grid, args, 4, NULL);
}

static void launches_compute(void) {
    ferry_array x = gpu_filled(NULL, COUNT, 1.0), y = gpu_filled(NULL, COUNT, 1.0);
    ferry_grid grid = {.blocks = {64}, .threads = {256}};
    for (int i = 0; i < 4; i++)
        REQUIRE_OK(launch_axpy(&x, &y, 0.5, grid));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 3, gpu_same, 1.0), 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

/* What the device cannot have is refused, and the next launch is as good as any. */
static void impossible_grids_are_refused(void) {
    ferry_array x = gpu_filled(NULL, COUNT, 1.0), y = gpu_filled(NULL, COUNT, 1.0);
    ferry_grid wide = {.threads = {4096}}, good = {.blocks = {16}, .threads = {128}};
    CHECK_STATUS(launch_axpy(&x, &y, 1.0, wide), FERRY_INVALID_ARGUMENT);
    CHECK(strstr(ferry_error_detail(), "4096") != NULL);
    REQUIRE_OK(launch_axpy(&x, &y, 1.0, good));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 2, gpu_same, 1.0), 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

/* More dynamic shared memory than a kernel gets without asking. */
static void shared_memory_is_given(void) {
    ferry_kernel *reversed;
    REQUIRE_OK(ferry_kernel_compile(axpy_source, "reversed", &reversed));
    ferry_array x = gpu_filled(NULL, 1000, 0.0), y = gpu_array(NULL, 1000);
    ferry_arg args[] = {{.operand = {.view = &x.view, .access = FERRY_READ}},
                        {.operand = {.view = &y.view, .access = FERRY_WRITE}}};
    ferry_grid grid = {.threads = {1000}, .shared_bytes = 60 << 10};
    CHECK_OK(ferry_launch(reversed, grid, args, 2, NULL));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    for (int i = 0; i < 1000; i++)
        CHECK(gpu_data(&y)[i] == 999 - i);
    ferry_kernel_destroy(reversed);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

static void bad_source_shows_the_log(void) {
    ferry_kernel *kernel = NULL;
    CHECK_STATUS(ferry_kernel_compile("extern \"C\" __global__ void f() { nonsense; }", "f", &kernel), FERRY_COMPILE);
    CHECK(strstr(ferry_error_detail(), "nonsense") != NULL);
    CHECK(kernel == NULL);
    CHECK(ferry_kernel_compile(axpy_source, "missing", &kernel) != FERRY_OK);
    CHECK(kernel == NULL);
}

int main(void) {
    gpu_start();
    REQUIRE_OK(ferry_kernel_compile(axpy_source, "axpy", &axpy));
    RUN(launches_compute);
    RUN(impossible_grids_are_refused);
    RUN(shared_memory_is_given);
    RUN(bad_source_shows_the_log);
    ferry_kernel_destroy(axpy);
    return test_finish();
}
