/* malloc and free. */
#ifndef FERRY_PRELOAD_FAST_H
#define FERRY_PRELOAD_FAST_H

#include <stddef.h>

/* From the constructor: blocks of so many bytes and more are large. Until then none is. */
void fast_configure(size_t threshold_bytes);

#endif
