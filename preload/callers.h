/* Who may not have managed memory: blocks for them come from the ordinary heap, whatever their size. */
#ifndef FERRY_PRELOAD_CALLERS_H
#define FERRY_PRELOAD_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

/* From the constructor: sees to forks. */
void callers_begin(void);

/*
 * This library, whose own allocations must not come back to it; CUDA's libraries, which allocate while they hold locks
 * that an allocation of managed memory would wait for; the C library and the loader, which may allocate on behalf of
 * any of these.
 */
bool callers_refuse(const void *caller);

/* Whether CUDA's driver or runtime is loaded, or linked into something that is. Looked for again when objects have been
 * loaded since the last time. */
bool callers_have_cuda(void);

/* The path of the first loaded library whose file's name begins with the prefix: wheels give CUDA's runtime names like
 * libcudart-1234abcd.so.12. false: there is none, or it does not fit. */
bool callers_find_library(const char *prefix, char *path, size_t bytes);

#endif
