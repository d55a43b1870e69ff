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

#endif
