/* NumPy's .npy files, format versions 1.0, 2.0 and 3.0. */
#ifndef FERRY_NPY_H
#define FERRY_NPY_H

#include "ferry/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a header says, checked against the file's length. */
typedef struct ferry_npy_info {
    ferry_dtype dtype;
    bool swapped; /* the file's byte order is not this machine's */
    bool fortran_order;
    int ndim;
    int64_t shape[FERRY_MAX_DIMS];
    int64_t data_offset; /* in bytes from the start of the file */
    int64_t data_bytes;
} ferry_npy_info;

/* Called after each piece read or written; `context` is the caller's. */
typedef void (*ferry_progress_function)(void *context, int64_t done_bytes, int64_t total_bytes);

/* Reads the header only. FERRY_IO (cannot open or read), FERRY_FORMAT (not a .npy, truncated), FERRY_DTYPE (object,
 * structured, …), FERRY_SHAPE (overflow). Details name the file. */
FERRY_API ferry_status ferry_npy_info_read(const char *path, ferry_npy_info *out);

/*
 * Reads a file straight into managed memory of `heap` (NULL: default); a foreign byte order is swapped in place.
 * Fortran order gives Fortran strides. Errors as above and FERRY_LIMIT; nothing is left allocated.
 */
FERRY_API ferry_status ferry_npy_load(ferry_heap *heap, const char *path, ferry_array *out);
FERRY_API ferry_status ferry_npy_load_progress(ferry_heap *heap, const char *path, ferry_progress_function progress,
                                               void *context, ferry_array *out);

/*
 * Writes any view in native byte order: version 1.0 (2.0 when the header needs it), Fortran order when the view is
 * Fortran- and not C-contiguous. Acquires the view for reading on the host. The file appears whole under its name or
 * not at all: it is written beside it and renamed. A path that is not a regular file is written directly, and so is one
 * that stands for a descriptor, such as /dev/stdout: from where the descriptor is. FERRY_IO.
 */
FERRY_API ferry_status ferry_npy_save(const char *path, const ferry_view *view);
FERRY_API ferry_status ferry_npy_save_progress(const char *path, const ferry_view *view,
                                               ferry_progress_function progress, void *context);

#ifdef __cplusplus
}
#endif
#endif
