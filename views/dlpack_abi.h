/* The structures of DLPack 1 as its specification lays them out in memory, and of the version before it. */
#ifndef FERRY_VIEWS_DLPACK_ABI_H
#define FERRY_VIEWS_DLPACK_ABI_H

#include "ferry/dlpack.h"

#define DLPACK_MAJOR 1

/* What ferry takes beside the three of ferry_dlpack_device. */
#define DLPACK_CUDA_HOST 3

#define DLPACK_READ_ONLY UINT64_C(1)
#define DLPACK_IS_COPIED UINT64_C(2)

struct dlpack_device {
    int32_t type, id;
};

struct dlpack_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};

/* Extents count elements. strides NULL: C-contiguous. */
struct dlpack_tensor {
    void *data;
    struct dlpack_device device;
    int32_t ndim;
    struct dlpack_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct DLManagedTensor {
    struct dlpack_tensor tensor;
    void *context; /* the exporter's */
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dlpack_tensor tensor;
};

/* Codes of kinds: signed 0, unsigned 1, floating 2, complex 5, bool 6. */
static inline struct dlpack_dtype dlpack_dtype_of(ferry_dtype dtype) {
    const char kind = ferry_dtype_kind(dtype);
    const uint8_t code = kind == 'i' ? 0 : kind == 'u' ? 1 : kind == 'f' ? 2 : kind == 'c' ? 5 : 6;
    return (struct dlpack_dtype){code, (uint8_t)(8 * ferry_dtype_size(dtype)), 1};
}

#endif
