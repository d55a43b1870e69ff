/* Assignments of large arrays, by several threads. */
#ifndef FERRY_PYTHON_ARRAY_COPY_H
#define FERRY_PYTHON_ARRAY_COPY_H

#include "module.h"

/*
 * to[...] = from, broadcast and cast as NumPy would, where ferry is quicker at it and the result is the same: for a
 * megabyte and more of types that cast safely. 1: done; 0: nothing has been touched, and NumPy should; -1 with an
 * exception set.
 */
int copy_into(PyArrayObject *to, PyArrayObject *from);

#endif
