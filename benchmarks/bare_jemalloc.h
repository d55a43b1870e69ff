/* One arena of the jemalloc that the library is built with, and nothing of the library's: what its heaps are held
 * against. */
#ifndef FERRY_BENCHMARKS_BARE_JEMALLOC_H
#define FERRY_BENCHMARKS_BARE_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* The same build, the same decay (never), an explicit cache per thread, and extents that are bumped off one mapping of
 * 8 GiB, of which only what is touched takes memory. One arena at a time. */
bool bare_jemalloc_open(void);
/* All blocks have been given back, and all threads but the caller have left. */
void bare_jemalloc_close(void);

void *bare_jemalloc_take(size_t bytes);
void bare_jemalloc_give(void *block);

/* The calling thread will not come back. */
void bare_jemalloc_leave(void);

#endif
