/* Kernels by key, made when first asked for. One table for the process. */
#ifndef FERRY_KERNELS_KERNEL_TABLE_H
#define FERRY_KERNELS_KERNEL_TABLE_H

#include "ferry/kernel.h"

typedef ferry_status (*kernel_maker)(const void *context, ferry_kernel **out);

/*
 * The key's kernel, which lives as long as the process. The first caller makes it, without a lock held; others who ask
 * meanwhile wait. When it fails, it fails with the maker's status, and one of those who waited tries again.
 * Thread-safe.
 */
ferry_status kernel_table_get(uint64_t key, kernel_maker make, const void *context, ferry_kernel **out);

#endif
