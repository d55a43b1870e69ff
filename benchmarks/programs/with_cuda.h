/* The explicit versions: CUDA's runtime, or its stand-in where nvcc does not compile this. */
#ifndef PROGRAMS_WITH_CUDA_H
#define PROGRAMS_WITH_CUDA_H

#include "program.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define LAUNCH(kernel, blocks, stream, ...)                                                                            \
    do {                                                                                                               \
        kernel<<<(unsigned)(blocks), THREADS, 0, stream>>>(__VA_ARGS__);                                               \
        CHECK(cudaGetLastError());                                                                                     \
    } while (0)
#else
#include "host_cuda.h"
#endif

/* Ends the program when a call has failed. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess)                                                                                      \
            fail("%s:%d: %s", __FILE__, __LINE__, cudaGetErrorString(error));                                          \
    } while (0)

#endif
