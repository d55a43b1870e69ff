/* The base of ferry.ndarray: what of it has to be quick, and what has to happen without a Python frame of ferry's, so
 * that allocations and crossings are attributed to the user's line. */
#ifndef FERRY_PYTHON_ARRAY_TYPE_H
#define FERRY_PYTHON_ARRAY_TYPE_H

#include "module.h"

/* The type, borrowed; NULL before the module is there. */
PyTypeObject *array_type(void);

static inline bool is_ferry_array(PyObject *object) {
    return array_type() != NULL && PyObject_TypeCheck(object, array_type());
}

/* The same array as a plain ndarray; a new reference. */
static inline PyObject *as_plain(PyObject *array) {
    return PyArray_View((PyArrayObject *)array, NULL, &PyArray_Type);
}

/* __array_ufunc__ */
PyObject *array_ufunc(PyObject *self, PyObject *arguments, PyObject *keywords);

int array_type_create(PyObject *module);

#endif
