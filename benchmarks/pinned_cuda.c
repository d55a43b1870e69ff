#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "pinned.h"

static void *host, *device;
static size_t buffer_bytes;
static cudaStream_t stream;
static cudaLibrary_t library;
static cudaKernel_t kernel;

static bool worked(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return true;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    return false;
}

bool pinned_available(void) {
    return true;
}

void pinned_cuda_version(char *text, size_t bytes) {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    snprintf(text, bytes, "%d.%d", version / 1000, version % 1000 / 10);
}

static bool stream_open(void) {
    return stream || worked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

bool pinned_open(size_t bytes) {
    buffer_bytes = bytes;
    if (!stream_open() || !worked(cudaMallocHost(&host, bytes), "cudaMallocHost") ||
        !worked(cudaMalloc(&device, bytes), "cudaMalloc"))
        return false;
    memset(host, 1, bytes);
    return worked(cudaMemset(device, 1, bytes), "cudaMemset");
}

void pinned_close(void) {
    cudaFree(device);
    cudaFreeHost(host);
    device = host = NULL;
}

bool pinned_copy(bool to_device) {
    cudaError_t error = to_device ? cudaMemcpyAsync(device, host, buffer_bytes, cudaMemcpyHostToDevice, stream)
                                  : cudaMemcpyAsync(host, device, buffer_bytes, cudaMemcpyDeviceToHost, stream);
    return worked(error, "cudaMemcpyAsync") && worked(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

bool pinned_kernel_open(const char *ptx, const char *name) {
    if (library && !worked(cudaLibraryUnload(library), "cudaLibraryUnload"))
        return false;
    library = NULL;
    return stream_open() &&
           worked(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadData") &&
           worked(cudaLibraryGetKernel(&kernel, library, name), "cudaLibraryGetKernel");
}

bool pinned_enqueue(void *on, void **args) {
    return worked(cudaLaunchKernel((const void *)kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, on),
                  "cudaLaunchKernel");
}

bool pinned_launch(size_t count, bool wait) {
    void *address = NULL, *args[] = {&address};
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < count && !error; i++) {
        error = cudaLaunchKernel((const void *)kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, stream);
        if (!error && wait)
            error = cudaStreamSynchronize(stream);
    }
    return worked(error, "cudaLaunchKernel") && worked(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}
