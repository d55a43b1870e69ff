/* CUDA C++ for a plan: what its kernel depends on, and the source that NVRTC compiles. */
#ifndef FERRY_KERNELS_DEVICE_SOURCE_H
#define FERRY_KERNELS_DEVICE_SOURCE_H

#include "plan.h"
#include "text.h"

#define DEVICE_KERNEL_NAME "ferry_elementwise" /* extern "C", in every source */
#define DEVICE_THREADS 256                     /* per block */
#define DEVICE_RANK_MAX FERRY_MAX_DIMS

/* Plans of one form share a kernel. */
typedef struct device_form {
    ferry_op op;
    ferry_dtype dtype[PLAN_OPERANDS]; /* of a copy without a cast: of the same size, whatever the plan's */
    bool b_is_a;
    bool checked;               /* says what it raised: the last parameter is plan.exceptions */
    bool contiguous;            /* else strided */
    bool scalar[PLAN_OPERANDS]; /* contiguous only */
    bool aligned;               /* strided only: every element to its size */
    bool wide;                  /* strided only: 2^31 elements and more */
    int rank;                   /* strided only: axes that the kernel has, at least the plan's */
} device_form;

void device_form_make(device_form *form, const plan *p);

/* Different for different forms, under 2^40. */
uint64_t device_form_key(const device_form *form);

/* Elements that a thread of a contiguous kernel takes at a time. */
int device_form_pack(const device_form *form);

/* A whole source of one kernel, DEVICE_KERNEL_NAME. */
ferry_status device_source_make(const device_form *form, text_buffer *source);

/* The parts of it, to put several kernels into one program: what all share, and one kernel; of that, struct
 * operation_<name>. */
void device_source_frame(text_buffer *source);
ferry_status device_source_operation(const device_form *form, const char *name, text_buffer *source);
ferry_status device_source_kernel(const device_form *form, const char *name, text_buffer *source);

/*
 * The kernel's parameter after the three data pointers: of a strided form its geometry, in `bytes` bytes of `buffer`,
 * which holds DEVICE_GEOMETRY_BYTES and is aligned to 8.
 */
#define DEVICE_GEOMETRY_BYTES (8 + DEVICE_RANK_MAX * (PLAN_OPERANDS * 8 + 12))
size_t device_geometry_make(const device_form *form, const plan *p, void *buffer);

/* The same for any plan's axes: narrow_geometry<rank>, or wide_geometry<rank> of 2^31 elements and more. */
size_t device_geometry_of_axes(const plan *p, int rank, bool wide, void *buffer);

/* Axes that a kernel for a plan of `ndim` has. */
int device_rank_for(int ndim);

#endif
