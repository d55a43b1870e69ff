/* Kernels of the user's own: from source with a host function, launched with operands and values. */
#include "ferry/ferry.h"
#include "tests/test.h"

static const char source[] =
    "extern \"C\" __global__ void scale(double *y, const double *x, double factor, long long n) {\n"
    "    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] = factor * x[i];\n"
    "}\n";

static void scale(const ferry_grid *grid, void *const *args) {
    double *y = *(double **)args[0], factor = *(double *)args[2];
    const double *x = *(const double **)args[1];
    long long n = *(long long *)args[3];
    CHECK(grid->blocks[0] == 4 && grid->threads[0] == 256 && grid->blocks[1] == 1);
    for (long long i = 0; i < n; i++)
        y[i] = factor * x[i];
}

static ferry_array ramp(int64_t n) {
    ferry_array array;
    REQUIRE_OK(ferry_array_create(NULL, FERRY_FLOAT64, 1, &n, &array));
    REQUIRE_OK(ferry_host_acquire(&array.view, FERRY_WRITE));
    for (int64_t i = 0; i < n; i++)
        ((double *)array.view.data)[i] = (double)i;
    return array;
}

static ferry_status launch_scale(ferry_kernel *kernel, const ferry_view *y, const ferry_view *x) {
    double factor = 3;
    long long n = 1000;
    const ferry_arg args[] = {{.operand = {.view = y, .access = FERRY_WRITE, .passes = 1}},
                              {.operand = {.view = x, .access = FERRY_READ, .passes = 1}},
                              {.value = &factor, .bytes = sizeof factor},
                              {.value = &n, .bytes = sizeof n}};
    return ferry_launch(kernel, (ferry_grid){.blocks = {4}, .threads = {256}}, args, 4, NULL);
}

static void a_kernel_from_source_runs(void) {
    ferry_array x = ramp(1000), y = ramp(1000);
    ferry_kernel *kernel = NULL;
    ferry_status status = ferry_kernel_compile(source, "scale", &kernel);
    if (status == FERRY_UNSUPPORTED)
        SKIP("%s", ferry_error_detail());
    REQUIRE_OK(status);
    if (strcmp(ferry_backend_name(), "sim") == 0)
        CHECK_STATUS(launch_scale(kernel, &y.view, &x.view), FERRY_UNSUPPORTED);
    CHECK_OK(ferry_kernel_set_host(kernel, scale));
    CHECK_OK(launch_scale(kernel, &y.view, &x.view));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    int wrong = 0;
    for (int i = 0; i < 1000; i++)
        wrong += ((double *)y.view.data)[i] != 3.0 * i;
    CHECK_INT(wrong, 0);
    CHECK_OK(ferry_sync(NULL));
    ferry_kernel_destroy(kernel);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

static void bad_launches_are_refused(void) {
    ferry_array x = ramp(1000);
    ferry_view readonly = x.view, foreign;
    double own[1000];
    ferry_kernel *kernel = NULL;
    readonly.readonly = true;
    REQUIRE_OK(ferry_view_make(own, FERRY_FLOAT64, 1, (int64_t[]){1000}, &foreign));
    REQUIRE_OK(ferry_kernel_load(NULL, 0, "scale", scale, &kernel));
    CHECK_STATUS(launch_scale(NULL, &x.view, &x.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(launch_scale(kernel, &readonly, &x.view), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(launch_scale(kernel, &x.view, &foreign), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_launch(kernel, (ferry_grid){.blocks = {1}}, (const ferry_arg[]){{.bytes = 3}}, 1, NULL),
                 FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_kernel_load(source, sizeof source, NULL, scale, &kernel), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_kernel_compile(NULL, "scale", &kernel), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_kernel_compile(source, NULL, &kernel), FERRY_INVALID_ARGUMENT);
    ferry_kernel_destroy(kernel);
    ferry_kernel_destroy(NULL);
    ferry_array_release(&x);
}

int main(void) {
    if (ferry_backend_name() == NULL)
        SKIP("%s", ferry_error_detail());
    RUN(a_kernel_from_source_runs);
    RUN(bad_launches_are_refused);
    return test_finish();
}
