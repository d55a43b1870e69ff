/*
 * Kernels of the suites' own, so that every strategy runs the same ones: compiled from source on a device, loops on the
 * simulator.
 */
#ifndef FERRY_BENCHMARKS_BENCH_KERNELS_H
#define FERRY_BENCHMARKS_BENCH_KERNELS_H

#include "ferry/ferry.h"

#define SUM_BLOCKS 256 /* a plain sum leaves so many partial ones: 2 KiB, which no policy moves */

struct bench_kernels {
    ferry_kernel *log;     /* (const double *x, double *y, long long n): y = log x */
    ferry_kernel *negate;  /* (double *x, long long n): x = -x */
    ferry_kernel *sum;     /* (const double *x, double *partial, long long n) */
    ferry_kernel *gather;  /* (const double *x, double *out, long long first, long long step, long long n) */
    ferry_kernel *nothing; /* (const double *, double *, const double *) */
};

ferry_status bench_kernels_open(struct bench_kernels *kernels);
void bench_kernels_close(struct bench_kernels *kernels);

/* The grids that they are launched with. */
ferry_grid bench_grid_elementwise(size_t n);
ferry_grid bench_grid_sum(void);

/* Launches on device addresses, with no movement and no bookkeeping. */
ferry_status bench_enqueue_log(const struct bench_kernels *kernels, const double *x, double *y, size_t n,
                               ferry_stream *stream);
ferry_status bench_enqueue_negate(const struct bench_kernels *kernels, double *x, size_t n, ferry_stream *stream);
ferry_status bench_enqueue_sum(const struct bench_kernels *kernels, const double *x, double *partial, size_t n,
                               ferry_stream *stream);

/* out[k] = x[first + k step] for k < n, and waits: a look at results that moves nothing, wherever they are. `out` is a
 * small block of the library's. */
ferry_status bench_gather(const struct bench_kernels *kernels, const double *x, double *out, size_t first, size_t step,
                          size_t n);

/* Launches `nothing`, which the simulator charges as a launch. */
ferry_status bench_enqueue_nothing(const struct bench_kernels *kernels, ferry_stream *stream);

/* For the virtual clock: a launch that is charged as one, of which only the operands' touches count. */
ferry_status bench_touch(const struct bench_kernels *kernels, const ferry_operand *operands, size_t n,
                         ferry_stream *stream);

#endif
