/* CUDA C++ for matrix products. */
#ifndef FERRY_KERNELS_MATMUL_SOURCE_H
#define FERRY_KERNELS_MATMUL_SOURCE_H

#include "device_source.h"
#include "matmul_product.h"

#define MATMUL_KERNEL_NAME "ferry_matmul" /* extern "C", in every source */
#define MATMUL_THREADS 256                /* per block */
#define MATMUL_TILE 64                    /* rows and columns of out that a block makes */
#define MATMUL_STEP 16                    /* of `inner` at a time */

/* Products of one form share a kernel. */
typedef struct matmul_form {
    ferry_dtype dtype, accumulator;
    int rank;  /* of the stack */
    bool wide; /* 2^31 matrices and more */
} matmul_form;

/* As struct matmul_shape of device_matmul.cuh, the kernel's last parameter. */
typedef struct matmul_shape {
    int64_t rows, columns, inner;
    int64_t row_stride[PLAN_OPERANDS], column_stride[PLAN_OPERANDS];
} matmul_shape;

void matmul_form_make(matmul_form *form, const matmul_product *p);

/* Different for different forms, under 2^48. */
uint64_t matmul_form_key(const matmul_form *form);

/* Returns the blocks of work. */
int64_t matmul_shape_make(matmul_shape *shape, const matmul_product *p);

/* A whole source of one kernel, MATMUL_KERNEL_NAME; and what several kernels share, and one of them. */
ferry_status matmul_source_make(const matmul_form *form, text_buffer *source);
void matmul_source_frame(text_buffer *source);
ferry_status matmul_source_kernel(const matmul_form *form, const char *name, text_buffer *source);

#endif
