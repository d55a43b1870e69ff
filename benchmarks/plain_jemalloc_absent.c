#include "plain_jemalloc.h"

const char *plain_jemalloc_open(void) {
    return "it is built with the preload library, which this build has not";
}

void plain_jemalloc_close(void) {}

void *plain_jemalloc_take(size_t bytes) {
    (void)bytes;
    return NULL;
}

void plain_jemalloc_give(void *block) {
    (void)block;
}
