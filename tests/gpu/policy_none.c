/* Policy none: the results are the same, and the driver's faults carry the bytes. */
#include "tests/gpu/gpu.h"

#define BYTES (16 * MIB)
#define COUNT ((int64_t)(BYTES / sizeof(double)))

static ferry_heap *heap;

static void results_are_right(void) {
    ferry_array x = gpu_filled(heap, COUNT, 1.0), y = gpu_array(heap, COUNT);
    ferry_stats before = gpu_stats();
    REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 1, log, 1.0), 0);
    CHECK_UINT(gpu_since(&before).prefetches_issued, 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

static void faults_are_measured(void) {
    ferry_array x = gpu_filled(heap, COUNT, 1.0), y = gpu_array(heap, COUNT);
    if (gpu_measure()) {
        REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL));
        CHECK_OK(ferry_sync(NULL));
        ferry_stats moved = gpu_stats();
        CHECK(moved.gpu_faults > 0);
        CHECK(moved.bytes_to_device + 2 * MIB >= BYTES);
        CHECK_UINT(moved.prefetched_bytes_to_device, 0);
        CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
        CHECK_INT(gpu_wrong(&y, 1, log, 1.0), 0);
        moved = gpu_stats();
        CHECK(moved.cpu_faults > 0);
        CHECK(moved.bytes_to_host + 2 * MIB >= BYTES);
        CHECK_OK(ferry_trace_stop());
    }
    ferry_array_release(&x);
    ferry_array_release(&y);
}

int main(void) {
    gpu_start();
    ferry_heap_options options = {.name = "faults", .policy = FERRY_POLICY_NONE};
    REQUIRE_OK(ferry_heap_create(&options, &heap));
    RUN(results_are_right);
    RUN(faults_are_measured);
    ferry_heap_destroy(heap);
    return test_finish();
}
