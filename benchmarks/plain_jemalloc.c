#include "plain_jemalloc.h"

#include <jemalloc/jemalloc.h>

const char *plain_jemalloc_open(void) {
    return NULL;
}

/* MALLCTL_ARENAS_ALL is 4096. */
void plain_jemalloc_close(void) {
    ferry_plain_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    ferry_plain_mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}

void *plain_jemalloc_take(size_t bytes) {
    return ferry_plain_malloc(bytes);
}

void plain_jemalloc_give(void *block) {
    ferry_plain_free(block);
}
