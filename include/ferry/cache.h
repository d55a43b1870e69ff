/* Where the library keeps on disk what it need not make twice: compiled kernels, the costs of links. */
#ifndef FERRY_CACHE_H
#define FERRY_CACHE_H

#include "ferry/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes the folder's path: $FERRY_CACHE, else $XDG_CACHE_HOME/ferry, else ~/.cache/ferry. It is made if need be, for
 * its owner alone. Whatever lies in it may be deleted at any time. Does not start the library. Thread-safe.
 * FERRY_NOT_FOUND when no variable names one; FERRY_INVALID_ARGUMENT when `bytes`, with the terminating zero, are too
 * few; FERRY_IO when it cannot be made.
 */
FERRY_API ferry_status ferry_cache_folder(char *path, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
