/* NumPy's data in ferry memory. */
#ifndef FERRY_PYTHON_ALLOCATOR_H
#define FERRY_PYTHON_ALLOCATOR_H

#include "module.h"

/* Keeps the functions of NumPy's default handler, once, before any thread can exchange them. -1 with an exception set.
 */
int allocator_start(void);

/*
 * The site of the block at `data` if it was the calling thread's latest allocation and nobody has asked since, else 0:
 * a loop runs without the interpreter, but its result has just been allocated.
 */
ferry_site allocator_take_site(const void *data);

/* Blocks of the threshold and more are born in ferry memory, in the current context. Returns the handler before, a new
 * reference for allocator_leave, or NULL with an exception set. */
PyObject *allocator_use(size_t threshold_bytes);
/* Keeps a pending exception. */
void allocator_leave(PyObject *before);

#endif
