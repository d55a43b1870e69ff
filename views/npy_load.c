/* Reading .npy files straight into managed memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/movement.h"
#include "ferry/site.h"
#include "npy.h"

/* As npy_read_fully, but a file that ends early is an error. */
static ferry_status read_header_part(const char *path, int fd, void *data, size_t bytes) {
    int64_t got = npy_read_fully(fd, data, bytes, -1);
    if (got < 0)
        return npy_read_failed(path, errno);
    if ((size_t)got < bytes)
        return ferry_error(FERRY_FORMAT, "%s: the file ends inside the header", path);
    return FERRY_OK;
}

static ferry_status not_npy(const char *path, const unsigned char *magic, size_t bytes) {
    if (bytes == 0)
        return ferry_error(FERRY_FORMAT, "%s: not a .npy file: it is empty", path);
    if (bytes >= 4 && memcmp(magic, "PK\3\4", 4) == 0)
        return ferry_error(FERRY_FORMAT, "%s: not a .npy file but a .npz (zip) archive of them: unpack it first", path);
    return ferry_error(FERRY_FORMAT, "%s: not a .npy file", path);
}

static ferry_status read_magic(const char *path, int fd, unsigned char *version) {
    unsigned char magic[NPY_MAGIC_BYTES];
    int64_t got = npy_read_fully(fd, magic, sizeof magic, -1);
    if (got < 0)
        return npy_read_failed(path, errno);
    if (got < NPY_MAGIC_BYTES || memcmp(magic, NPY_MAGIC, NPY_MAGIC_BYTES) != 0)
        return not_npy(path, magic, (size_t)got);
    ferry_status status = read_header_part(path, fd, version, NPY_VERSION_BYTES);
    if (status == FERRY_OK && (version[0] < 1 || version[0] > 3 || version[1] != 0))
        return ferry_error(FERRY_FORMAT, "%s: version %d.%d of the .npy format is not known (1.0, 2.0 and 3.0 are)",
                           path, version[0], version[1]);
    return status;
}

/* Two bytes in version 1.0, four since, least significant first. */
static ferry_status read_length(const char *path, int fd, int major, size_t *prefix_bytes, size_t *length) {
    unsigned char bytes[4] = {0};
    size_t n = major == 1 ? 2 : 4;
    ferry_status status = read_header_part(path, fd, bytes, n);
    if (status != FERRY_OK)
        return status;
    *prefix_bytes = NPY_MAGIC_BYTES + NPY_VERSION_BYTES + n;
    *length = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    return FERRY_OK;
}

static ferry_status check_length(const char *path, size_t prefix_bytes, size_t length, int64_t file_bytes) {
    if (file_bytes >= 0 && prefix_bytes + length > (size_t)file_bytes)
        return ferry_error(FERRY_FORMAT, "%s: the file ends inside the header: %zu bytes promised, %zu there", path,
                           length, (size_t)file_bytes - prefix_bytes);
    if (length > NPY_HEADER_LIMIT)
        return ferry_error(FERRY_FORMAT, "%s: the header is %zu bytes long, more than the %zu that are accepted", path,
                           length, NPY_HEADER_LIMIT);
    return FERRY_OK;
}

static ferry_status read_text(const char *path, int fd, size_t length, ferry_npy_info *out) {
    char *text = malloc(length + 1);
    if (!text)
        return ferry_error(FERRY_OUT_OF_MEMORY, "%s: no memory for a header of %zu bytes", path, length);
    ferry_status status = read_header_part(path, fd, text, length);
    if (status == FERRY_OK)
        status = npy_header_parse(path, text, length, out);
    free(text);
    return status;
}

static ferry_status check_data(const char *path, const ferry_npy_info *info, int64_t file_bytes) {
    if (file_bytes < 0 || info->data_bytes <= file_bytes - info->data_offset)
        return FERRY_OK;
    return ferry_error(FERRY_FORMAT, "%s: the data is truncated: the header promises %lld bytes, the file holds %lld",
                       path, (long long)info->data_bytes, (long long)(file_bytes - info->data_offset));
}

