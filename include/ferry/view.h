/* n-dimensional views and arrays: NumPy's model, strides in bytes. */
#ifndef FERRY_VIEW_H
#define FERRY_VIEW_H

#include "ferry/dtype.h"
#include "ferry/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_MAX_DIMS 32

/*
 * A borrowed window on memory, a plain value: copy it freely. `data` points at element (0, …, 0), so with negative
 * strides it is not the lowest address. Strides are in bytes and may be 0 (broadcast) or negative. The memory may
 * be ferry's or anybody's; only ferry's moves. Scalars have ndim 0. Shapes are never negative.
 */
typedef struct ferry_view {
    void *data;
    ferry_dtype dtype;
    int ndim;
    bool readonly; /* of broadcast results and read-only imports: writing through it is FERRY_INVALID_ARGUMENT */
    int64_t shape[FERRY_MAX_DIMS];
    int64_t strides[FERRY_MAX_DIMS];
} ferry_view;

/* What keeps an array's memory: reference-counted, thread-safe. */
typedef struct ferry_owner ferry_owner;

/* A view that owns (counts a reference to) its memory. Lives in the caller's storage. */
typedef struct ferry_array {
    ferry_view view;
    ferry_owner *owner;
} ferry_array;

/* Describes C-contiguous memory at `data`. FERRY_INVALID_ARGUMENT (ndim, dtype), FERRY_SHAPE (negative, or bytes
 * overflow int64). */
FERRY_API ferry_status ferry_view_make(void *data, ferry_dtype dtype, int ndim, const int64_t *shape, ferry_view *out);

/* Number of elements (1 for a scalar), and elements times item size. */
FERRY_API int64_t ferry_view_size(const ferry_view *view);
FERRY_API size_t ferry_view_bytes(const ferry_view *view);
FERRY_API bool ferry_view_is_c_contiguous(const ferry_view *view);
FERRY_API bool ferry_view_is_f_contiguous(const ferry_view *view);

/* The half-open address range that the view's elements lie in; both NULL for a view of no elements. */
FERRY_API void ferry_view_bounds(const ferry_view *view, const char **low, const char **high);

/* Python's a[start:stop:step] on one axis. FERRY_SLICE_NONE in start or stop stands for a value left out. */
#define FERRY_SLICE_NONE INT64_MIN
typedef struct ferry_slice {
    int64_t start, stop, step; /* step not 0 */
} ferry_slice;

/*
 * Views of the same memory; nothing is copied and *out may be *view. `nslices` of them for the leading axes, the rest
 * whole. Slices clip as Python's do; FERRY_INVALID_ARGUMENT for step 0 or too many slices.
 */
FERRY_API ferry_status ferry_view_slice(const ferry_view *view, int nslices, const ferry_slice *slices,
                                        ferry_view *out);
/* a[i, j, …]: drops the leading `nindices` axes; negative indices count from the end; FERRY_INVALID_ARGUMENT out of
 * range. */
FERRY_API ferry_status ferry_view_index(const ferry_view *view, int nindices, const int64_t *indices, ferry_view *out);
/* A view where NumPy would give one (C order; one extent may be -1); else FERRY_SHAPE, whose detail names shape and
 * strides. */
FERRY_API ferry_status ferry_view_reshape(const ferry_view *view, int ndim, const int64_t *shape, ferry_view *out);
/* axes: a permutation of 0 … ndim-1 (negative counts from the end), NULL reverses. */
FERRY_API ferry_status ferry_view_transpose(const ferry_view *view, const int *axes, ferry_view *out);
/* numpy.broadcast_to; stretched axes get stride 0 and the result is read-only when any element repeats. FERRY_SHAPE. */
FERRY_API ferry_status ferry_view_broadcast(const ferry_view *view, int ndim, const int64_t *shape, ferry_view *out);
/* numpy.broadcast_shapes over n views. shape holds FERRY_MAX_DIMS. FERRY_SHAPE names the shapes. */
FERRY_API ferry_status ferry_broadcast_shapes(const ferry_view *const *views, int n, int *ndim, int64_t *shape);

/* Whether two views may share a byte: never false when they do; exact up to a bounded search (numpy.shares_memory with
 * max_work). */
FERRY_API bool ferry_view_overlap(const ferry_view *a, const ferry_view *b);
/* Whether two elements of the one view may share a byte. */
FERRY_API bool ferry_view_self_overlap(const ferry_view *view);

/* A new C-contiguous array of undefined contents in `heap` (NULL: default). FERRY_LIMIT, FERRY_SHAPE,
 * FERRY_INVALID_ARGUMENT. Release it. */
FERRY_API ferry_status ferry_array_create(ferry_heap *heap, ferry_dtype dtype, int ndim, const int64_t *shape,
                                          ferry_array *out);
/* The same, elements zero. */
FERRY_API ferry_status ferry_array_zeros(ferry_heap *heap, ferry_dtype dtype, int ndim, const int64_t *shape,
                                         ferry_array *out);
/* Wraps memory of somebody else's; `release(context)` runs when the last reference goes (NULL: nothing to do). */
FERRY_API ferry_status ferry_array_wrap(const ferry_view *view, void (*release)(void *), void *context,
                                        ferry_array *out);
/* A second reference, to the same memory, seen through `view` (NULL: the array's own). */
FERRY_API ferry_status ferry_array_share(const ferry_array *array, const ferry_view *view, ferry_array *out);
/* Drops the reference and clears *array. NULL, a cleared array and a second release are no-ops. */
FERRY_API void ferry_array_release(ferry_array *array);

/*
 * dst[...] = src on the host, now: src broadcasts to dst's shape and casts by the same-kind rule, as if src were copied
 * first when they overlap. Waits for kernels that use either and acquires both for the host. FERRY_SHAPE, FERRY_CAST,
 * FERRY_INVALID_ARGUMENT (read-only), FERRY_OUT_OF_MEMORY; dst is unchanged on every error but FERRY_BACKEND.
 * ferry_assign (ferry/apply.h) is the same in stream order, on the device where the data is.
 */
FERRY_API ferry_status ferry_assign_host(const ferry_view *dst, const ferry_view *src);
/* As ferry_assign_host, but with the given casting rule. */
FERRY_API ferry_status ferry_assign_host_casting(const ferry_view *dst, const ferry_view *src, ferry_casting rule);

/*
 * Prints the view as NumPy's str() would (precision 8, threshold 1000, three edge items, 75 columns) into `text` of
 * `bytes` bytes, always terminated; returns the length that the whole text has, as snprintf does. Acquires the elements
 * that it shows for reading on the host. Negative on error, with the detail set.
 */
FERRY_API int64_t ferry_view_format(const ferry_view *view, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
