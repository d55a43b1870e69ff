/* The simulator's reduction: a pass, run by the host's loops. */
#ifndef FERRY_KERNELS_REDUCE_HOST_H
#define FERRY_KERNELS_REDUCE_HOST_H

#include "ferry/kernel.h"

/* A ferry_host_kernel whose one argument is a reduce_pass. */
void reduce_host_run(const ferry_grid *grid, void *const *args);

#endif
