/*
 * Toolkit 12's forms of the calls that toolkit 13 changed or added. Include cuda_runtime_api.h first.
 */
#ifndef FERRY_ALLOC_CUDA_COMPAT_H
#define FERRY_ALLOC_CUDA_COMPAT_H

#include "ferry/movement.h"

#if CUDART_VERSION >= 13000

static inline struct cudaMemLocation cuda_location(ferry_place place) {
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost, .id = 0};
    if (place >= 0)
        location = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = place};
    return location;
}

static inline cudaError_t cuda_advise(void *address, size_t bytes, enum cudaMemoryAdvise advice, ferry_place place) {
    return cudaMemAdvise(address, bytes, advice, cuda_location(place));
}

static inline cudaError_t cuda_prefetch(void *address, size_t bytes, ferry_place to, cudaStream_t stream) {
    return cudaMemPrefetchAsync(address, bytes, cuda_location(to), 0, stream);
}

static inline cudaError_t cuda_prefetch_batch(void **addresses, size_t *sizes, size_t n, bool discard, ferry_place to,
                                              cudaStream_t stream) {
    struct cudaMemLocation location = cuda_location(to);
    size_t first = 0;
    return discard ? cudaMemDiscardAndPrefetchBatchAsync(addresses, sizes, n, &location, &first, 1, 0, stream)
                   : cudaMemPrefetchBatchAsync(addresses, sizes, n, &location, &first, 1, 0, stream);
}

#else

static inline int cuda_location(ferry_place place) {
    return place >= 0 ? place : cudaCpuDeviceId;
}

static inline cudaError_t cuda_advise(void *address, size_t bytes, enum cudaMemoryAdvise advice, ferry_place place) {
    return cudaMemAdvise(address, bytes, advice, cuda_location(place));
}

static inline cudaError_t cuda_prefetch(void *address, size_t bytes, ferry_place to, cudaStream_t stream) {
    return cudaMemPrefetchAsync(address, bytes, cuda_location(to), stream);
}

static inline cudaError_t cuda_prefetch_batch(void **addresses, size_t *sizes, size_t n, bool discard, ferry_place to,
                                              cudaStream_t stream) {
    (void)addresses, (void)sizes, (void)n, (void)discard, (void)to, (void)stream;
    return cudaErrorNotSupported;
}

#endif
#endif
