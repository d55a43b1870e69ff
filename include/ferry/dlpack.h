/*
 * DLPack: arrays handed to other libraries and taken from them, without a copy. The structures are those of DLPack 1,
 * and of the versions before it that carried no number; this header only names them, so that it can be included beside
 * dlpack.h.
 */
#ifndef FERRY_DLPACK_H
#define FERRY_DLPACK_H

#include "ferry/view.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* As what memory is handed out: DLPack's numbers. */
typedef enum ferry_dlpack_device {
    FERRY_DLPACK_CPU = 1,     /* brought home first */
    FERRY_DLPACK_CUDA = 2,    /* placed on the device first: for libraries that do not know managed memory */
    FERRY_DLPACK_MANAGED = 13 /* as it is, and nothing moves */
} ferry_dlpack_device;

/* Zero everywhere means: managed memory of device 0. */
typedef struct ferry_dlpack_options {
    ferry_dlpack_device type;
    int device;  /* 0 for the CPU */
    bool copied; /* the array was copied for this export: tell the consumer that nobody else sees its writes */
} ferry_dlpack_options;

/*
 * A tensor on the array's memory, which it keeps until its deleter is called, on any thread. `options` may be NULL.
 * Waits for kernels that use the array. Until then the memory counts as possibly written (ferry_export_begin), unless
 * the array is read-only, which the tensor says. FERRY_UNSUPPORTED: memory that is not ferry's as anything but the
 * CPU's, CUDA memory on the simulator, strides that are no multiples of the element. FERRY_INVALID_ARGUMENT (options),
 * FERRY_OUT_OF_MEMORY, FERRY_BACKEND.
 */
FERRY_API ferry_status ferry_dlpack_export(const ferry_array *array, const ferry_dlpack_options *options,
                                           struct DLManagedTensorVersioned **out);
/* The structure of before version 1. It cannot say that a tensor is read-only, so such arrays are FERRY_UNSUPPORTED. */
FERRY_API ferry_status ferry_dlpack_export_unversioned(const ferry_array *array, const ferry_dlpack_options *options,
                                                       struct DLManagedTensor **out);

/*
 * An array on the tensor's memory: *out owns the tensor, and calls its deleter when the last reference goes. On failure
 * the tensor stays the caller's. Waits for nothing: the exporter's queued work is the caller's to wait for. Memory of
 * the CPU, pinned (CUDAHost) and managed memory is taken from anybody, and moves only where it is ferry's; then it
 * counts as possibly written for as long as the array lives. CUDA memory is taken where it is ferry's; else
 * FERRY_UNSUPPORTED, as are other devices and versions from 2 on. FERRY_DTYPE, FERRY_SHAPE, FERRY_INVALID_ARGUMENT
 * (more than FERRY_MAX_DIMS axes, a tensor beyond its block of ferry's), FERRY_OUT_OF_MEMORY.
 */
FERRY_API ferry_status ferry_dlpack_import(struct DLManagedTensorVersioned *tensor, ferry_array *out);
FERRY_API ferry_status ferry_dlpack_import_unversioned(struct DLManagedTensor *tensor, ferry_array *out);

/* What a consumer does with a tensor that it does not take after all: calls its deleter, if it has one. */
FERRY_API void ferry_dlpack_delete(struct DLManagedTensorVersioned *tensor);
FERRY_API void ferry_dlpack_delete_unversioned(struct DLManagedTensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
