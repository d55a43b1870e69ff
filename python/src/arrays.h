/* NumPy's arrays as views. */
#ifndef FERRY_PYTHON_ARRAYS_H
#define FERRY_PYTHON_ARRAYS_H

#include "module.h"

/* NumPy's type number ("l" and "q" are both int64 where long has 64 bits). false for types that ferry has not. */
bool dtype_of_number(int number, ferry_dtype *out);

/* NumPy's type number of a dtype. */
int number_of_dtype(ferry_dtype dtype);

/* A borrowed view of the array. false, without an exception, where ferry has no such view. */
bool find_view(PyArrayObject *array, ferry_view *out);
/* The same; -1 with TypeError or ValueError set where there is none. */
int view_of_array(PyArrayObject *array, ferry_view *out);
/* The same of any object: TypeError for what is no array. */
int view_of_object(PyObject *object, ferry_view *out);

/* Below it, asking whether an array is at home costs more than faults. */
#define ACQUIRED_BYTES ((npy_intp)64 << 10)

/* Before the host uses the array: waits for kernels, and brings home what a device has of it, in one piece. Nothing for
 * small arrays and for memory that is not ferry's. -1 with an exception set. */
int acquire_for_host(PyArrayObject *array, ferry_access access);

#endif
