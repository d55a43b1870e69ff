/* Matrix products to kernels in a stream, on whichever backend is in use, and to cuBLAS. */
#ifndef FERRY_KERNELS_MATMUL_LAUNCH_H
#define FERRY_KERNELS_MATMUL_LAUNCH_H

#include "ferry/kernel.h"
#include "matmul_source.h"

/* A product whose kernel is there, or that cuBLAS makes. */
typedef struct matmul_prepared {
    bool simulated, by_cublas;
    ferry_kernel *kernel;                 /* not of cuBLAS */
    matmul_form form;                     /* of a kernel of a device */
    matmul_layout layouts[PLAN_OPERANDS]; /* cuBLAS only: out, a, b */
} matmul_prepared;

/* Starts the library, and says who will multiply: cuBLAS wants layouts. */
ferry_status matmul_launch_choose(ferry_dtype dtype, int64_t rows, int64_t columns, int64_t inner,
                                  matmul_prepared *out);

/* Finds or compiles the kernel, where there is one. */
ferry_status matmul_launch_prepare(const matmul_product *p, const ferry_stream *stream, matmul_prepared *out);

/* The launch alone: the caller acquires and completes. */
ferry_status matmul_launch_enqueue(const matmul_product *p, const matmul_prepared *kernel, ferry_stream *stream);

#endif
