/* jemalloc as it comes: default options, threads' caches in static TLS, as distributions build it. */
#ifndef FERRY_BENCHMARKS_PLAIN_JEMALLOC_H
#define FERRY_BENCHMARKS_PLAIN_JEMALLOC_H

#include <stddef.h>

/* NULL, or why it is not there. The other functions are then not called. */
const char *plain_jemalloc_open(void);
/* Gives back what all its arenas keep. */
void plain_jemalloc_close(void);

void *plain_jemalloc_take(size_t bytes);
void plain_jemalloc_give(void *block);

#endif
