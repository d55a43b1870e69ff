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

#endif
