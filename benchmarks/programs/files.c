/* Files of the programs, read and written by several threads at once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

#define PIECE_BYTES ((int64_t)1 << 20)

struct transfer {
    const char *path;
    int file;
    int64_t offset;
    uint8_t *bytes;
    int64_t n;
    bool writes;
};

static int64_t pieces(int64_t bytes) {
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

static void transfer_pieces(void *context, int64_t first, int64_t last) {
    const struct transfer *job = context;
    int64_t end = last * PIECE_BYTES < job->n ? last * PIECE_BYTES : job->n;
    for (int64_t at = first * PIECE_BYTES; at < end;) {
        ssize_t done = job->writes ? pwrite(job->file, job->bytes + at, (size_t)(end - at), job->offset + at)
                                   : pread(job->file, job->bytes + at, (size_t)(end - at), job->offset + at);
        if (done == 0)
            fail("%s is shorter than it was", job->path);
        if (done < 0 && errno != EINTR)
            fail("%s: %s", job->path, strerror(errno));
        at += done > 0 ? done : 0;
    }
}

static int open_file(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC, 0666);
    if (file < 0)
        fail("%s: %s", path, strerror(errno));
    return file;
}

int64_t file_bytes(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0)
        fail("%s: %s", path, strerror(errno));
    return found.st_size;
}

void file_read(const char *path, int64_t offset, void *to, size_t bytes) {
    struct transfer job = {path, open_file(path, O_RDONLY), offset, to, (int64_t)bytes, false};
    in_parallel(pieces(job.n), transfer_pieces, &job);
    close(job.file);
}

void file_write(const char *path, const char *head, const void *from, size_t bytes) {
    /* Only read from: the transfer is one for both directions. */
    struct transfer job = {path,
                           open_file(path, O_WRONLY | O_CREAT | O_TRUNC),
                           (int64_t)strlen(head),
                           (uint8_t *)(uintptr_t)from,
                           (int64_t)bytes,
                           true};
    if (pwrite(job.file, head, strlen(head), 0) != (ssize_t)strlen(head))
        fail("%s: %s", path, strerror(errno));
    in_parallel(pieces(job.n), transfer_pieces, &job);
    if (close(job.file) != 0)
        fail("%s: %s", path, strerror(errno));
}

struct picture picture_open(const char *path) {
    FILE *file = fopen(path, "rb");
    char kind = 0;
    int width = 0, height = 0, most = 0;
    if (file == NULL)
        fail("%s: %s", path, strerror(errno));
    int found = fscanf(file, "P%c %d %d %d", &kind, &width, &height, &most);
    bool right = found == 4 && (kind == '5' || kind == '6') && width > 0 && height > 0 && width < 1 << 20 &&
                 height < 1 << 20 && (most == 255 || (most == 65535 && kind == '5')) && fgetc(file) == '\n';
    struct picture picture = {width, height, kind == '6' ? 3 : 1, most > 255 ? 2 : 1, ftell(file)};
    fclose(file);
    if (!right ||
        file_bytes(path) - picture.offset != (int64_t)width * height * picture.channels * picture.bytes_per_value)
        fail("%s is neither a PGM nor a PPM file, or has comments, or is not whole", path);
    return picture;
}

void picture_write(const char *path, int width, int height, int channels, const uint8_t *values) {
    char head[64];
    snprintf(head, sizeof head, "P%c\n%d %d\n255\n", channels == 3 ? '6' : '5', width, height);
    file_write(path, head, values, (size_t)width * (size_t)height * (size_t)channels);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_so(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcmp(name + length - end, ending) == 0;
}

char **folder_list(const char *folder, const char *ending) {
    DIR *open = opendir(folder);
    char **names = calloc(1, sizeof *names);
    size_t n = 0;
    if (open == NULL)
        fail("%s: %s", folder, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (!ends_so(entry->d_name, ending))
            continue;
        names = realloc(names, (n + 2) * sizeof *names);
        if (names == NULL || (names[n++] = strdup(entry->d_name)) == NULL)
            fail("no memory for the names in %s", folder);
        names[n] = NULL;
    }
    closedir(open);
    if (n > 0)
        qsort(names, n, sizeof *names, by_name);
    return names;
}
