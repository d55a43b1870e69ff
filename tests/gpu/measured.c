/* What the driver measured, against what is due: every byte once each way, by our prefetches, without a fault. */
#include "tests/gpu/gpu.h"

#define BYTES (16 * MIB)
#define COUNT ((int64_t)(BYTES / sizeof(double)))

static ferry_array x, y;

static void first_log_crosses_once(void) {
    gpu_fill(&x, 1.0);
    ferry_stats before = gpu_stats();
    CHECK_UINT(before.measured, 1);
    REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    ferry_stats moved = gpu_since(&before);
    CHECK_ABOUT(moved.bytes_to_device, BYTES);
    CHECK_ABOUT(moved.bytes_to_host, BYTES);
    CHECK_UINT(moved.prefetched_bytes_to_device, moved.bytes_to_device);
    CHECK_UINT(moved.prefetched_bytes_to_host, moved.bytes_to_host);
    CHECK_UINT(moved.gpu_faults, 0);
}

static void reading_the_result_does_not_fault(void) {
    ferry_stats before = gpu_stats();
    CHECK_INT(gpu_wrong(&y, 1, log, 1.0), 0);
    ferry_stats moved = gpu_since(&before);
    CHECK_UINT(moved.cpu_faults, 0);
    CHECK_UINT(moved.bytes_to_host, 0);
}

static void second_log_moves_nothing_of_x(void) {
    ferry_stats before = gpu_stats();
    REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL));
    CHECK_OK(ferry_sync(NULL));
    ferry_stats moved = gpu_since(&before);
    CHECK_UINT(moved.bytes_to_device, 0);
    CHECK_UINT(moved.bytes_to_host, 0);
    CHECK_UINT(moved.gpu_faults, 0);
}

static void overwritten_x_goes_once_more_and_not_home(void) {
    ferry_stats before = gpu_stats();
    gpu_fill(&x, 2.0);
    REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL));
    CHECK_OK(ferry_sync(NULL));
    ferry_stats moved = gpu_since(&before);
    CHECK_ABOUT(moved.bytes_to_device, BYTES);
    CHECK_UINT(moved.bytes_to_host, 0);
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 1, log, 2.0), 0);
}

/* With measuring stopped the account goes on, and a second measurement can start. */
static void measuring_stops_and_starts(void) {
    CHECK_STATUS(ferry_trace_start(), FERRY_INVALID_ARGUMENT);
    CHECK_OK(ferry_trace_stop());
    CHECK(ferry_trace_stop() != FERRY_OK);
    CHECK_UINT(gpu_stats().measured, 0);
    REQUIRE_OK(ferry_trace_start());
    gpu_fill(&x, 3.0);
    ferry_stats before = gpu_stats();
    REQUIRE_OK(ferry_prefetch(&x.view, 0, NULL));
    ferry_stats moved = gpu_since(&before);
    CHECK_ABOUT(moved.bytes_to_device, BYTES);
    CHECK_OK(ferry_trace_stop());
}

int main(void) {
    gpu_start();
    if (!gpu_measure())
        SKIP("CUPTI is needed");
    x = gpu_array(NULL, COUNT);
    y = gpu_array(NULL, COUNT);
    RUN(first_log_crosses_once);
    RUN(reading_the_result_does_not_fault);
    RUN(second_log_moves_nothing_of_x);
    RUN(overwritten_x_goes_once_more_and_not_home);
    RUN(measuring_stops_and_starts);
    ferry_array_release(&x);
    ferry_array_release(&y);
    return test_finish();
}
