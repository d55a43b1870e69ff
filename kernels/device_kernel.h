/* The compiled kernels of the process: one for each form and architecture, made when first asked for. */
#ifndef FERRY_KERNELS_DEVICE_KERNEL_H
#define FERRY_KERNELS_DEVICE_KERNEL_H

#include "device_source.h"
#include "ferry/kernel.h"

/* Compute capability times ten, remembered. */
ferry_status device_architecture(int device, int *out);

/* Keys of the process's table of kernels: the kind keeps those of different makers apart. `form` is under 2^48. */
typedef enum device_key_kind {
    DEVICE_KEY_ELEMENTWISE,
    DEVICE_KEY_REDUCE,
    DEVICE_KEY_MATMUL,
    DEVICE_KEY_HOST
} device_key_kind;
uint64_t device_key(device_key_kind kind, uint64_t form, int architecture);

/* Kernels of one maker, which differ by their form. */
typedef struct device_family {
    device_key_kind kind;
    const char *name; /* of the kernel in every source */
    ferry_status (*write)(const void *form, text_buffer *source);
} device_family;

/*
 * The form's kernel for the stream's device; it lives as long as the process. Compiles on the first call, once however
 * many threads ask; the others wait. Thread-safe.
 */
ferry_status device_kernel_get(const device_family *family, const void *form, uint64_t form_key,
                               const ferry_stream *stream, ferry_kernel **out);

#endif
