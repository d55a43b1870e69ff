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

void *explicit_event_create(void) {
    cudaEvent_t event = NULL;
    return worked(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags") ? event : NULL;
}

void explicit_event_destroy(void *event) {
    if (event)
        cudaEventDestroy(event);
}

bool explicit_event_record(void *event, void *stream) {
    return worked(cudaEventRecord(event, stream), "cudaEventRecord");
}

bool explicit_event_wait(void *event) {
    return worked(cudaEventSynchronize(event), "cudaEventSynchronize");
}

/* Toolkit 13 names places where toolkit 12 had numbers of devices. */
#if CUDART_VERSION >= 13000
static struct cudaMemLocation place(bool on_device) {
    return (struct cudaMemLocation){.type = on_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, .id = 0};
}

static cudaError_t prefetch(void *managed, size_t bytes, bool to_device, cudaStream_t stream) {
    return cudaMemPrefetchAsync(managed, bytes, place(to_device), 0, stream);
}
#else
static int place(bool on_device) {
    return on_device ? 0 : cudaCpuDeviceId;
}

static cudaError_t prefetch(void *managed, size_t bytes, bool to_device, cudaStream_t stream) {
    return cudaMemPrefetchAsync(managed, bytes, place(to_device), stream);
}
#endif

void *explicit_managed_allocate(size_t bytes, bool read_mostly) {
    void *managed = NULL;
    if (!worked(cudaMallocManaged(&managed, bytes, cudaMemAttachGlobal), "cudaMallocManaged"))
        return NULL;
    if (!read_mostly || worked(cudaMemAdvise(managed, bytes, cudaMemAdviseSetReadMostly, place(true)), "cudaMemAdvise"))
        return managed;
    cudaFree(managed);
    return NULL;
}

void explicit_managed_free(void *managed) {
    cudaFree(managed);
}

bool explicit_prefetch(void *managed, size_t bytes, bool to_device, void *stream) {
    return worked(prefetch(managed, bytes, to_device, stream), "cudaMemPrefetchAsync");
}
