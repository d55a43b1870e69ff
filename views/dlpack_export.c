#include <stdlib.h>
#include <string.h>

#include "dlpack_abi.h"
#include "ferry/movement.h"

/* What a tensor's context points at: the tensor itself, and what it keeps. */
struct exported {
    ferry_array array;
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } tensor;
    int64_t shape[FERRY_MAX_DIMS], strides[FERRY_MAX_DIMS];
};

static void give_back(struct exported *exported) {
    if (!exported->array.view.readonly) {
        ferry_export_end(&exported->array.view);
    }
    ferry_array_release(&exported->array);
    free(exported);
}

static void delete_plain(struct DLManagedTensor *self) {
    give_back(self->context);
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
    give_back(self->context);
}

static ferry_status check_options(const ferry_dlpack_options *options, const ferry_view *view) {
    const bool host = options->type == FERRY_DLPACK_CPU;
    if (!host && options->type != FERRY_DLPACK_CUDA && options->type != FERRY_DLPACK_MANAGED) {
        return ferry_error(FERRY_INVALID_ARGUMENT,
                           "arrays are exported as DLPack devices 1 (CPU), 2 (CUDA) and 13 "
                           "(managed), not %d",
                           (int)options->type);
    }
    const int devices = host ? 1 : ferry_device_count();
    if (options->device < 0 || options->device >= devices) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d to export to: there are %d of the type",
                           options->device, devices);
    }
    if (!host && ferry_view_size(view) > 0 && !ferry_owns(view->data)) {
        return ferry_error(FERRY_UNSUPPORTED, "the array at %p does not lie in ferry's memory: only the CPU has it",
                           view->data);
    }
    if (options->type == FERRY_DLPACK_CUDA && strcmp(ferry_backend_name(), "cuda") != 0) {
        return ferry_error(FERRY_UNSUPPORTED, "the simulator's memory is not a CUDA device's");
    }
    return FERRY_OK;
}

static ferry_status check_strides(const ferry_view *view) {
    const int64_t item_bytes = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = 0; i < view->ndim; i++) {
        if (view->strides[i] % item_bytes != 0) {
            return ferry_error(FERRY_UNSUPPORTED,
                               "DLPack counts strides in elements: that of axis %d is %lld bytes, of elements of %lld",
                               i, (long long)view->strides[i], (long long)item_bytes);
        }
    }
    return FERRY_OK;
}

/* On a stream of the device; whoever reads the export waits for it. */
static ferry_status place_on_device(const ferry_view *view, int device) {
    ferry_stream *stream = NULL;
    ferry_status status = device == 0 ? FERRY_OK : ferry_stream_create(device, &stream);
    status = status == FERRY_OK ? ferry_prefetch(view, device, stream) : status;
    ferry_stream_destroy(stream);
    return status;
}

static ferry_status place(const ferry_view *view, const ferry_dlpack_options *options) {
    if (options->type == FERRY_DLPACK_CPU) {
        return ferry_host_acquire(view, view->readonly ? FERRY_READ : FERRY_READWRITE);
    }
    const bool moves = options->type == FERRY_DLPACK_CUDA && ferry_view_size(view) > 0;
    return moves ? place_on_device(view, options->device) : FERRY_OK;
}

/* Waits for kernels either way; what nobody may write is not exported. */
static ferry_status begin_export(const ferry_view *view) {
    const ferry_status status = ferry_export_begin(view);
    if (status == FERRY_OK && view->readonly) {
        ferry_export_end(view);
    }
    return status;
}

static void describe(struct exported *exported, const ferry_dlpack_options *options, struct dlpack_tensor *tensor) {
    const ferry_view *view = &exported->array.view;
    const int64_t item_bytes = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = 0; i < view->ndim; i++) {
        exported->shape[i] = view->shape[i];
        exported->strides[i] = view->strides[i] / item_bytes;
    }
    *tensor = (struct dlpack_tensor){.data = ferry_view_size(view) == 0 ? NULL : view->data,
                                     .device = {(int32_t)options->type, options->device},
                                     .ndim = view->ndim,
                                     .dtype = dlpack_dtype_of(view->dtype),
                                     .shape = exported->shape,
                                     .strides = exported->strides};
}

/* Everything but the tensor: checks, places, counts, and keeps the array. */
static ferry_status prepare(const ferry_array *array, const ferry_dlpack_options *options, struct exported **out) {
    ferry_status status = check_options(options, &array->view);
    status = status == FERRY_OK ? check_strides(&array->view) : status;
    if (status != FERRY_OK) {
        return status;
    }
    struct exported *exported = calloc(1, sizeof *exported);
    if (exported == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a tensor's record (%zu bytes)", sizeof *exported);
    }
    status = ferry_array_share(array, NULL, &exported->array);
    if (status != FERRY_OK) {
        goto free_exported;
    }
    status = place(&array->view, options);
    status = status == FERRY_OK ? begin_export(&array->view) : status;
    if (status != FERRY_OK) {
        goto release_array;
    }
    *out = exported;
    return FERRY_OK;

release_array:
    ferry_array_release(&exported->array);
free_exported:
    free(exported);
    return status;
}

static ferry_dlpack_options resolve(const ferry_dlpack_options *options) {
    ferry_dlpack_options resolved = options == NULL ? (ferry_dlpack_options){0} : *options;
    resolved.type = resolved.type == 0 ? FERRY_DLPACK_MANAGED : resolved.type;
    return resolved;
}

ferry_status ferry_dlpack_export(const ferry_array *array, const ferry_dlpack_options *options,
                                 struct DLManagedTensorVersioned **out) {
    const ferry_dlpack_options resolved = resolve(options);
    struct exported *exported;
    const ferry_status status = prepare(array, &resolved, &exported);
    if (status != FERRY_OK) {
        return status;
    }
    struct DLManagedTensorVersioned *tensor = &exported->tensor.versioned;
    tensor->version.major = DLPACK_MAJOR;
    tensor->context = exported;
    tensor->deleter = delete_versioned;
    tensor->flags = (array->view.readonly ? DLPACK_READ_ONLY : 0) | (resolved.copied ? DLPACK_IS_COPIED : 0);
    describe(exported, &resolved, &tensor->tensor);
    *out = tensor;
    return FERRY_OK;
}

ferry_status ferry_dlpack_export_unversioned(const ferry_array *array, const ferry_dlpack_options *options,
                                             struct DLManagedTensor **out) {
    const ferry_dlpack_options resolved = resolve(options);
    struct exported *exported;
    if (array->view.readonly) {
        return ferry_error(FERRY_UNSUPPORTED, "a DLPack tensor without a version cannot be read-only: export a "
                                              "versioned one");
    }
    const ferry_status status = prepare(array, &resolved, &exported);
    if (status != FERRY_OK) {
        return status;
    }
    struct DLManagedTensor *tensor = &exported->tensor.plain;
    tensor->context = exported;
    tensor->deleter = delete_plain;
    describe(exported, &resolved, &tensor->tensor);
    *out = tensor;
    return FERRY_OK;
}
