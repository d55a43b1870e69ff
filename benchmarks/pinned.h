/* CUDA by itself, with no ferry: what the benchmark is held against. */
#ifndef FERRY_BENCHMARKS_PINNED_H
#define FERRY_BENCHMARKS_PINNED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this build has CUDA. Without it the rest fails. */
bool pinned_available(void);

/* The runtime's version, as "13.0". */
void pinned_cuda_version(char *text, size_t bytes);

/* A pinned buffer on the host and one on device 0, of `bytes` each. */
bool pinned_open(size_t bytes);
void pinned_close(void);

/* Copies the whole buffer and waits. */
bool pinned_copy(bool to_device);

/* Loads the kernel of a PTX text in the place of the one before; launches it with a null pointer `count` times on a
 * stream of its own, and waits when `wait`. */
bool pinned_kernel_open(const char *ptx, const char *name);
bool pinned_launch(size_t count, bool wait);
/* Launches it once on a stream of the caller's, a cudaStream_t, with its arguments as cudaLaunchKernel takes them. */
bool pinned_enqueue(void *stream, void **args);

#endif
