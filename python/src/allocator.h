/* NumPy's data in ferry memory. */
#ifndef FERRY_PYTHON_ALLOCATOR_H
#define FERRY_PYTHON_ALLOCATOR_H

#include "ferry/ferry.h"

/*
 * The site of the block at `data` if it was the calling thread's latest allocation and nobody has asked since, else 0:
 * a loop runs without the interpreter, but its result has just been allocated.
 */
ferry_site allocator_take_site(const void *data);

#endif
