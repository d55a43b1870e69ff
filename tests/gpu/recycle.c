/* Blocks freed while kernels use them, and blocks used again: nobody sees another's bytes, nobody's writes are lost. */
#include "tests/gpu/gpu.h"

static const char late_source[] = "extern \"C\" __global__ void late(double *p, long long n, long long ticks) {\n"
                                  "    for (long long start = clock64(); clock64() - start < ticks;)\n"
                                  "        ;\n"
                                  "    for (long long i = threadIdx.x; i < n; i += blockDim.x)\n"
                                  "        p[i] = 7.0;\n"
                                  "}\n";

#define LATE_TICKS INT64_C(40000000) /* some 20 ms at the clocks of these devices */
#define COUNT ((int64_t)(4 * MIB / sizeof(double)))

static ferry_kernel *late;

static ferry_status launch_late(const ferry_view *p, ferry_stream *stream) {
    int64_t count = ferry_view_size(p), ticks = LATE_TICKS;
    ferry_arg args[] = {{.operand = {.view = p, .access = FERRY_WRITE}},
                        {.value = &count, .bytes = sizeof count},
                        {.value = &ticks, .bytes = sizeof ticks}};
    return ferry_launch(late, (ferry_grid){.threads = {256}}, args, 3, stream);
}

/* What is allocated next must not be what the kernel is about to write. */
static void freed_in_flight_is_not_reused_early(void) {
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    for (int round = 0; round < 3; round++) {
        ferry_array a = gpu_array(NULL, COUNT);
        REQUIRE_OK(launch_late(&a.view, stream));
        ferry_array_release(&a);
        ferry_array b = gpu_filled(NULL, COUNT, 1.0), c = gpu_array(NULL, COUNT);
        REQUIRE_OK(gpu_unary(FERRY_OP_NEGATIVE, &b, &c, NULL));
        CHECK_OK(ferry_sync(stream));
        CHECK_OK(ferry_host_acquire(&b.view, FERRY_READ));
        CHECK_OK(ferry_host_acquire(&c.view, FERRY_READ));
        CHECK_INT(gpu_wrong(&b, 1, gpu_same, 1.0), 0);
        CHECK_INT(gpu_wrong(&c, -1, gpu_same, 1.0), 0);
        ferry_array_release(&b);
        ferry_array_release(&c);
    }
    ferry_stream_destroy(stream);
}

/* The host's acquire waits for the kernel that writes. */
static void host_acquire_waits(void) {
    ferry_array a = gpu_filled(NULL, COUNT, 1.0);
    REQUIRE_OK(launch_late(&a.view, NULL));
    CHECK_OK(ferry_host_acquire(&a.view, FERRY_READ));
    int64_t wrong = 0;
    for (int64_t i = 0; i < COUNT; i++)
        wrong += gpu_data(&a)[i] != 7.0;
    CHECK_INT(wrong, 0);
    ferry_array_release(&a);
}

static bool all_zero(const double *p, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *p; i++)
        if (p[i] != 0.0)
            return false;
    return true;
}

/* calloc's block may be one that a kernel wrote last, and that is still on the device. */
static void calloc_of_a_device_block_is_zero(void) {
    for (int round = 0; round < 6; round++) {
        ferry_array a = gpu_array(NULL, COUNT);
        ferry_array b = gpu_filled(NULL, COUNT, 5.0);
        REQUIRE_OK(gpu_unary(FERRY_OP_NEGATIVE, &b, &a, NULL));
        ferry_array_release(&a);
        ferry_array_release(&b);
        size_t bytes = (size_t)COUNT * sizeof(double);
        double *zeros = ferry_calloc(1, bytes);
        REQUIRE(zeros != NULL);
        CHECK(all_zero(zeros, bytes));
        ferry_free(zeros);

        ferry_array z, y = gpu_array(NULL, COUNT);
        REQUIRE_OK(ferry_array_zeros(NULL, FERRY_FLOAT64, 1, &y.view.shape[0], &z));
        REQUIRE_OK(gpu_unary(FERRY_OP_ABSOLUTE, &z, &y, NULL));
        CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
        CHECK(all_zero(gpu_data(&y), bytes));
        ferry_array_release(&z);
        ferry_array_release(&y);
    }
}

/* realloc of a block whose truth is on the device. */
static void realloc_keeps_what_a_kernel_wrote(void) {
    size_t bytes = (size_t)COUNT * sizeof(double);
    double *p = ferry_malloc(bytes);
    REQUIRE(p != NULL);
    ferry_view view;
    REQUIRE_OK(ferry_view_make(p, FERRY_FLOAT64, 1, &(int64_t){COUNT}, &view));
    REQUIRE_OK(launch_late(&view, NULL));
    double *q = ferry_realloc(p, 3 * bytes);
    REQUIRE(q != NULL);
    REQUIRE_OK(ferry_view_make(q, FERRY_FLOAT64, 1, &(int64_t){COUNT}, &view));
    CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
    int64_t wrong = 0;
    for (int64_t i = 0; i < COUNT; i++)
        wrong += q[i] != 7.0;
    CHECK_INT(wrong, 0);
    ferry_free(q);
}

/* Many sizes, through the same few blocks. */
static void random_lives(void) {
    test_random random = {test_seed(20261130)};
    for (int i = 0; i < 60; i++) {
        int64_t count = test_random_int(&random, 1, COUNT);
        double base = (double)test_random_int(&random, 1, 50);
        ferry_array x = gpu_filled(NULL, count, base), y = gpu_array(NULL, count);
        REQUIRE_OK(gpu_unary(FERRY_OP_SQRT, &x, &y, NULL));
        if (test_random_int(&random, 0, 1)) {
            CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
            CHECK_INT(gpu_wrong(&y, 1, sqrt, base), 0);
        }
        if (test_random_int(&random, 0, 9) == 0)
            CHECK_OK(ferry_trim());
        ferry_array_release(&x);
        ferry_array_release(&y);
    }
}

int main(void) {
    gpu_start();
    REQUIRE_OK(ferry_kernel_compile(late_source, "late", &late));
    RUN(freed_in_flight_is_not_reused_early);
    RUN(host_acquire_waits);
    RUN(calloc_of_a_device_block_is_zero);
    RUN(realloc_keeps_what_a_kernel_wrote);
    RUN(random_lives);
    CHECK_OK(ferry_sync(NULL));
    ferry_kernel_destroy(late);
    return test_finish();
}
