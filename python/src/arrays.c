#include "arrays.h"

bool dtype_of_number(int number, ferry_dtype *out) {
    static const struct {
        int number;
        ferry_dtype dtype;
    } known[] = {
        {NPY_BOOL, FERRY_BOOL},
        {NPY_BYTE, FERRY_INT8},
        {NPY_UBYTE, FERRY_UINT8},
        {NPY_SHORT, FERRY_INT16},
        {NPY_USHORT, FERRY_UINT16},
        {NPY_INT, FERRY_INT32},
        {NPY_UINT, FERRY_UINT32},
        {NPY_LONG, sizeof(long) == 8 ? FERRY_INT64 : FERRY_INT32},
        {NPY_ULONG, sizeof(long) == 8 ? FERRY_UINT64 : FERRY_UINT32},
        {NPY_LONGLONG, FERRY_INT64},
        {NPY_ULONGLONG, FERRY_UINT64},
        {NPY_HALF, FERRY_FLOAT16},
        {NPY_FLOAT, FERRY_FLOAT32},
        {NPY_DOUBLE, FERRY_FLOAT64},
        {NPY_CFLOAT, FERRY_COMPLEX64},
        {NPY_CDOUBLE, FERRY_COMPLEX128},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == number) {
            *out = known[i].dtype;
            return true;
        }
    }
    return false;
}

int number_of_dtype(ferry_dtype dtype) {
    static const int numbers[FERRY_DTYPE_COUNT] = {
        [FERRY_BOOL] = NPY_BOOL,        [FERRY_INT8] = NPY_INT8,         [FERRY_UINT8] = NPY_UINT8,
        [FERRY_INT16] = NPY_INT16,      [FERRY_UINT16] = NPY_UINT16,     [FERRY_INT32] = NPY_INT32,
        [FERRY_UINT32] = NPY_UINT32,    [FERRY_INT64] = NPY_INT64,       [FERRY_UINT64] = NPY_UINT64,
        [FERRY_FLOAT16] = NPY_FLOAT16,  [FERRY_FLOAT32] = NPY_FLOAT32,   [FERRY_FLOAT64] = NPY_FLOAT64,
        [FERRY_COMPLEX64] = NPY_CFLOAT, [FERRY_COMPLEX128] = NPY_CDOUBLE};
    return numbers[dtype];
}

bool find_view(PyArrayObject *array, ferry_view *out) {
    ferry_dtype dtype;
    if (!dtype_of_number(PyArray_TYPE(array), &dtype) || PyArray_ISBYTESWAPPED(array) ||
        PyArray_NDIM(array) > FERRY_MAX_DIMS)
        return false;
    *out = (ferry_view){.data = PyArray_DATA(array),
                        .dtype = dtype,
                        .ndim = PyArray_NDIM(array),
                        .readonly = !PyArray_ISWRITEABLE(array)};
    for (int axis = 0; axis < out->ndim; axis++) {
        out->shape[axis] = PyArray_DIM(array, axis);
        out->strides[axis] = PyArray_STRIDE(array, axis);
    }
    return true;
}

int view_of_array(PyArrayObject *array, ferry_view *out) {
    if (find_view(array, out))
        return 0;
    if (PyArray_NDIM(array) > FERRY_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "the array has %d dimensions; ferry's views have at most %d",
                     PyArray_NDIM(array), FERRY_MAX_DIMS);
    else
        PyErr_Format(PyExc_TypeError, "ferry has no element type %R", (PyObject *)PyArray_DESCR(array));
    return -1;
}

static PyArrayObject *checked_array(PyObject *object) {
    if (PyArray_Check(object))
        return (PyArrayObject *)object;
    PyErr_Format(PyExc_TypeError, "an array is wanted, not %.100s", Py_TYPE(object)->tp_name);
    return NULL;
}

int view_of_object(PyObject *object, ferry_view *out) {
    PyArrayObject *array = checked_array(object);
    return array == NULL ? -1 : view_of_array(array, out);
}

int acquire_for_host(PyArrayObject *array, ferry_access access) {
    ferry_view view;
    ferry_status status;
    if (PyArray_NBYTES(array) < ACQUIRED_BYTES || !ferry_owns(PyArray_DATA(array)) || !find_view(array, &view))
        return 0;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_host_acquire(&view, view.readonly ? FERRY_READ : access);
    Py_END_ALLOW_THREADS;
    if (status != FERRY_OK)
        raise_status(status);
    return status == FERRY_OK ? 0 : -1;
}

static PyObject *array_owns(PyObject *module, PyObject *object) {
    (void)module;
    PyArrayObject *array = checked_array(object);
    return array != NULL ? PyBool_FromLong(ferry_owns(PyArray_DATA(array))) : NULL;
}

static PyObject *array_explain(PyObject *module, PyObject *object) {
    (void)module;
    ferry_view view;
    char text[1024];
    if (view_of_object(object, &view) < 0)
        return NULL;
    const ferry_status status = ferry_explain(&view, text, sizeof text);
    return status == FERRY_OK ? PyUnicode_FromString(text) : raise_status(status);
}

PyMethodDef array_methods[] = {
    {"owns", array_owns, METH_O, NULL},
    {"explain", array_explain, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
