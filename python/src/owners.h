/* Memory that Python and the library share: each keeps what the other uses. */
#ifndef FERRY_PYTHON_OWNERS_H
#define FERRY_PYTHON_OWNERS_H

#include "module.h"

/* A plain array on the library's, which it takes over, also when it fails. */
PyObject *array_of_owner(ferry_array *array);

/* A reference of the library's to the array and its memory. -1 with an exception set. Release it. */
int owner_of_array(PyArrayObject *array, ferry_array *out);

#endif
