/* Compiled code on disk, and other bytes that are dear to make, in kernels/ of the cache folder (ferry/cache.h). */
#ifndef FERRY_KERNELS_CODE_CACHE_H
#define FERRY_KERNELS_CODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "nvrtc_program.h"

/* 128 bits of a hash: two keys that differ by accident never meet. */
typedef struct code_key {
    uint64_t half[2];
} code_key;

/* Of the description and the source together. */
code_key code_key_make(const char *description, const char *source);

/* False where there is no file, or one that is not whole and of this key; such a file is as good as none. */
bool code_cache_load(code_key key, code_image *out);

/* Written beside its place and renamed: a reader sees all or nothing, whoever else writes. Failure is no error: the
 * next process compiles again. */
void code_cache_store(code_key key, const code_image *image);

/* The file of a key; false where there is no cache folder. */
bool code_cache_path(code_key key, char *path, size_t bytes);

#endif
