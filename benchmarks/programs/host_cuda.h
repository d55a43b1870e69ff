/*
 * A stand-in for the dozen calls of CUDA's runtime that the explicit versions make, so that the same sources run where
 * there is no device: a test double, for their answers alone. Everything is done at once, in the order of the calls, so
 * that it does not notice a missing wait; but device memory cannot be touched outside of kernels and copies, new memory
 * holds no zeros, and a copy in the wrong direction fails.
 */
#ifndef PROGRAMS_HOST_CUDA_H
#define PROGRAMS_HOST_CUDA_H

#include <stddef.h>

typedef enum cudaError { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation } cudaError_t;
typedef enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 } cudaMemcpyKind;
typedef struct host_cuda_stream *cudaStream_t;
typedef struct host_cuda_event *cudaEvent_t;
#define cudaStreamNonBlocking 1u
#define cudaEventDisableTiming 2u

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *block);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *block);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

/* Device memory may be touched between these two. */
void host_cuda_enter(void);
void host_cuda_leave(void);

#define LAUNCH(kernel, blocks, stream, ...)                                                                            \
    do {                                                                                                               \
        (void)(stream);                                                                                                \
        host_cuda_enter();                                                                                             \
        ON_EACH_BLOCK(blocks, kernel(__VA_ARGS__));                                                                    \
        host_cuda_leave();                                                                                             \
    } while (0)

#endif
