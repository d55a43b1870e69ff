/* How much memory blocks take. */
#ifndef FERRY_BENCHMARKS_FOOTPRINT_H
#define FERRY_BENCHMARKS_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of this process in anonymous memory that are there: blocks of ordinary memory, and whatever an allocator keeps
 * its records in. Exact, unlike the counters that the kernel keeps per thread. SIZE_MAX where the system does not say.
 */
size_t footprint_anonymous(void);

/* A set of pages, of 4 KiB, in at most 8192 different chunks of 2 MiB. */
struct footprint_pages;
struct footprint_pages *footprint_pages_create(void);
void footprint_pages_destroy(struct footprint_pages *pages); /* NULL is a no-op */

/* Adds the pages that hold the block; false when there is no room. */
bool footprint_pages_add(struct footprint_pages *pages, const void *block, size_t bytes);
size_t footprint_pages_bytes(const struct footprint_pages *pages);

#endif
