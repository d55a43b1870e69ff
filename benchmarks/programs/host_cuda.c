#include "host_cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS_MAX 64
#define NO_ZEROS 0xff /* NaNs, and integers that are no index */

/* Device memory: a block whose start is NULL is free. */
static struct {
    uint8_t *start;
    size_t bytes;
} blocks[BLOCKS_MAX];

static int block_of(const void *address) {
    for (int i = 0; i < BLOCKS_MAX; i++) {
        const uint8_t *start = blocks[i].start;
        if (start != NULL && (uintptr_t)address - (uintptr_t)start < blocks[i].bytes)
            return i;
    }
    return -1;
}

static bool is_inside(const void *address, size_t bytes) {
    int i = block_of(address);
    return i >= 0 && bytes <= blocks[i].bytes - ((uintptr_t)address - (uintptr_t)blocks[i].start);
}

static void protect(int how) {
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].start != NULL && mprotect(blocks[i].start, blocks[i].bytes, how) != 0)
            abort();
    }
}

void host_cuda_enter(void) {
    protect(PROT_READ | PROT_WRITE);
}

void host_cuda_leave(void) {
    protect(PROT_NONE);
}

const char *cudaGetErrorString(cudaError_t error) {
    static const char *const texts[] = {"no error", "invalid argument", "out of memory"};
    return texts[error];
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    int i = 0;
    while (i < BLOCKS_MAX && blocks[i].start != NULL)
        i++;
    void *start = i == BLOCKS_MAX || bytes == 0
                      ? MAP_FAILED
                      : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    memset(start, NO_ZEROS, bytes);
    blocks[i].start = start;
    blocks[i].bytes = bytes;
    host_cuda_leave();
    *out = start;
    return cudaSuccess;
}

cudaError_t cudaFree(void *block) {
    int i = block == NULL ? -1 : block_of(block);
    if (block == NULL)
        return cudaSuccess;
    if (i < 0 || blocks[i].start != block)
        return cudaErrorInvalidValue;
    munmap(block, blocks[i].bytes);
    blocks[i].start = NULL;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    void *block = malloc(bytes);
    if (block == NULL)
        return cudaErrorMemoryAllocation;
    *out = memset(block, NO_ZEROS, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *block) {
    free(block);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    bool in = kind == cudaMemcpyHostToDevice;
    if (!is_inside(in ? to : from, bytes) || block_of(in ? from : to) >= 0)
        return cudaErrorInvalidValue;
    host_cuda_enter();
    memcpy(to, from, bytes);
    host_cuda_leave();
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
    (void)stream;
    if (!is_inside(to, bytes))
        return cudaErrorInvalidValue;
    host_cuda_enter();
    memset(to, byte, bytes);
    host_cuda_leave();
    return cudaSuccess;
}

/* Streams and events are names only: what was queued is done. */
static cudaError_t make_name(void *out) {
    void *name = malloc(1);
    memcpy(out, &name, sizeof name);
    return name == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
    (void)flags;
    return make_name(out);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    (void)flags;
    return make_name(out);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)event, (void)stream;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    (void)event;
    return cudaSuccess;
}
