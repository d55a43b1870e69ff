/* Kernels: loading, launching, and launching with movement. */
#ifndef FERRY_KERNEL_H
#define FERRY_KERNEL_H

#include "ferry/movement.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ferry_grid {
    uint32_t blocks[3];  /* 0 counts as 1 */
    uint32_t threads[3]; /* per block; 0 counts as 1 */
    size_t shared_bytes; /* dynamic shared memory per block */
} ferry_grid;

/*
 * The simulator's version of a kernel: does the whole grid's work on the CPU, later, on some thread of the library's
 * choosing. args[i] points at the i-th argument's value, as in cudaLaunchKernel; managed addresses are device pointers.
 * Whoever waits for it may hold the library's locks: like a callback of CUDA's it calls nothing of ferry's but
 * ferry_device_pointer.
 */
typedef void (*ferry_host_kernel)(const ferry_grid *grid, void *const *args);

/* A kernel for one or both backends. */
typedef struct ferry_kernel ferry_kernel;

/*
 * From machine code: `image` is a cubin, fatbin or PTX text of `bytes` bytes, `name` the kernel's (mangled) name in it.
 * `host` serves on the simulator. Either may be NULL, not both. The image is copied. FERRY_BACKEND, FERRY_NOT_FOUND.
 */
FERRY_API ferry_status ferry_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                                         ferry_kernel **out);

/*
 * From CUDA C++ source, by NVRTC, for the devices of this machine; the compiled code is kept on disk. `name` is an
 * extern "C" kernel. FERRY_COMPILE's detail holds the compiler's log; FERRY_UNSUPPORTED where NVRTC is not to be found.
 * On the simulator the source is not compiled and only a `host` function (may be NULL on CUDA) can be launched.
 */
FERRY_API ferry_status ferry_kernel_compile(const char *source, const char *name, ferry_kernel **out);
FERRY_API ferry_status ferry_kernel_set_host(ferry_kernel *kernel, ferry_host_kernel host);

/* Waits for nothing: call ferry_sync first when it may still run. NULL is a no-op. */
FERRY_API void ferry_kernel_destroy(ferry_kernel *kernel);

/* An argument: an operand, whose data pointer is passed, or a value of `bytes` bytes. Values are copied by the call. */
typedef struct ferry_arg {
    ferry_operand operand; /* used when operand.view is not NULL */
    const void *value;
    size_t bytes;
} ferry_arg;

/* Acquires the operands, launches, completes. FERRY_UNSUPPORTED when the kernel has no version for the backend. */
FERRY_API ferry_status ferry_launch(ferry_kernel *kernel, ferry_grid grid, const ferry_arg *args, size_t n,
                                    ferry_stream *stream);

/* The launch alone: no movement, no bookkeeping. args[i] points at a value of sizes[i] bytes; both are read before the
 * return. */
FERRY_API ferry_status ferry_kernel_enqueue(ferry_kernel *kernel, ferry_grid grid, void *const *args,
                                            const size_t *sizes, size_t n, ferry_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
