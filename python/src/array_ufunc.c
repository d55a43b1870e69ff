/*
 * ferry.ndarray's __array_ufunc__. A call that ferry can compute as a whole is: NumPy's loops would see it in pieces,
 * or not see ferry at all without install(). Every other one is NumPy's, on plain views of the same memory, with
 * results born in ferry memory.
 */
#include "allocator.h"
#include "array_call.h"
#include "array_type.h"
#include "arrays.h"
#include "scopes.h"

/* A call taken apart. */
typedef struct parts {
    PyObject *ufunc, *method; /* borrowed */
    PyObject *inputs;         /* plain */
    PyObject *keywords;       /* plain, without out; NULL: none */
    PyObject *out;            /* the caller's tuple, borrowed; NULL: none */
    PyObject *plain_out;
} parts;

/* Whether the object lets NumPy's ufuncs work on it, as far as we have a say. */
static int is_ours_to_handle(PyObject *object) {
    if (object == Py_None || PyArray_CheckExact(object) || is_ferry_array(object) || PyArray_IsAnyScalar(object) ||
        PyList_CheckExact(object) || PyTuple_CheckExact(object))
        return 1;
    PyObject *theirs = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__array_ufunc__");
    if (theirs == NULL) {
        PyErr_Clear();
        return 1;
    }
    PyObject *standard = PyObject_GetAttrString((PyObject *)&PyArray_Type, "__array_ufunc__");
    const int same = standard == NULL ? -1 : theirs == standard;
    Py_DECREF(theirs);
    Py_XDECREF(standard);
    return same;
}

static int all_ours_to_handle(PyObject *objects, Py_ssize_t first) {
    int ours = 1;
    for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(objects) && ours == 1; i++)
        ours = is_ours_to_handle(PyTuple_GET_ITEM(objects, i));
    return ours;
}

/* From item `first` on, ferry's arrays as plain ones. */
static PyObject *plain_tuple(PyObject *objects, Py_ssize_t first) {
    const Py_ssize_t n = PyTuple_GET_SIZE(objects) - first;
    PyObject *plain = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n && plain != NULL; i++) {
        PyObject *item = PyTuple_GET_ITEM(objects, i + first);
        item = is_ferry_array(item) ? as_plain(item) : new_reference(item);
        if (item == NULL)
            Py_CLEAR(plain);
        else
            PyTuple_SET_ITEM(plain, i, item);
    }
    return plain;
}

static int take_keyword(parts *p, PyObject *name, PyObject *value) {
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        if (!PyTuple_Check(value)) {
            PyErr_Format(PyExc_TypeError, "__array_ufunc__ takes a tuple of outputs, not %.100s",
                         Py_TYPE(value)->tp_name);
            return -1;
        }
        p->out = value;
        p->plain_out = plain_tuple(value, 0);
        return p->plain_out == NULL ? -1 : 0;
    }
    if (p->keywords == NULL && (p->keywords = PyDict_New()) == NULL)
        return -1;
    PyObject *plain = is_ferry_array(value) ? as_plain(value) : new_reference(value);
    const int set = plain == NULL ? -1 : PyDict_SetItem(p->keywords, name, plain);
    Py_XDECREF(plain);
    return set;
}

static int parts_take(parts *p, PyObject *arguments, PyObject *keywords) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    *p = (parts){.ufunc = PyTuple_GET_ITEM(arguments, 0), .method = PyTuple_GET_ITEM(arguments, 1)};
    p->inputs = plain_tuple(arguments, 2);
    if (p->inputs == NULL)
        return -1;
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value)) {
        if (take_keyword(p, name, value) < 0)
            return -1;
    }
    return 0;
}

static void parts_drop(parts *p) {
    Py_XDECREF(p->inputs);
    Py_XDECREF(p->keywords);
    Py_XDECREF(p->plain_out);
}

static int acquire_object(PyObject *object, ferry_access access) {
    return PyArray_Check(object) ? acquire_for_host((PyArrayObject *)object, access) : 0;
}

/* NumPy's turn: what ferry has launched must have ended, and what it will touch comes home in one piece. An output may
 * keep a part of its contents, and does when the call fails. */
static int prepare_for_numpy(const parts *p) {
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = thread_settle();
    Py_END_ALLOW_THREADS;
    if (status != FERRY_OK) {
        raise_status(status);
        return -1;
    }
    const bool at = PyUnicode_CompareWithASCIIString(p->method, "at") == 0;
    int acquired = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(p->inputs) && acquired == 0; i++)
        acquired = acquire_object(PyTuple_GET_ITEM(p->inputs, i), at && i == 0 ? FERRY_READWRITE : FERRY_READ);
    for (Py_ssize_t i = 0; p->plain_out != NULL && i < PyTuple_GET_SIZE(p->plain_out) && acquired == 0; i++)
        acquired = acquire_object(PyTuple_GET_ITEM(p->plain_out, i), FERRY_READWRITE);
    return acquired;
}

