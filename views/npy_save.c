/* Writing .npy files: what numpy.save writes, to the byte. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ferry/movement.h"
#include "ferry/site.h"
#include "npy.h"
#include "npy_replace.h"

#define PIECE_BYTES ((size_t)16 << 20)
#define GATHER_BYTES ((size_t)1 << 20) /* strided elements are gathered here before they are written */
#define HEADER_ALIGNMENT 64
#define GROWTH_DIGITS 21 /* NumPy leaves room for the appended axis to grow to this many characters */

typedef struct writer {
    const char *path;
    int fd;
    int64_t done_bytes, total_bytes;
    ferry_progress_function progress;
    void *context;
} writer;

static int shape_format(const ferry_view *view, char *text, size_t bytes) {
    size_t at = (size_t)snprintf(text, bytes, "(");
    for (int i = 0; i < view->ndim; i++)
        at += (size_t)snprintf(text + at, bytes - at, i == 0 ? "%lld" : ", %lld", (long long)view->shape[i]);
    return (int)at + snprintf(text + at, bytes - at, view->ndim == 1 ? ",)" : ")");
}

static char order_mark(ferry_dtype dtype) {
    if (ferry_dtype_size(dtype) == 1)
        return '|';
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
}

/* Spaces for the axis along which rows are appended: the last in Fortran order, else the first. */
static int growth_spaces(const ferry_view *view, bool fortran_order) {
    if (view->ndim == 0)
        return 0;
    int64_t extent = view->shape[fortran_order ? view->ndim - 1 : 0];
    return GROWTH_DIGITS - snprintf(NULL, 0, "%lld", (long long)extent);
}

/* 32 extents of 19 digits and the rest stay well under the limit, so version 1.0 always suffices. */
size_t npy_header_format(const ferry_view *view, bool fortran_order, char *text) {
    const size_t prefix = NPY_MAGIC_BYTES + NPY_VERSION_BYTES + 2;
    char shape[FERRY_MAX_DIMS * 21 + 4];
    shape_format(view, shape, sizeof shape);
    int written = snprintf(text + prefix, NPY_WRITTEN_HEADER_LIMIT - prefix,
                           "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': %s, }%*s", order_mark(view->dtype),
                           ferry_dtype_kind(view->dtype), ferry_dtype_size(view->dtype),
                           fortran_order ? "True" : "False", shape, growth_spaces(view, fortran_order), "");
    size_t end = prefix + (size_t)written;
    size_t total = end + HEADER_ALIGNMENT - (end + 1) % HEADER_ALIGNMENT + 1;
    memset(text + end, ' ', total - end - 1);
    text[total - 1] = '\n';
    memcpy(text, NPY_MAGIC "\x01\x00", NPY_MAGIC_BYTES + NPY_VERSION_BYTES);
    text[prefix - 2] = (char)((total - prefix) & 0xff);
    text[prefix - 1] = (char)((total - prefix) >> 8);
    return total;
}

static ferry_status write_fully(const writer *w, const char *data, size_t bytes) {
    bool touched = false;
    while (bytes > 0) {
        ssize_t put = write(w->fd, data, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EFAULT && !touched) {
            npy_touch(data, bytes);
            touched = true;
            continue;
        }
        if (put < 0)
            return ferry_error(FERRY_IO, "%s: cannot be written: %s", w->path, strerror(errno));
        data += put;
        bytes -= (size_t)put;
    }
    return FERRY_OK;
}

static ferry_status write_data(writer *w, const char *data, size_t bytes) {
    ferry_status status = FERRY_OK;
    while (bytes > 0 && status == FERRY_OK) {
        size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        status = write_fully(w, data, piece);
        w->done_bytes += (int64_t)piece;
        if (status == FERRY_OK && w->progress)
            w->progress(w->context, w->done_bytes, w->total_bytes);
        data += piece;
        bytes -= piece;
    }
    return status;
}

