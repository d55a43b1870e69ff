/* Where arrays are, blocks for other libraries' allocators, and arrays in files. */
#include "arrays.h"
#include "owners.h"
#include "scopes.h"
#include "sites.h"

/* The array's bytes: of element types that ferry has not, an axis more. */
static int view_of_memory(PyObject *object, ferry_view *out) {
    if (view_of_object(object, out) == 0)
        return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || !PyArray_Check(object) || PyArray_NDIM(array) == FERRY_MAX_DIMS)
        return -1;
    PyErr_Clear();
    *out = (ferry_view){.data = PyArray_DATA(array),
                        .dtype = FERRY_UINT8,
                        .ndim = PyArray_NDIM(array) + 1,
                        .readonly = !PyArray_ISWRITEABLE(array)};
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        out->shape[axis] = PyArray_DIM(array, axis);
        out->strides[axis] = PyArray_STRIDE(array, axis);
    }
    out->shape[out->ndim - 1] = PyArray_ITEMSIZE(array);
    out->strides[out->ndim - 1] = 1;
    return 0;
}

static PyObject *memory_place(PyObject *module, PyObject *object) {
    (void)module;
    ferry_view view;
    if (view_of_memory(object, &view) < 0)
        return NULL;
    return PyLong_FromLong(ferry_view_place(&view));
}

/* On a stream of the device; returns when the bytes are there. */
static ferry_status move(const ferry_view *view, int place) {
    ferry_stream *stream = NULL;
    ferry_status status = thread_settle();
    if (status == FERRY_OK && place > 0)
        status = ferry_stream_create(place, &stream);
    if (status != FERRY_OK)
        return status;
    status = ferry_prefetch(view, place, stream);
    if (status == FERRY_OK && place == 0)
        status = ferry_stream_sync(NULL);
    ferry_stream_destroy(stream);
    return status;
}

static PyObject *memory_prefetch(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object;
    int place;
    ferry_view view;
    ferry_status status;
    if (!PyArg_ParseTuple(arguments, "Oi", &object, &place) || view_of_memory(object, &view) < 0)
        return NULL;
    if (place < FERRY_PLACE_HOST || place >= ferry_device_count())
        return PyErr_Format(PyExc_ValueError, "there is no device %d; there are %d", place, ferry_device_count());
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = move(&view, place);
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    return none_or_raise(status);
}

/* (array, whether all of it is going to be overwritten) */
static PyObject *memory_host_acquire(PyObject *module, PyObject *arguments) {
    (void)module;
    PyArrayObject *array;
    int overwritten;
    if (!PyArg_ParseTuple(arguments, "O!p", &PyArray_Type, &array, &overwritten) ||
        acquire_for_host(array, overwritten ? FERRY_WRITE : FERRY_READWRITE) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Waits for kernels that use the array, and lets it count as possibly written for as long as its block lives: whoever
 * gets a bare address says nothing when he is done. */
static PyObject *memory_expose(PyObject *module, PyObject *object) {
    (void)module;
    ferry_view view;
    ferry_status status;
    if (view_of_memory(object, &view) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_export_begin(&view);
    if (status == FERRY_OK && view.readonly)
        ferry_export_end(&view);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status);
}

/* A block on a device, for work on one stream. */
typedef struct device_block {
    void *address, *stream;
    Py_ssize_t bytes;
    int device;
} device_block;

#define DEVICE_BLOCK "ferry.device_block"

static void free_device_block(PyObject *capsule) {
    device_block *block = PyCapsule_GetPointer(capsule, DEVICE_BLOCK);
    ferry_torch_free(block->address, block->bytes, block->device, block->stream);
    PyMem_RawFree(block);
}

/* (address, what keeps it): for the allocators of CuPy and Numba, which ask for what PyTorch's does. */
static PyObject *memory_device_block(PyObject *module, PyObject *arguments) {
    (void)module;
    device_block wanted = {0};
    unsigned long long stream;
    if (!PyArg_ParseTuple(arguments, "niK", &wanted.bytes, &wanted.device, &stream))
        return NULL;
    wanted.stream = (void *)(uintptr_t)stream;
    device_block *block = PyMem_RawMalloc(sizeof *block);
    if (block == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS;
    wanted.address = ferry_torch_malloc(wanted.bytes, wanted.device, wanted.stream);
    Py_END_ALLOW_THREADS;
    *block = wanted;
    PyObject *capsule =
        wanted.address == NULL ? raise_status(FERRY_LIMIT) : PyCapsule_New(block, DEVICE_BLOCK, free_device_block);
    if (capsule == NULL) {
        ferry_torch_free(wanted.address, wanted.bytes, wanted.device, wanted.stream);
        PyMem_RawFree(block);
        return NULL;
    }
    return Py_BuildValue("KN", (unsigned long long)(uintptr_t)wanted.address, capsule);
}

/* The path as bytes in the file system's encoding, a new reference. */
static PyObject *path_bytes(PyObject *object) {
    PyObject *path;
    return PyUnicode_FSConverter(object, &path) ? path : NULL;
}

static PyObject *memory_npy_load(PyObject *module, PyObject *object) {
    (void)module;
    ferry_array array;
    ferry_status status;
    PyObject *path = path_bytes(object);
    if (path == NULL)
        return NULL;
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_npy_load(NULL, PyBytes_AS_STRING(path), &array);
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    Py_DECREF(path);
    return status == FERRY_OK ? array_of_owner(&array) : raise_status(status);
}

static PyObject *memory_npy_save(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object, *path;
    ferry_view view;
    ferry_status status;
    if (!PyArg_ParseTuple(arguments, "OO", &path, &object) || view_of_object(object, &view) < 0)
        return NULL;
    path = path_bytes(path);
    if (path == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = thread_settle();
    if (status == FERRY_OK)
        status = ferry_npy_save(PyBytes_AS_STRING(path), &view);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return none_or_raise(status);
}

PyMethodDef memory_methods[] = {
    {"place", memory_place, METH_O, NULL},
    {"prefetch", memory_prefetch, METH_VARARGS, NULL},
    {"host_acquire", memory_host_acquire, METH_VARARGS, NULL},
    {"expose", memory_expose, METH_O, NULL},
    {"device_block", memory_device_block, METH_VARARGS, NULL},
    {"npy_load", memory_npy_load, METH_O, NULL},
    {"npy_save", memory_npy_save, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
