#include "code_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/cache.h"

#define FOLDER "/kernels"
#define PATH_BYTES 4096
#define IMAGE_BYTES ((uint64_t)256 << 20) /* more is no image of ours */

/* What a file begins with; the image follows and ends it. */
typedef struct header {
    char magic[8];
    code_key key, check; /* check: the image's hash */
    uint64_t image_bytes;
} header;

static const char magic[8] = {'F', 'E', 'R', 'R', 'Y', 'K', '0', '1'};

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Two unlike multiplicative hashes over the bytes, mixed at the end. */
static code_key hash(code_key seed, const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t low = seed.half[0] ^ UINT64_C(0xcbf29ce484222325), high = seed.half[1] + UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < bytes; i++) {
        low = (low ^ at[i]) * UINT64_C(0x100000001b3);
        high = (high + at[i]) * UINT64_C(0xff51afd7ed558ccd);
        high ^= high >> 29;
    }
    return (code_key){{mix(low + bytes), mix(high ^ low)}};
}

code_key code_key_make(const char *description, const char *source) {
    code_key key = hash((code_key){{0, 0}}, description, strlen(description));
    return hash(key, source, strlen(source));
}

static bool same_key(code_key a, code_key b) {
    return a.half[0] == b.half[0] && a.half[1] == b.half[1];
}

bool code_cache_path(code_key key, char *path, size_t bytes) {
    if (ferry_cache_folder(path, bytes) != FERRY_OK)
        return false;
    size_t used = strlen(path);
    int n = snprintf(path + used, bytes - used, FOLDER "/%016" PRIx64 "%016" PRIx64 ".bin", key.half[0], key.half[1]);
    return n >= 0 && (size_t)n < bytes - used;
}

static bool read_all(int file, void *data, size_t bytes) {
    char *at = data;
    while (bytes > 0) {
        ssize_t n = read(file, at, bytes);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_all(int file, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(file, at, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The header, when it is ours and the file is as long as it says. */
static bool read_header(int file, code_key key, header *h) {
    struct stat state;
    return read_all(file, h, sizeof *h) && memcmp(h->magic, magic, sizeof magic) == 0 && same_key(h->key, key) &&
           h->image_bytes > 0 && h->image_bytes <= IMAGE_BYTES && fstat(file, &state) == 0 &&
           (uint64_t)state.st_size == sizeof *h + h->image_bytes;
}

static bool read_image(int file, const header *h, code_image *out) {
    void *data = malloc(h->image_bytes);
    if (data == NULL)
        return false;
    if (!read_all(file, data, h->image_bytes) || !same_key(hash(h->key, data, h->image_bytes), h->check)) {
        free(data);
        return false;
    }
    *out = (code_image){data, h->image_bytes};
    return true;
}

bool code_cache_load(code_key key, code_image *out) {
    char path[PATH_BYTES];
    header h;
    if (!code_cache_path(key, path, sizeof path))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool found = read_header(file, key, &h) && read_image(file, &h, out);
    close(file);
    return found;
}

/* The kernels' part of the cache folder; whether it could be made shows when the file is opened. */
static void make_folder(char *path) {
    char *name = strrchr(path, '/');
    *name = '\0';
    mkdir(path, 0700);
    *name = '/';
}

static bool write_file(const char *path, code_key key, const code_image *image) {
    header h = {.key = key, .check = hash(key, image->data, image->bytes), .image_bytes = image->bytes};
    memcpy(h.magic, magic, sizeof magic);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write_all(file, &h, sizeof h) && write_all(file, image->data, image->bytes);
    return close(file) == 0 && written;
}

void code_cache_store(code_key key, const code_image *image) {
    static atomic_uint counter;
    char path[PATH_BYTES], scratch[PATH_BYTES];
    if (!code_cache_path(key, path, sizeof path))
        return;
    int n = snprintf(scratch, sizeof scratch, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&counter, 1));
    if (n < 0 || (size_t)n >= sizeof scratch)
        return;
    make_folder(path);
    if (!write_file(scratch, key, image) || rename(scratch, path) != 0)
        unlink(scratch);
}
