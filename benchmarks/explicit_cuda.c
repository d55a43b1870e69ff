#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "explicit.h"

#define PAGE_BYTES ((size_t)4096)

static bool worked(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return true;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    return false;
}

bool explicit_available(void) {
    return true;
}

void *explicit_host_allocate(size_t bytes, bool pinned) {
    void *host = NULL;
    if (!pinned)
        return aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    return worked(cudaHostAlloc(&host, bytes, cudaHostAllocMapped), "cudaHostAlloc") ? host : NULL;
}

void explicit_host_free(void *host, bool pinned) {
    if (pinned)
        cudaFreeHost(host);
    else
        free(host);
}

void *explicit_mapped(void *pinned) {
    void *device = NULL;
    return worked(cudaHostGetDevicePointer(&device, pinned, 0), "cudaHostGetDevicePointer") ? device : NULL;
}

void *explicit_device_allocate(size_t bytes) {
    void *device = NULL;
    return worked(cudaMalloc(&device, bytes), "cudaMalloc") ? device : NULL;
}

void explicit_device_free(void *device) {
    cudaFree(device);
}

bool explicit_copy(void *to, const void *from, size_t bytes, void *stream) {
    return worked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

bool explicit_wait(void *stream) {
    return worked(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}
