/* Passes of a reduction to kernels in a stream, on whichever backend is in use. */
#ifndef FERRY_KERNELS_REDUCE_LAUNCH_H
#define FERRY_KERNELS_REDUCE_LAUNCH_H

#include "ferry/kernel.h"
#include "reduce_source.h"

/* A pass whose kernel is there. */
typedef struct reduce_prepared {
    ferry_kernel *kernel;
    bool simulated;
    reduce_form form; /* not simulated */
} reduce_prepared;

/* Starts the library, and finds or compiles the kernel. */
ferry_status reduce_launch_prepare(const reduce_pass *p, const ferry_stream *stream, reduce_prepared *out);

/* The launch alone: the caller acquires and completes. */
ferry_status reduce_launch_enqueue(const reduce_pass *p, const reduce_prepared *kernel, ferry_stream *stream);

#endif
