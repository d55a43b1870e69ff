#include "owners.h"

#include "arrays.h"

#define OWNER "ferry.array"

static void release_owner(PyObject *capsule) {
    ferry_array *array = PyCapsule_GetPointer(capsule, OWNER);
    ferry_array_release(array);
    PyMem_RawFree(array);
}

/* A capsule that keeps the library's array. */
static PyObject *keep(ferry_array *array) {
    ferry_array *kept = PyMem_RawMalloc(sizeof *kept);
    if (kept == NULL) {
        ferry_array_release(array);
        return PyErr_NoMemory();
    }
    *kept = *array;
    PyObject *capsule = PyCapsule_New(kept, OWNER, release_owner);
    if (capsule == NULL) {
        ferry_array_release(kept);
        PyMem_RawFree(kept);
    }
    return capsule;
}

PyObject *array_of_owner(ferry_array *array) {
    const ferry_view view = array->view;
    PyObject *owner = keep(array);
    if (owner == NULL)
        return NULL;
    npy_intp shape[FERRY_MAX_DIMS], strides[FERRY_MAX_DIMS];
    for (int axis = 0; axis < view.ndim; axis++) {
        shape[axis] = view.shape[axis];
        strides[axis] = view.strides[axis];
    }
    PyObject *result =
        PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(number_of_dtype(view.dtype)), view.ndim, shape,
                             strides, view.data, view.readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (result == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)result, owner) < 0)
        Py_CLEAR(result);
    return result;
}

/* On whatever thread lets go last. An interpreter that is gone takes no more. */
static void release_array(void *array) {
    if (!Py_IsInitialized())
        return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(state);
}

int owner_of_array(PyArrayObject *array, ferry_array *out) {
    ferry_view view;
    if (view_of_array(array, &view) < 0)
        return -1;
    const ferry_status status = ferry_array_wrap(&view, release_array, array, out);
    if (status != FERRY_OK) {
        raise_status(status);
        return -1;
    }
    Py_INCREF(array);
    return 0;
}
