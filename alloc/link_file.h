/* Link costs on disk: a small text file in the cache folder (ferry/cache.h) for each identity. */
#ifndef FERRY_ALLOC_LINK_FILE_H
#define FERRY_ALLOC_LINK_FILE_H

#include <stdbool.h>

#include "ferry/link.h"

#define LINK_IDENTITY_BYTES 512

/* False where there is no file, or one that is not whole, of another identity, or of costs that cannot be. */
bool link_file_load(const char *identity, ferry_link_costs *out);

/* Written beside its place and renamed: a reader sees all or nothing, whoever else writes. FERRY_IO, or why there is no
 * cache folder. */
ferry_status link_file_store(const char *identity, const ferry_link_costs *costs);

/* The file of an identity. */
ferry_status link_file_path(const char *identity, char *path, size_t bytes);

#endif
