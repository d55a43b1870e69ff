/* Plans to kernels in a stream, on whichever backend is in use. */
#ifndef FERRY_KERNELS_LAUNCH_H
#define FERRY_KERNELS_LAUNCH_H

#include "device_source.h"
#include "ferry/kernel.h"

/* A plan whose kernel is there: nothing is left that could fail but the device. */
typedef struct prepared {
    ferry_kernel *kernel;
    bool simulated;
    device_form form; /* not simulated */
} prepared;

/* Starts the library, and finds or compiles the kernel. */
ferry_status launch_prepare(const plan *p, const ferry_stream *stream, prepared *out);

/* Acquires the operands, launches, completes. */
ferry_status launch_run(const plan *p, const prepared *kernel, const ferry_operand *operands, size_t n,
                        ferry_stream *stream);

/* Starts the library, and says whether the simulator serves. */
ferry_status launch_backend(bool *simulated);

/* The simulator's kernels: one for each kind of call, which lives as long as the process. */
typedef struct launch_host_kernel {
    enum { LAUNCH_ELEMENTWISE, LAUNCH_REDUCE, LAUNCH_MATMUL } key;
    const char *name;
    ferry_host_kernel run;
} launch_host_kernel;
ferry_status launch_host_kernel_get(const launch_host_kernel *host, ferry_kernel **out);

/* Enqueues one: its only argument is a copy of the value. */
ferry_status launch_host_enqueue(ferry_kernel *kernel, const void *value, size_t bytes, ferry_stream *stream);

/* Blocks of a grid for that much work: so many at most that a block takes several pieces, and its start is paid for.
 * 64-bit sizes fit any grid. */
uint32_t launch_blocks(int64_t blocks);

#endif