static PyObject *call_numpy(parts *p) {
    if (prepare_for_numpy(p) < 0)
        return NULL;
    if (p->plain_out != NULL) {
        if (p->keywords == NULL && (p->keywords = PyDict_New()) == NULL)
            return NULL;
        if (PyDict_SetItemString(p->keywords, "out", p->plain_out) < 0)
            return NULL;
    }
    PyObject *method = PyObject_GetAttr(p->ufunc, p->method);
    PyObject *result = method == NULL ? NULL : PyObject_Call(method, p->inputs, p->keywords);
    Py_XDECREF(method);
    return result;
}

/* The only output of a call of one, as an array; NULL where there is none. *fits: ferry may write it. */
static PyArrayObject *single_out(const parts *p, bool *fits) {
    *fits = true;
    if (p->plain_out == NULL)
        return NULL;
    PyObject *out = PyTuple_GET_SIZE(p->plain_out) == 1 ? PyTuple_GET_ITEM(p->plain_out, 0) : NULL;
    if (out == Py_None)
        return NULL;
    *fits = out != NULL && PyArray_Check(out);
    return (PyArrayObject *)out;
}

static PyObject *call_ferry(const parts *p) {
    bool fits;
    const whole_call call = {p->ufunc, p->inputs, single_out(p, &fits), p->keywords};
    if (!fits || !PyObject_TypeCheck(p->ufunc, &PyUFunc_Type))
        return NULL;
    if (PyUnicode_CompareWithASCIIString(p->method, "reduce") == 0)
        return call_reduction(&call);
    if (p->keywords != NULL || PyUnicode_CompareWithASCIIString(p->method, "__call__") != 0)
        return NULL;
    return ((PyUFuncObject *)p->ufunc)->core_enabled != 0 ? call_product(&call) : call_elementwise(&call);
}

/* A plain result as an array of the type of `self`, which is asked to finalize it. Scalars stay as they are. */
static PyObject *wrap_result(PyObject *self, PyObject *result) {
    if (!PyArray_CheckExact(result))
        return new_reference(result);
    PyArrayObject *plain = (PyArrayObject *)result;
    PyArray_Descr *description = PyArray_DESCR(plain);
    Py_INCREF(description);
    PyObject *wrapped = PyArray_NewFromDescr(Py_TYPE(self), description, PyArray_NDIM(plain), PyArray_DIMS(plain),
                                             PyArray_STRIDES(plain), PyArray_DATA(plain), PyArray_FLAGS(plain), self);
    if (wrapped == NULL)
        return NULL;
    Py_INCREF(result);
    if (PyArray_SetBaseObject((PyArrayObject *)wrapped, result) < 0)
        Py_CLEAR(wrapped);
    return wrapped;
}

/* Result `i`: the caller's own output where it gave one. */
static PyObject *finish_one(const parts *p, PyObject *self, PyObject *result, Py_ssize_t i) {
    PyObject *given = p->out != NULL && i < PyTuple_GET_SIZE(p->out) ? PyTuple_GET_ITEM(p->out, i) : Py_None;
    return given != Py_None ? new_reference(given) : wrap_result(self, result);
}

static PyObject *finish(const parts *p, PyObject *self, PyObject *result) {
    if (!PyTuple_CheckExact(result))
        return finish_one(p, self, result, 0);
    PyObject *finished = PyTuple_New(PyTuple_GET_SIZE(result));
    for (Py_ssize_t i = 0; finished != NULL && i < PyTuple_GET_SIZE(result); i++) {
        PyObject *item = finish_one(p, self, PyTuple_GET_ITEM(result, i), i);
        if (item == NULL)
            Py_CLEAR(finished);
        else
            PyTuple_SET_ITEM(finished, i, item);
    }
    return finished;
}

static PyObject *compute(parts *p, PyObject *self) {
    PyObject *before = allocator_use(0);
    if (before == NULL)
        return NULL;
    PyObject *result = call_ferry(p);
    if (result == NULL && !PyErr_Occurred())
        result = call_numpy(p);
    allocator_leave(before);
    PyObject *finished = result == NULL ? NULL : finish(p, self, result);
    Py_XDECREF(result);
    return finished;
}

PyObject *array_ufunc(PyObject *self, PyObject *arguments, PyObject *keywords) {
    parts p;
    if (PyTuple_GET_SIZE(arguments) < 3)
        return PyErr_Format(PyExc_TypeError, "__array_ufunc__ takes a ufunc, a method and inputs");
    PyObject *out = keywords != NULL ? PyDict_GetItemString(keywords, "out") : NULL;
    int ours = all_ours_to_handle(arguments, 2);
    if (ours == 1 && out != NULL && PyTuple_Check(out))
        ours = all_ours_to_handle(out, 0);
    if (ours != 1)
        return ours < 0 ? NULL : new_reference(Py_NotImplemented);
    PyObject *result = parts_take(&p, arguments, keywords) < 0 ? NULL : compute(&p, self);
    parts_drop(&p);
    return result;
}
