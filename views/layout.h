/* What the files of this folder share about shapes and strides. */
#ifndef FERRY_VIEWS_LAYOUT_H
#define FERRY_VIEWS_LAYOUT_H

#include "ferry/view.h"

/* Room for FERRY_MAX_DIMS numbers of 64 bits as a tuple. */
#define LAYOUT_TEXT_BYTES (FERRY_MAX_DIMS * 22 + 3)

/* Writes the numbers as Python prints a tuple, "(2, 3)", for error details; returns `text`. */
const char *layout_text(int n, const int64_t *numbers, char text[LAYOUT_TEXT_BYTES]);

/*
 * FERRY_INVALID_ARGUMENT for an ndim out of range or no dtype, FERRY_SHAPE for a negative extent and when the product
 * of the extents that are not 0 and the item size overflows int64 (so that strides of an empty view cannot overflow
 * either).
 */
ferry_status layout_check(ferry_dtype dtype, int ndim, const int64_t *shape);

/* C-contiguous strides in bytes of a checked shape; an extent of 0 counts as 1, as in NumPy. */
void layout_c_strides(ferry_dtype dtype, int ndim, const int64_t *shape, int64_t *strides);

/* data + bytes for any sign, also where the sum is never dereferenced. */
static inline void *layout_advance(const void *data, int64_t bytes) {
    return (void *)((uintptr_t)data + (uintptr_t)bytes);
}

#endif
