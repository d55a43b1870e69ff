/*
 * register_buffer: pins buffers of the heap, copies from one to the device and back into the other, and unpins them.
 *
 * It knows nothing of ferry. Libraries do this to buffers that they are handed. The driver refuses to pin managed
 * memory, which under `ferry run` the large buffers lie in; the small ones are pinned as ever.
 */
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LARGE_BYTES ((size_t)64 << 20)
#define SMALL_BYTES ((size_t)64 << 10)
#define PAGE_BYTES ((size_t)4096)
#define NO_DEVICE 77

static bool failed(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "register_buffer: %s: %s\n", what, cudaGetErrorString(error));
    }
    return error != cudaSuccess;
}

static void fill(unsigned char *buffer, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        buffer[i] = (unsigned char)(i * i >> 7);
    }
}

/* What CUDA takes the buffer for; a library that asks may act on it. */
static bool say_type(const void *buffer, size_t bytes) {
    static const char *const names[] = {"unregistered", "host", "device", "managed"};
    struct cudaPointerAttributes attributes;
    if (failed(cudaPointerGetAttributes(&attributes, buffer), "cudaPointerGetAttributes")) {
        return false;
    }
    fprintf(stderr, "%zu KiB: CUDA calls it %s\n", bytes >> 10, names[attributes.type]);
    return true;
}

static bool copy(const void *from, void *to, void *on_device, size_t bytes) {
    return !failed(cudaMemcpyAsync(on_device, from, bytes, cudaMemcpyHostToDevice, NULL), "copy in") &&
           !failed(cudaMemcpyAsync(to, on_device, bytes, cudaMemcpyDeviceToHost, NULL), "copy out") &&
           !failed(cudaDeviceSynchronize(), "copies");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The device knows the buffer by the address that the host has for it, too. */
static bool is_mapped(void *buffer) {
    void *seen = NULL;
    return !failed(cudaHostGetDevicePointer(&seen, buffer, 0), "cudaHostGetDevicePointer") && seen == buffer;
}

static bool work(unsigned char *from, unsigned char *to, size_t bytes) {
    void *on_device = NULL;
    const double began = seconds();
    bool done = !failed(cudaMalloc(&on_device, bytes), "cudaMalloc") &&
                !failed(cudaHostRegister(from, bytes, cudaHostRegisterMapped), "cudaHostRegister") &&
                !failed(cudaHostRegister(to, bytes, cudaHostRegisterMapped), "cudaHostRegister") && is_mapped(from) &&
                say_type(from, bytes) && copy(from, to, on_device, bytes) &&
                !failed(cudaHostUnregister(to), "cudaHostUnregister") &&
                !failed(cudaHostUnregister(from), "cudaHostUnregister");
    fprintf(stderr, "work %.6f s\n", seconds() - began);
    cudaFree(on_device);
    return done;
}

static bool round_trip(size_t bytes) {
    /* Whole pages are pinned: two buffers must not share one. */
    unsigned char *from = aligned_alloc(PAGE_BYTES, bytes), *to = aligned_alloc(PAGE_BYTES, bytes);
    bool right = from != NULL && to != NULL;
    if (right) {
        fill(from, bytes);
        memset(to, 0, bytes);
        right = work(from, to, bytes) && memcmp(from, to, bytes) == 0;
    }
    printf("%s: %zu KiB\n", right ? "PASS" : "FAILED", bytes >> 10);
    free(from);
    free(to);
    return right;
}

int main(void) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "register_buffer: there is no device here\n");
        return NO_DEVICE;
    }
    const bool small = round_trip(SMALL_BYTES), large = round_trip(LARGE_BYTES);
    return small && large ? 0 : 1;
}
