/*
 * One kernel source for nvcc, for NVRTC (which gets this file and the kernels' as one text) and, where there is no
 * device, for a C compiler. A kernel is written in phases: EACH_THREAD is what every thread of the block does, with a
 * barrier after it; on the host it is a loop, so that what a thread keeps from phase to phase lies in SHARED memory.
 * Blocks have THREADS threads and one dimension.
 */
#ifndef PROGRAMS_KERNELS_H
#define PROGRAMS_KERNELS_H

#ifdef __CUDACC__

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)
#define BLOCK ((int)blockIdx.x)
#define BLOCKS ((int)gridDim.x)
#define EACH_THREAD(t) for (int t = (int)threadIdx.x, once = 1; once; once = 0, __syncthreads())
#define SHARED __shared__
#define SIMULATED(kernel, ...)

#else

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static _Thread_local int host_block, host_blocks;

#define KERNEL static void
#define BLOCK host_block
#define BLOCKS host_blocks
#define EACH_THREAD(t) for (int t = 0; t < THREADS; t++)
#define SHARED
#define ON_EACH_BLOCK(blocks, call)                                                                                    \
    do {                                                                                                               \
        host_blocks = (int)(blocks);                                                                                   \
        for (host_block = 0; host_block < host_blocks; host_block++)                                                   \
            call;                                                                                                      \
    } while (0)

/* The simulator's version of a kernel, with its arguments' types: kernel_on_host. */
#ifdef FERRY_KERNEL_H
#define ARGUMENT(type, i) (*(type *)args[i])
#define SIMULATED(kernel, ...)                                                                                         \
    static void kernel##_on_host(const ferry_grid *grid, void *const *args) {                                          \
        ON_EACH_BLOCK(grid->blocks[0], kernel(__VA_ARGS__));                                                           \
    }
#else
#define SIMULATED(kernel, ...)
#endif

#endif

/* Adds up THREADS shared values, in an order that is always the same; the sum is then in the first. */
#define SUM_OF_THREADS(values)                                                                                         \
    for (int half = THREADS / 2; half > 0; half /= 2)                                                                  \
        EACH_THREAD(t) {                                                                                               \
            if (t < half)                                                                                              \
                (values)[t] += (values)[t + half];                                                                     \
        }

#endif
