/* CUDA C++ for a pass of a reduction, and how its threads are laid out. */
#ifndef FERRY_KERNELS_REDUCE_SOURCE_H
#define FERRY_KERNELS_REDUCE_SOURCE_H

#include "device_source.h"
#include "reduce_plan.h"

#define REDUCE_KERNEL_NAME "ferry_reduce" /* extern "C", in every source */
#define REDUCE_THREADS 256                /* per block */
#define REDUCE_PACK 4                     /* lanes of a thread that goes along contiguous elements */

/* Passes of one form share a kernel. */
typedef struct reduce_form {
    ferry_op op;
    ferry_dtype in, accumulator, out;
    bool packed;  /* packs of REDUCE_PACK elements can be loaded whole */
    bool aligned; /* every element to its size */
    bool wide;    /* 2^31 results or elements of one result, and more */
    int kept_rank, reduced_rank;
} reduce_form;

/* As struct reduce_threads of device_reduce.cuh, the kernel's last parameter. */
typedef struct reduce_threads {
    int64_t chunks, target_bytes;
    uint32_t x_shift, x_mask, y_shift, y_mask, span, results_follow;
} reduce_threads;

void reduce_form_make(reduce_form *form, const reduce_pass *p);

/* Different for different forms, under 2^48. */
uint64_t reduce_form_key(const reduce_form *form);

/* What the threads of a pass do; returns the blocks of work. */
int64_t reduce_threads_make(reduce_threads *threads, const reduce_pass *p);

/* A whole source of one kernel, REDUCE_KERNEL_NAME; and what several kernels share, and one of them. */
ferry_status reduce_source_make(const reduce_form *form, text_buffer *source);
void reduce_source_frame(text_buffer *source);
ferry_status reduce_source_kernel(const reduce_form *form, const char *name, text_buffer *source);

#endif
