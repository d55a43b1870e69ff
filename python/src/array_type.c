#include "array_type.h"

#include "allocator.h"
#include "array_copy.h"
#include "arrays.h"

static PyTypeObject *created;

PyTypeObject *array_type(void) {
    return created;
}

/* Whether the index takes a view: one of numbers, slices, None and an ellipsis. */
static bool is_basic(PyObject *index) {
    if (!PyTuple_CheckExact(index))
        return PyLong_CheckExact(index) || PySlice_Check(index) || index == Py_None || index == Py_Ellipsis;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) {
        PyObject *item = PyTuple_GET_ITEM(index, i);
        if (PyTuple_CheckExact(item) || !is_basic(item))
            return false;
    }
    return true;
}

/* What is picked out by an array of indices is a copy, and born in ferry memory. */
static PyObject *get_item(PyObject *self, PyObject *index) {
    const binaryfunc base = PyArray_Type.tp_as_mapping->mp_subscript;
    if (is_basic(index))
        return base(self, index);
    PyObject *before = allocator_use(0);
    if (before == NULL)
        return NULL;
    PyObject *item = base(self, index);
    allocator_leave(before);
    return item;
}

/* Whether assigning it overwrites every element and cannot fail: to a narrower type it may overflow, and raise. */
static bool is_sure_to_fill(PyArrayObject *part, PyObject *value) {
    return PyFloat_CheckExact(value) && PyArray_TYPE(part) == NPY_DOUBLE;
}

/* 1: done, 0: to be left to NumPy, -1: failed. What NumPy will write is at home then. */
static int set_part(PyArrayObject *part, PyObject *value) {
    const int done = PyArray_Check(value) ? copy_into(part, (PyArrayObject *)value) : 0;
    if (done != 0 || acquire_for_host(part, is_sure_to_fill(part, value) ? FERRY_WRITE : FERRY_READWRITE) == 0)
        return done;
    return -1;
}

static int set_large_item(PyObject *self, PyObject *index, PyObject *value) {
    PyObject *part = PyArray_Type.tp_as_mapping->mp_subscript(self, index);
    if (part == NULL)
        return -1;
    const int done = PyArray_Check(part) ? set_part((PyArrayObject *)part, value) : 0;
    Py_DECREF(part);
    return done;
}

/* One number is not worth asking about. */
static bool may_be_large(PyArrayObject *self, PyObject *index) {
    return PyArray_NBYTES(self) >= ACQUIRED_BYTES && (PyArray_NDIM(self) > 1 || !PyLong_CheckExact(index));
}

static int set_item(PyObject *self, PyObject *index, PyObject *value) {
    if (value != NULL && may_be_large((PyArrayObject *)self, index) && is_basic(index)) {
        const int done = set_large_item(self, index, value);
        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    return PyArray_Type.tp_as_mapping->mp_ass_subscript(self, index, value);
}

static PyMethodDef methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_mp_subscript, (void *)(uintptr_t)get_item},
    {Py_mp_ass_subscript, (void *)(uintptr_t)set_item},
    {Py_tp_methods, methods},
    {Py_tp_doc, "The base of ferry.ndarray."},
    {0, NULL},
};

/* The size is ndarray's, which differs from one NumPy to another. */
static PyType_Spec spec = {
    .name = "ferry._ferry.array",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int array_type_create(PyObject *module) {
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyArray_Type);
    if (bases == NULL)
        return -1;
    created = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
    Py_DECREF(bases);
    return created == NULL ? -1 : PyModule_AddType(module, created);
}
