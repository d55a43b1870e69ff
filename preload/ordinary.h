/*
 * The ordinary heap: a jemalloc with its own defaults and its thread caches in static TLS, and in it an arena for large
 * blocks.
 */
#ifndef FERRY_PRELOAD_ORDINARY_H
#define FERRY_PRELOAD_ORDINARY_H

#include <jemalloc/jemalloc.h>
#include <stdbool.h>

#include "ferry/run.h"

/* From here on a block is a page-aligned extent of its own. */
#define ORDINARY_EXTENT_BYTES ((size_t)16 << 10)

/* Flags for ferry_plain_mallocx: the arena for large blocks where it is an extent, and the alignment (0: any). */
int ordinary_flags(size_t bytes, size_t alignment);

/* NULL with errno set. */
void *ordinary_allocate(size_t bytes, size_t alignment, bool zeros);

/* What is in the arenas other than that for large blocks, and has been. */
void ordinary_count(ferry_run_heap *out);

#endif
