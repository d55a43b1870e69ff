/* Floating-point exceptions of a call. What the elements raise is said in ferry/ops.def and ops_math.h. */
#ifndef FERRY_KERNELS_EXCEPTIONS_H
#define FERRY_KERNELS_EXCEPTIONS_H

#include "ops.h"

/* The smallest normal number of what a cast rounds to; 0 where it raises nothing. */
double exceptions_smallest(ferry_dtype from, ferry_dtype to);

#endif
