/* The simulator's elementwise kernel: a plan, run by the host's loops. */
#ifndef FERRY_KERNELS_HOST_KERNEL_H
#define FERRY_KERNELS_HOST_KERNEL_H

#include "ferry/kernel.h"

/* A ferry_host_kernel whose one argument is a plan. */
void host_kernel_run(const ferry_grid *grid, void *const *args);

#endif
