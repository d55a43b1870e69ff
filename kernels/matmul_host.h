/* The simulator's matrix product, by the host's loops. */
#ifndef FERRY_KERNELS_MATMUL_HOST_H
#define FERRY_KERNELS_MATMUL_HOST_H

#include "ferry/kernel.h"

/* A ferry_host_kernel whose one argument is a matmul_product. */
void matmul_host_run(const ferry_grid *grid, void *const *args);

#endif
