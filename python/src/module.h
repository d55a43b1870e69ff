/* What the extension's files share: Python, NumPy's C API, the public headers, and what each file gives the module. */
#ifndef FERRY_PYTHON_MODULE_H
#define FERRY_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
/* One binary for NumPy 1.24 and everything newer. */
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ferry_numpy_array_api
#define PY_UFUNC_UNIQUE_SYMBOL ferry_numpy_ufunc_api
#ifndef FERRY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <string.h>

#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "ferry/ferry.h"

/* Sets RuntimeError, MemoryError, ValueError, TypeError or OSError, by the status, with the library's sentence. Returns
 * NULL. */
PyObject *raise_status(ferry_status status);
/* None on success. */
PyObject *none_or_raise(ferry_status status);

/* Py_NewRef, which Python 3.9 has not. */
static inline PyObject *new_reference(PyObject *object) {
    Py_INCREF(object);
    return object;
}

/* Functions of the module, in tables that end with an empty entry. */
extern PyMethodDef allocator_methods[], array_methods[], call_methods[], copy_methods[], counter_methods[],
    dlpack_methods[], kernel_methods[], library_methods[], loop_methods[], memory_methods[], scope_methods[];

#endif
