/* Measured times on disk, beside the compiled kernels. */
#ifndef FERRY_KERNELS_PAYS_FILE_H
#define FERRY_KERNELS_PAYS_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* What was stored of the same machine under the same name and of the same size; false where there is nothing whole. */
bool pays_file_load(const char *identity, const char *name, void *value, size_t bytes);

/* Failure is no error: the next process measures again. */
void pays_file_store(const char *identity, const char *name, void *value, size_t bytes);

#endif
