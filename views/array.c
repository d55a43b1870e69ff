#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/site.h"
#include "layout.h"

struct ferry_owner {
    atomic_size_t references;
    void (*release)(void *context); /* may be NULL */
    void *context;
};

static ferry_owner *owner_create(void (*release)(void *), void *context) {
    ferry_owner *owner = malloc(sizeof *owner);
    if (owner == NULL) {
        ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an array's owner (%zu bytes)", sizeof *owner);
        return NULL;
    }
    atomic_init(&owner->references, 1);
    owner->release = release;
    owner->context = context;
    return owner;
}

/* Memory for the view's elements. On failure the heap has set the detail. */
static ferry_status allocate(ferry_heap *heap, const ferry_view *view, bool zero, void **out) {
    size_t item_bytes = ferry_dtype_size(view->dtype);
    void *block = zero ? ferry_heap_calloc(heap, (size_t)ferry_view_size(view), item_bytes)
                       : ferry_heap_malloc(heap, ferry_view_bytes(view));
    if (block == NULL) {
        return heap == NULL && ferry_heap_default() == NULL ? FERRY_BACKEND : FERRY_LIMIT;
    }
    *out = block;
    return FERRY_OK;
}

/* `caller`: where the program wanted the array, by which its block is remembered. */
static ferry_status create(ferry_heap *heap, ferry_dtype dtype, int ndim, const int64_t *shape, bool zero, void *caller,
                           ferry_array *out) {
    ferry_array array;
    ferry_status status = ferry_view_make(NULL, dtype, ndim, shape, &array.view);
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_site before = ferry_site_enter(caller);
    status = allocate(heap, &array.view, zero, &array.view.data);
    ferry_site_set(before);
    if (status != FERRY_OK) {
        return status;
    }
    array.owner = owner_create(ferry_free, array.view.data);
    if (array.owner == NULL) {
        ferry_free(array.view.data);
        return FERRY_OUT_OF_MEMORY;
    }
    *out = array;
    return FERRY_OK;
}

ferry_status ferry_array_create(ferry_heap *heap, ferry_dtype dtype, int ndim, const int64_t *shape, ferry_array *out) {
    return create(heap, dtype, ndim, shape, false, __builtin_return_address(0), out);
}

ferry_status ferry_array_zeros(ferry_heap *heap, ferry_dtype dtype, int ndim, const int64_t *shape, ferry_array *out) {
    return create(heap, dtype, ndim, shape, true, __builtin_return_address(0), out);
}

ferry_status ferry_array_wrap(const ferry_view *view, void (*release)(void *), void *context, ferry_array *out) {
    ferry_owner *owner = owner_create(release, context);
    if (owner == NULL) {
        return FERRY_OUT_OF_MEMORY;
    }
    *out = (ferry_array){.view = *view, .owner = owner};
    return FERRY_OK;
}

ferry_status ferry_array_share(const ferry_array *array, const ferry_view *view, ferry_array *out) {
    if (array->owner == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "a released array cannot be shared");
    }
    atomic_fetch_add_explicit(&array->owner->references, 1, memory_order_relaxed);
    *out = (ferry_array){.view = view != NULL ? *view : array->view, .owner = array->owner};
    return FERRY_OK;
}

void ferry_array_release(ferry_array *array) {
    if (array == NULL || array->owner == NULL) {
        return;
    }
    ferry_owner *owner = array->owner;
    memset(array, 0, sizeof *array);
    /* Every use of the memory by any thread happens before its release. */
    if (atomic_fetch_sub_explicit(&owner->references, 1, memory_order_acq_rel) == 1) {
        if (owner->release != NULL) {
            owner->release(owner->context);
        }
        free(owner);
    }
}
