#include <cuda_runtime_api.h>
#include <stdint.h>

#include "allocators.h"
#include "clock.h"

/* Of the one that is open: a pool, or what the device had free when it was opened. */
static cudaMemPool_t pools[CUDA_ALLOCATORS];
static size_t free_bytes;

/* A pool's blocks are taken and given in the order of the thread's own stream. */
static _Thread_local cudaStream_t stream;

static const char *why(cudaError_t error) {
    cudaGetLastError();
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

static const char *open_direct(void) {
    size_t total;
    if (clock_is_virtual())
        return "there is no device";
    return why(cudaMemGetInfo(&free_bytes, &total));
}

static void close_direct(void) {}

static void *take_device(size_t bytes) {
    void *block = NULL;
    return cudaMalloc(&block, bytes) == cudaSuccess ? block : NULL;
}

static void *take_managed(size_t bytes) {
    void *block = NULL;
    return cudaMallocManaged(&block, bytes, cudaMemAttachGlobal) == cudaSuccess ? block : NULL;
}

static void give_direct(void *block) {
    cudaFree(block);
}

static size_t held_direct(void) {
    size_t left = 0, total;
    if (cudaMemGetInfo(&left, &total))
        return SIZE_MAX;
    return free_bytes > left ? free_bytes - left : 0;
}

enum { DEVICE_POOL = 2, MANAGED_POOL };

/* The threshold keeps blocks in the pool that would go back to the driver whenever somebody waits. */
static const char *open_pool(int which, enum cudaMemAllocationType type, struct cudaMemLocation location) {
    struct cudaMemPoolProps properties = {.allocType = type, .location = location};
    uint64_t all = UINT64_MAX;
    if (clock_is_virtual())
        return "there is no device";
    cudaError_t error = cudaMemPoolCreate(&pools[which], &properties);
    if (error)
        return why(error);
    error = cudaMemPoolSetAttribute(pools[which], cudaMemPoolAttrReleaseThreshold, &all);
    if (error)
        cudaMemPoolDestroy(pools[which]);
    return why(error);
}

static const char *open_device_pool(void) {
    return open_pool(DEVICE_POOL, cudaMemAllocationTypePinned,
                     (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = 0});
}

static const char *open_managed_pool(void) {
    return open_pool(MANAGED_POOL, cudaMemAllocationTypeManaged,
                     (struct cudaMemLocation){.type = cudaMemLocationTypeNone});
}

static void *take_from(int which, size_t bytes) {
    void *block = NULL;
    if (!stream && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return NULL;
    return cudaMallocFromPoolAsync(&block, bytes, pools[which], stream) == cudaSuccess ? block : NULL;
}

static void *take_device_pool(size_t bytes) {
    return take_from(DEVICE_POOL, bytes);
}

static void *take_managed_pool(size_t bytes) {
    return take_from(MANAGED_POOL, bytes);
}

static void give_pool(void *block) {
    cudaFreeAsync(block, stream);
}

static void leave_pool(void) {
    if (stream) {
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
    }
    stream = NULL;
}

static void settle_pool(void) {
    cudaStreamSynchronize(stream);
}

static void close_device_pool(void) {
    leave_pool();
    cudaMemPoolDestroy(pools[DEVICE_POOL]);
}

static void close_managed_pool(void) {
    leave_pool();
    cudaMemPoolDestroy(pools[MANAGED_POOL]);
}

static size_t held_by(int which) {
    uint64_t bytes = 0;
    return cudaMemPoolGetAttribute(pools[which], cudaMemPoolAttrReservedMemHigh, &bytes) ? SIZE_MAX : bytes;
}

static size_t held_device_pool(void) {
    return held_by(DEVICE_POOL);
}

static size_t held_managed_pool(void) {
    return held_by(MANAGED_POOL);
}

const struct allocator cuda_allocators[CUDA_ALLOCATORS] = {
    {.name = "cudaMalloc",
     .kind = BLOCKS_ON_DEVICE,
     .slow = true,
     .fresh = true,
     .open = open_direct,
     .close = close_direct,
     .take = take_device,
     .give = give_direct,
     .held = held_direct},
    {.name = "cudaMallocManaged",
     .kind = BLOCKS_MANAGED,
     .slow = true,
     .fresh = true,
     .open = open_direct,
     .close = close_direct,
     .take = take_managed,
     .give = give_direct},
    [DEVICE_POOL] = {.name = "device pool",
                     .kind = BLOCKS_ON_DEVICE,
                     .fresh = true,
                     .open = open_device_pool,
                     .close = close_device_pool,
                     .take = take_device_pool,
                     .give = give_pool,
                     .leave = leave_pool,
                     .held = held_device_pool},
    [MANAGED_POOL] = {.name = "managed pool",
                      .kind = BLOCKS_MANAGED,
                      .fresh = true,
                      .open = open_managed_pool,
                      .close = close_managed_pool,
                      .take = take_managed_pool,
                      .give = give_pool,
                      .leave = leave_pool,
                      .settle = settle_pool,
                      .held = held_managed_pool},
};
