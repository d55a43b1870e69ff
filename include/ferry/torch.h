/*
 * The pair of functions that PyTorch's CUDAPluggableAllocator loads from the shared library by name: its tensors then
 * lie in ferry's memory, on their device until somebody moves them, and the host can read them where they are.
 */
#ifndef FERRY_TORCH_H
#define FERRY_TORCH_H

#include <sys/types.h>

#include "ferry/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A block of `size` bytes of undefined contents from a heap of its own, placed on the device before the call returns;
 * `stream`, a cudaStream_t, is not waited for. Whatever PyTorch does to it counts as done at any time
 * (ferry_export_begin). NULL, with ferry_error_detail set, where there is no room or no such
 * device; for no bytes a unique pointer. Thread-safe.
 */
FERRY_API void *ferry_torch_malloc(ssize_t size, int device, void *stream);

/*
 * Frees it: the block is recycled when the work that is queued on the stream has ended. The stream must live as long as
 * the process, as those of PyTorch's pool do; a block whose stream cannot be followed, because ordinary memory has run
 * out, is never recycled. Thread-safe.
 */
FERRY_API void ferry_torch_free(void *ptr, ssize_t size, int device, void *stream);

#ifdef __cplusplus
}
#endif
#endif
