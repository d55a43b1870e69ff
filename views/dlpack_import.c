#include <stdlib.h>

#include "dlpack_abi.h"
#include "ferry/movement.h"

/* A tensor that an array owns, of one of the two kinds. */
struct imported {
    ferry_view view;
    struct DLManagedTensor *plain;
    struct DLManagedTensorVersioned *versioned;
};

void ferry_dlpack_delete(struct DLManagedTensorVersioned *tensor) {
    if (tensor != NULL && tensor->deleter != NULL) {
        tensor->deleter(tensor);
    }
}

void ferry_dlpack_delete_unversioned(struct DLManagedTensor *tensor) {
    if (tensor != NULL && tensor->deleter != NULL) {
        tensor->deleter(tensor);
    }
}

static void release(void *context) {
    struct imported *imported = context;
    ferry_export_end(&imported->view);
    ferry_dlpack_delete_unversioned(imported->plain);
    ferry_dlpack_delete(imported->versioned);
    free(imported);
}

static ferry_status find_dtype(struct dlpack_dtype wanted, ferry_dtype *out) {
    for (ferry_dtype dtype = 0; dtype < FERRY_DTYPE_COUNT; dtype++) {
        const struct dlpack_dtype known = dlpack_dtype_of(dtype);
        if (known.code == wanted.code && known.bits == wanted.bits && known.lanes == wanted.lanes) {
            *out = dtype;
            return FERRY_OK;
        }
    }
    return ferry_error(FERRY_DTYPE, "a DLPack tensor of type code %u, %u bits, %u lanes", (unsigned)wanted.code,
                       (unsigned)wanted.bits, (unsigned)wanted.lanes);
}

static ferry_status check_device(const struct dlpack_tensor *tensor, const ferry_view *view) {
    switch (tensor->device.type) {
    case FERRY_DLPACK_CPU:
    case DLPACK_CUDA_HOST:
    case FERRY_DLPACK_MANAGED:
        return FERRY_OK;
    case FERRY_DLPACK_CUDA:
        if (ferry_view_size(view) == 0 || ferry_owns(view->data)) {
            return FERRY_OK;
        }
        return ferry_error(FERRY_UNSUPPORTED,
                           "the tensor at %p lies in memory of CUDA device %d that the host cannot "
                           "read",
                           view->data, tensor->device.id);
    default:
        return ferry_error(FERRY_UNSUPPORTED, "a DLPack tensor on a device of type %d", tensor->device.type);
    }
}

static ferry_status take_strides(const struct dlpack_tensor *tensor, ferry_view *view) {
    const int64_t item_bytes = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = 0; tensor->strides != NULL && i < view->ndim; i++) {
        if (__builtin_mul_overflow(tensor->strides[i], item_bytes, &view->strides[i])) {
            return ferry_error(FERRY_SHAPE, "a DLPack tensor's stride of %lld elements of %lld bytes",
                               (long long)tensor->strides[i], (long long)item_bytes);
        }
    }
    return FERRY_OK;
}

static ferry_status view_of(const struct dlpack_tensor *tensor, bool readonly, ferry_view *out) {
    ferry_dtype dtype = FERRY_DTYPE_COUNT;
    ferry_status status = find_dtype(tensor->dtype, &dtype);
    if (status == FERRY_OK) {
        char *data = tensor->data;
        data = data == NULL ? NULL : data + tensor->byte_offset;
        status = ferry_view_make(data, dtype, tensor->ndim, tensor->shape, out);
    }
    status = status == FERRY_OK ? take_strides(tensor, out) : status;
    status = status == FERRY_OK ? check_device(tensor, out) : status;
    if (status == FERRY_OK) {
        out->readonly = readonly;
    }
    return status;
}

/* `owned` names the tensor; its view is made here. */
static ferry_status take(const struct dlpack_tensor *tensor, bool readonly, struct imported owned, ferry_array *out) {
    ferry_status status = view_of(tensor, readonly, &owned.view);
    status = status == FERRY_OK ? ferry_export_begin(&owned.view) : status;
    if (status != FERRY_OK) {
        return status;
    }
    struct imported *imported = malloc(sizeof *imported);
    if (imported == NULL) {
        status = ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a tensor's owner (%zu bytes)", sizeof *imported);
        goto end_export;
    }
    *imported = owned;
    status = ferry_array_wrap(&owned.view, release, imported, out);
    if (status != FERRY_OK) {
        goto free_imported;
    }
    return FERRY_OK;

free_imported:
    free(imported);
end_export:
    ferry_export_end(&owned.view);
    return status;
}

ferry_status ferry_dlpack_import(struct DLManagedTensorVersioned *tensor, ferry_array *out) {
    if (tensor->version.major != DLPACK_MAJOR) {
        return ferry_error(FERRY_UNSUPPORTED, "a DLPack tensor of version %u.%u; known is version %d",
                           (unsigned)tensor->version.major, (unsigned)tensor->version.minor, DLPACK_MAJOR);
    }
    const bool readonly = (tensor->flags & DLPACK_READ_ONLY) != 0;
    return take(&tensor->tensor, readonly, (struct imported){.versioned = tensor}, out);
}

ferry_status ferry_dlpack_import_unversioned(struct DLManagedTensor *tensor, ferry_array *out) {
    return take(&tensor->tensor, false, (struct imported){.plain = tensor}, out);
}
