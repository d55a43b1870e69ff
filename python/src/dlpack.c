/* DLPack's capsules. */
#include "arrays.h"
#include "owners.h"
#include "scopes.h"

#define VERSIONED "dltensor_versioned"
#define PLAIN "dltensor"

/* A consumer that takes the tensor renames its capsule. */
static void delete_tensor(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, VERSIONED))
        ferry_dlpack_delete(PyCapsule_GetPointer(capsule, VERSIONED));
    else if (PyCapsule_IsValid(capsule, PLAIN))
        ferry_dlpack_delete_unversioned(PyCapsule_GetPointer(capsule, PLAIN));
}

/* What cannot be exchanged is a BufferError. */
static PyObject *raise_exchange(ferry_status status) {
    if (status == FERRY_OUT_OF_MEMORY || status == FERRY_BACKEND)
        return raise_status(status);
    PyErr_SetString(PyExc_BufferError, ferry_error_detail());
    return NULL;
}

static PyObject *export(ferry_array *array, const ferry_dlpack_options *options, bool versioned) {
    struct DLManagedTensorVersioned *tensor = NULL;
    struct DLManagedTensor *plain = NULL;
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = thread_settle();
    if (status == FERRY_OK)
        status = versioned ? ferry_dlpack_export(array, options, &tensor)
                           : ferry_dlpack_export_unversioned(array, options, &plain);
    Py_END_ALLOW_THREADS;
    ferry_array_release(array);
    if (status != FERRY_OK)
        return raise_exchange(status);
    PyObject *capsule =
        PyCapsule_New(versioned ? (void *)tensor : (void *)plain, versioned ? VERSIONED : PLAIN, delete_tensor);
    if (capsule == NULL) {
        ferry_dlpack_delete(tensor);
        ferry_dlpack_delete_unversioned(plain);
    }
    return capsule;
}

/* (array, device type, device, versioned, copied) → capsule */
static PyObject *dlpack_export(PyObject *module, PyObject *arguments) {
    (void)module;
    PyArrayObject *object;
    ferry_array array;
    int type, device, versioned, copied;
    if (!PyArg_ParseTuple(arguments, "O!iipp", &PyArray_Type, &object, &type, &device, &versioned, &copied))
        return NULL;
    if (owner_of_array(object, &array) < 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_BufferError, "DLPack has no element type %R", (PyObject *)PyArray_DESCR(object));
        return NULL;
    }
    const ferry_dlpack_options options = {(ferry_dlpack_device)type, device, copied != 0};
    return export(&array, &options, versioned != 0);
}

/* The array keeps the tensor; the capsule is spent. */
static PyObject *dlpack_import(PyObject *module, PyObject *capsule) {
    (void)module;
    ferry_array array;
    const bool versioned = PyCapsule_IsValid(capsule, VERSIONED);
    if (!versioned && !PyCapsule_IsValid(capsule, PLAIN))
        return PyErr_Format(PyExc_TypeError, "not a DLPack capsule, or a spent one: %R", capsule);
    const ferry_status status = versioned
                                    ? ferry_dlpack_import(PyCapsule_GetPointer(capsule, VERSIONED), &array)
                                    : ferry_dlpack_import_unversioned(PyCapsule_GetPointer(capsule, PLAIN), &array);
    if (status != FERRY_OK)
        return raise_exchange(status);
    if (PyCapsule_SetName(capsule, versioned ? "used_" VERSIONED : "used_" PLAIN) < 0) {
        ferry_array_release(&array);
        return NULL;
    }
    return array_of_owner(&array);
}

/* Waits for what CUDA's legacy stream of the device has been told to come after. */
static PyObject *dlpack_wait(PyObject *module, PyObject *argument) {
    (void)module;
    ferry_stream *stream;
    const int device = (int)PyLong_AsLong(argument);
    if (PyErr_Occurred())
        return NULL;
    ferry_status status = ferry_stream_wrap(device, NULL, &stream);
    if (status == FERRY_UNSUPPORTED)
        Py_RETURN_NONE; /* the simulator, which has no such stream */
    if (status != FERRY_OK)
        return raise_status(status);
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_stream_sync(stream);
    ferry_stream_destroy(stream);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status);
}

PyMethodDef dlpack_methods[] = {
    {"dlpack_export", dlpack_export, METH_VARARGS, NULL},
    {"dlpack_import", dlpack_import, METH_O, NULL},
    {"dlpack_wait", dlpack_wait, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