/* Elements on their way from a strided view, in C order, to the file. */
typedef struct gather {
    writer *w;
    ferry_cast_function copy;
    size_t item_bytes;
    char *buffer;
    size_t used_bytes;
} gather;

static ferry_status gather_flush(gather *g) {
    size_t bytes = g->used_bytes;
    g->used_bytes = 0;
    return write_data(g->w, g->buffer, bytes);
}

static ferry_status gather_row(gather *g, const char *data, int64_t n, int64_t stride) {
    ferry_status status = FERRY_OK;
    while (n > 0 && status == FERRY_OK) {
        int64_t room = (int64_t)((GATHER_BYTES - g->used_bytes) / g->item_bytes);
        int64_t count = n < room ? n : room;
        g->copy(g->buffer + g->used_bytes, (int64_t)g->item_bytes, data, stride, count);
        g->used_bytes += (size_t)count * g->item_bytes;
        data += count * stride;
        n -= count;
        if (g->used_bytes == GATHER_BYTES)
            status = gather_flush(g);
    }
    return status;
}

/* Steps the index of the leading `ndim` axes in C order and moves `data` along; false after the last. */
static bool next_row(const ferry_view *view, int ndim, int64_t *index, const char **data) {
    for (int axis = ndim - 1; axis >= 0; axis--) {
        if (++index[axis] < view->shape[axis]) {
            *data += view->strides[axis];
            return true;
        }
        *data -= (view->shape[axis] - 1) * view->strides[axis];
        index[axis] = 0;
    }
    return false;
}

/* Only for views of one element and more, in one dimension and more: others are contiguous. */
static ferry_status write_strided(writer *w, const ferry_view *view) {
    gather g = {
        .w = w, .copy = ferry_dtype_cast(view->dtype, view->dtype), .item_bytes = ferry_dtype_size(view->dtype)};
    g.buffer = malloc(GATHER_BYTES);
    if (!g.buffer)
        return ferry_error(FERRY_OUT_OF_MEMORY, "%s: no memory for a buffer of %zu bytes", w->path, GATHER_BYTES);
    int rows = view->ndim - 1;
    int64_t index[FERRY_MAX_DIMS] = {0};
    const char *data = view->data;
    ferry_status status;
    do
        status = gather_row(&g, data, view->shape[rows], view->strides[rows]);
    while (status == FERRY_OK && next_row(view, rows, index, &data));
    if (status == FERRY_OK)
        status = gather_flush(&g);
    free(g.buffer);
    return status;
}

static ferry_status write_view(writer *w, const ferry_view *view) {
    char header[NPY_WRITTEN_HEADER_LIMIT];
    bool c_order = ferry_view_is_c_contiguous(view);
    bool fortran_order = !c_order && ferry_view_is_f_contiguous(view);
    ferry_status status = write_fully(w, header, npy_header_format(view, fortran_order, header));
    if (status != FERRY_OK || w->total_bytes == 0)
        return status;
    if (c_order || fortran_order)
        return write_data(w, view->data, ferry_view_bytes(view));
    return write_strided(w, view);
}

static ferry_status save(const char *path, const ferry_view *view, ferry_progress_function progress, void *context) {
    ferry_status status = ferry_host_acquire(view, FERRY_READ);
    if (status != FERRY_OK)
        return status;
    replacement r;
    status = replace_begin(path, &r);
    if (status != FERRY_OK)
        return status;
    writer w = {.path = path, .fd = r.fd, .progress = progress, .context = context};
    w.total_bytes = (int64_t)ferry_view_bytes(view);
    status = write_view(&w, view);
    if (status != FERRY_OK) {
        replace_abandon(&r);
        return status;
    }
    return replace_commit(&r);
}

ferry_status ferry_npy_save_progress(const char *path, const ferry_view *view, ferry_progress_function progress,
                                     void *context) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = save(path, view, progress, context);
    ferry_site_set(before);
    return status;
}

ferry_status ferry_npy_save(const char *path, const ferry_view *view) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = save(path, view, NULL, NULL);
    ferry_site_set(before);
    return status;
}
