/* Times of a host's loop and of a launch. */
#ifndef FERRY_KERNELS_PAYS_MEASURE_H
#define FERRY_KERNELS_PAYS_MEASURE_H

#include "ferry/pays.h"
#include "ops.h"
#include "pays_line.h"

/* The loop's times, on `nin` inputs of the compute type in ordinary values, in memory that the host has touched. */
ferry_status pays_measure_host(const op_loop *types, int nin, ferry_pays_loop loop, void *context, pays_line *out);

/* A checked call on so few elements, on the host, that they cost nothing: its launch and the wait. */
ferry_status pays_measure_launch(int device, double *ns);

#endif
