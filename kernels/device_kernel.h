/* The compiled kernels of the process: one for each form and architecture, made when first asked for. */
#ifndef FERRY_KERNELS_DEVICE_KERNEL_H
#define FERRY_KERNELS_DEVICE_KERNEL_H

#include "device_source.h"
#include "ferry/kernel.h"

/* Compute capability times ten, remembered. */
ferry_status device_architecture(int device, int *out);

/*
 * The form's kernel for a device; it lives as long as the process. Compiles on the first call, once however many
 * threads ask; the others wait. Thread-safe.
 */
ferry_status device_kernel_get(const device_form *form, int device, ferry_kernel **out);

/* From source to a loaded kernel. */
ferry_status device_kernel_build(const text_buffer *source, const char *name, int architecture, ferry_kernel **out);

/* Keys of the process's table of kernels: the kind keeps those of different makers apart. `form` is under 2^48. */
typedef enum device_key_kind {
    DEVICE_KEY_ELEMENTWISE,
    DEVICE_KEY_REDUCE,
    DEVICE_KEY_MATMUL,
    DEVICE_KEY_HOST
} device_key_kind;
uint64_t device_key(device_key_kind kind, uint64_t form, int architecture);

#endif
