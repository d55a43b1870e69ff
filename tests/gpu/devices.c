/* Every device, from every current device: the caller's stays current after every call. */
#include <cuda_runtime_api.h>

#include "tests/gpu/gpu.h"

#define COUNT ((int64_t)(MIB / sizeof(double)))

static int current;

static void check_current(const char *call, int line) {
    int device = -1;
    REQUIRE(cudaGetDevice(&device) == cudaSuccess);
    CHECK_THAT(device == current, "line %d: device %d is current after %s, not %d", line, device, call, current);
}

#define KEEPS(call)                                                                                                    \
    do {                                                                                                               \
        REQUIRE_OK(call);                                                                                              \
        check_current(#call, __LINE__);                                                                                \
    } while (0)

static void tour(int device) {
    ferry_stream *stream, *wrapped;
    cudaStream_t own;
    ferry_device_info info;
    KEEPS(ferry_device_get(device, &info));
    CHECK(info.total_bytes >= info.free_bytes && info.compute_major > 0);
    KEEPS(ferry_stream_create(device, &stream));
    ferry_array x = gpu_filled(NULL, COUNT, 1.0), y = gpu_array(NULL, COUNT);
    KEEPS(gpu_unary(FERRY_OP_LOG, &x, &y, stream));
    KEEPS(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 1, log, 1.0), 0);
    KEEPS(ferry_prefetch(&y.view, device, stream));
    KEEPS(ferry_prefetch(&y.view, FERRY_PLACE_HOST, stream));
    KEEPS(ferry_sync(stream));
    KEEPS(ferry_sync(NULL));

    REQUIRE(cudaSetDevice(device) == cudaSuccess && cudaStreamCreate(&own) == cudaSuccess);
    REQUIRE(cudaSetDevice(current) == cudaSuccess);
    KEEPS(ferry_stream_wrap(device, own, &wrapped));
    CHECK(ferry_stream_native(wrapped) == (void *)own);
    KEEPS(gpu_unary(FERRY_OP_SQRT, &x, &y, wrapped));
    KEEPS(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 1, sqrt, 1.0), 0);
    ferry_stream_destroy(wrapped);
    ferry_stream_destroy(stream);
    ferry_array_release(&x);
    ferry_array_release(&y);
    KEEPS(ferry_trim());
    REQUIRE(cudaStreamDestroy(own) == cudaSuccess);
}

static void the_callers_device_stays_current(void) {
    int count = ferry_device_count();
    for (current = 0; current < count; current++)
        for (int device = 0; device < count; device++) {
            REQUIRE(cudaSetDevice(current) == cudaSuccess);
            tour(device);
        }
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

/* One array, from device to device and home: the contents follow. */
static void contents_follow_from_device_to_device(void) {
    int count = ferry_device_count();
    ferry_array x = gpu_filled(NULL, COUNT, 1.0);
    for (int round = 0; round < 2 * count; round++) {
        ferry_stream *stream;
        REQUIRE_OK(ferry_stream_create(round % count, &stream));
        REQUIRE_OK(gpu_binary(FERRY_OP_ADD, &x, &x, &x, stream));
        ferry_stream_destroy(stream);
    }
    CHECK_OK(ferry_host_acquire(&x.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&x, ldexp(1, 2 * count), gpu_same, 1.0), 0);
    ferry_array_release(&x);
}

static void strangers_are_refused(void) {
    ferry_stream *stream = NULL;
    ferry_device_info info;
    int count = ferry_device_count();
    CHECK_STATUS(ferry_device_get(count, &info), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_device_get(-1, &info), FERRY_INVALID_ARGUMENT);
    CHECK(ferry_stream_create(count, &stream) != FERRY_OK);
    CHECK(stream == NULL);
}

int main(void) {
    gpu_start();
    RUN(the_callers_device_stays_current);
    RUN(contents_follow_from_device_to_device);
    RUN(strangers_are_refused);
    return test_finish();
}
