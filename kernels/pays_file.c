#include "pays_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_cache.h"

static code_key key_of(const char *identity, const char *name) {
    char source[128];
    snprintf(source, sizeof source, "ferry pays 1 %s", name);
    return code_key_make(identity, source);
}

bool pays_file_load(const char *identity, const char *name, void *value, size_t bytes) {
    code_image image = {NULL, 0};
    if (!code_cache_load(key_of(identity, name), &image))
        return false;
    const bool fits = image.bytes == bytes;
    if (fits)
        memcpy(value, image.data, bytes);
    free(image.data);
    return fits;
}

void pays_file_store(const char *identity, const char *name, void *value, size_t bytes) {
    code_cache_store(key_of(identity, name), &(code_image){value, bytes});
}
