/* The host's loops over arrays, on all cores where an array is large. */
#ifndef FERRY_BENCHMARKS_POOL_H
#define FERRY_BENCHMARKS_POOL_H

#include <stddef.h>

#define POOL_LEAST_BYTES ((size_t)16 << 20) /* smaller arrays are the calling thread's own work */

/* Works on elements begin … end - 1 and returns something that is added up. */
typedef double (*pool_work)(void *context, size_t begin, size_t end);

/* Runs `work` over n doubles and returns the sum of what it returned. One caller at a time. */
double pool_run(pool_work work, void *context, size_t n);

/* Ends the threads; a later run starts them again. */
void pool_close(void);

#endif