ferry_status npy_header_read(const char *path, int fd, int64_t file_bytes, ferry_npy_info *out) {
    unsigned char version[NPY_VERSION_BYTES];
    size_t prefix_bytes = 0, length = 0;
    ferry_npy_info info;
    ferry_status status = read_magic(path, fd, version);
    if (status == FERRY_OK)
        status = read_length(path, fd, version[0], &prefix_bytes, &length);
    if (status == FERRY_OK)
        status = check_length(path, prefix_bytes, length, file_bytes);
    if (status == FERRY_OK)
        status = read_text(path, fd, length, &info);
    if (status != FERRY_OK)
        return status;
    info.data_offset = (int64_t)(prefix_bytes + length);
    status = check_data(path, &info, file_bytes);
    if (status == FERRY_OK)
        *out = info;
    return status;
}

static ferry_status open_file(npy_source *source, int64_t *file_bytes) {
    struct stat st;
    int fd = open(source->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ferry_error(FERRY_IO, "%s: cannot be opened: %s", source->path, strerror(errno));
    if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
        int reason = S_ISDIR(st.st_mode) ? EISDIR : errno;
        close(fd);
        return ferry_error(FERRY_IO, "%s: cannot be read: %s", source->path, strerror(reason));
    }
    source->fd = fd;
    source->stream = !S_ISREG(st.st_mode);
    *file_bytes = source->stream ? -1 : (int64_t)st.st_size;
    return FERRY_OK;
}

static ferry_status open_npy(npy_source *source) {
    int64_t file_bytes = -1;
    ferry_status status = open_file(source, &file_bytes);
    if (status != FERRY_OK)
        return status;
    status = npy_header_read(source->path, source->fd, file_bytes, &source->info);
    if (status != FERRY_OK)
        close(source->fd);
    return status;
}

ferry_status ferry_npy_info_read(const char *path, ferry_npy_info *out) {
    npy_source source = {.path = path};
    ferry_status status = open_npy(&source);
    if (status != FERRY_OK)
        return status;
    close(source.fd);
    *out = source.info;
    return FERRY_OK;
}

/* Names the file in the detail of an error that did not know it. */
static ferry_status in_file(const char *path, ferry_status status) {
    return ferry_error(status, "%s: %s", path, ferry_error_detail());
}

/*
 * The data of a pipe cannot be checked beforehand: there the heap's limit bounds what a header may ask for, and pages
 * are touched only as bytes arrive.
 */
static ferry_status create_array(ferry_heap *heap, const char *path, const ferry_npy_info *info, ferry_array *out) {
    int64_t shape[FERRY_MAX_DIMS];
    for (int i = 0; i < info->ndim; i++)
        shape[i] = info->shape[info->fortran_order ? info->ndim - 1 - i : i];
    ferry_status status = ferry_array_create(heap, info->dtype, info->ndim, shape, out);
    if (status != FERRY_OK)
        return in_file(path, status);
    if (!info->fortran_order)
        return FERRY_OK;
    ferry_view reversed = out->view;
    return ferry_view_transpose(&reversed, NULL, &out->view);
}

static ferry_status fill(const npy_source *source, ferry_array *array) {
    ferry_status status = ferry_host_acquire(&array->view, FERRY_WRITE);
    return status == FERRY_OK ? npy_data_read(source, array->view.data) : in_file(source->path, status);
}

static ferry_status load(ferry_heap *heap, const char *path, ferry_progress_function progress, void *context,
                         ferry_array *out) {
    npy_source source = {.path = path, .progress = progress, .context = context};
    ferry_status status = open_npy(&source);
    if (status != FERRY_OK)
        return status;
    ferry_array array = {.owner = NULL};
    status = create_array(heap, path, &source.info, &array);
    if (status == FERRY_OK)
        status = fill(&source, &array);
    if (status == FERRY_OK)
        *out = array;
    else
        ferry_array_release(&array);
    close(source.fd);
    return status;
}

ferry_status ferry_npy_load_progress(ferry_heap *heap, const char *path, ferry_progress_function progress,
                                     void *context, ferry_array *out) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = load(heap, path, progress, context, out);
    ferry_site_set(before);
    return status;
}

ferry_status ferry_npy_load(ferry_heap *heap, const char *path, ferry_array *out) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = load(heap, path, NULL, NULL, out);
    ferry_site_set(before);
    return status;
}
