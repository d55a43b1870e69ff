/* cuBLAS, opened at run time. */
#ifndef FERRY_KERNELS_CUBLAS_H
#define FERRY_KERNELS_CUBLAS_H

#include "ferry/movement.h"
#include "matmul_product.h"

/* Whether cuBLAS is to be found (FERRY_CUBLAS names it). Remembered. */
bool cublas_is_available(void);

/* Whether it can take products of that type and size: float32 and float64, extents of 32 bits. */
bool cublas_takes(ferry_dtype dtype, int64_t rows, int64_t columns, int64_t inner);

/*
 * Enqueues the product, whose matrices all have a layout (matmul_layout_of): `layouts` of out, a and b. The caller
 * acquires and completes. FERRY_BACKEND. Thread-safe.
 */
ferry_status cublas_multiply(const matmul_product *p, const matmul_layout *layouts, ferry_stream *stream);

#endif
