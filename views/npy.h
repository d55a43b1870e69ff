/* What the reader, the writer and the tests of .npy files share. */
#ifndef FERRY_VIEWS_NPY_H
#define FERRY_VIEWS_NPY_H

#include "ferry/npy.h"

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_VERSION_BYTES 2

/* Longer headers do not occur: 32 extents of 20 digits take under 1 KiB. Bounds what a hostile file makes us allocate.
 */
#define NPY_HEADER_LIMIT ((size_t)1 << 20)

/* A header that ferry writes: prefix, dict and padding, a multiple of 64 bytes. */
#define NPY_WRITTEN_HEADER_LIMIT 1024

/*
 * Parses the text between the header's length and the data: a Python dict literal with the keys descr, fortran_order
 * and shape, then spaces. Fills everything but data_offset. FERRY_FORMAT, FERRY_DTYPE, FERRY_SHAPE, with details that
 * begin with `path`.
 */
ferry_status npy_header_parse(const char *path, const char *text, size_t length, ferry_npy_info *out);

/* NumPy's dtype.str ('<f8') to a dtype and whether its byte order is foreign. */
ferry_status npy_descr_parse(const char *path, const char *descr, ferry_dtype *dtype, bool *swapped);

/*
 * Reads magic, version and header from `fd`, which is left at the first byte of data. `file_bytes` is the file's
 * length, or -1 where there is none (a pipe).
 */
ferry_status npy_header_read(const char *path, int fd, int64_t file_bytes, ferry_npy_info *out);

/* An open file, behind its header. */
typedef struct npy_source {
    const char *path;
    int fd;
    bool stream; /* can only be read on from where it is, and has no length */
    ferry_npy_info info;
    ferry_progress_function progress; /* may be NULL */
    void *context;
} npy_source;

/* Fills `data`, info.data_bytes of it, in this machine's byte order; calls progress from this thread only. */
ferry_status npy_data_read(const npy_source *source, char *data);

/* Reads until `bytes` are there or the file ends, from `offset` (-1: where the descriptor is); -1 with errno on
 * failure. */
int64_t npy_read_fully(int fd, void *data, size_t bytes, int64_t offset);

/*
 * Touches each page, as a program would. The simulator may guard pages that are on a device, and a system call that
 * meets one fails with EFAULT where a driver would bring it home: touch, and call again.
 */
void npy_touch(const void *data, size_t bytes);

/* Sets the detail for a read that failed with errno `reason`. */
ferry_status npy_read_failed(const char *path, int reason);

/* Writes the header that numpy.save would, version 1.0, into NPY_WRITTEN_HEADER_LIMIT bytes; returns its length. */
size_t npy_header_format(const ferry_view *view, bool fortran_order, char *text);

/* Reverses the bytes of each number: `count` numbers of 2, 4 or 8 bytes. */
void npy_swap(void *data, size_t number_bytes, size_t count);

/* Bytes of one number: half an element for complex dtypes. */
size_t npy_number_bytes(ferry_dtype dtype);

#endif
