/* NumPy's arrays as views. */
#ifndef FERRY_PYTHON_ARRAYS_H
#define FERRY_PYTHON_ARRAYS_H

#include "module.h"

/* NumPy's type number ("l" and "q" are both int64 where long has 64 bits). false for types that ferry has not. */
bool dtype_of_number(int number, ferry_dtype *out);

/* A borrowed view of the array. -1, with TypeError or ValueError set, where ferry has no such view. */
int view_of_array(PyArrayObject *array, ferry_view *out);

#endif
