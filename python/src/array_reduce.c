/* Reductions of whole arrays: ufunc.reduce with axes, keepdims and out. */
#include "array_call.h"

#include "arrays.h"
#include "loop.h"
#include "scopes.h"
#include "sites.h"

/* A reduction on its way to the library. */
typedef struct reduction {
    ferry_reduction kind;
    uint32_t axes; /* a bit each */
    bool keeps_axes;
    ferry_view in, out;
    ferry_dtype dtype;     /* of the result */
    PyArrayObject *result; /* owned; with the axes that are kept */
} reduction;

/* One axis, a Python number; counted from the end where negative. */
static bool add_axis(reduction *r, PyObject *number) {
    const long given = PyLong_AsLong(number), axis = given < 0 ? given + r->in.ndim : given;
    if (PyErr_Occurred() || axis < 0 || axis >= r->in.ndim || (r->axes >> axis & 1) != 0) {
        PyErr_Clear();
        return false;
    }
    r->axes |= UINT32_C(1) << axis;
    return true;
}

/* NULL: the first; None: all of them. */
static bool take_axes(reduction *r, PyObject *axis) {
    r->axes = axis == NULL ? 1 : 0;
    if (axis == NULL)
        return r->in.ndim > 0;
    if (axis == Py_None) {
        r->axes = r->in.ndim == FERRY_MAX_DIMS ? FERRY_REDUCE_ALL : (UINT32_C(1) << r->in.ndim) - 1;
        return true;
    }
    if (!PyTuple_Check(axis))
        return add_axis(r, axis);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++) {
        if (!add_axis(r, PyTuple_GET_ITEM(axis, i)))
            return false;
    }
    return true;
}

/* False for what is NumPy's: another type, an initial value, a mask. */
static bool take_keywords(reduction *r, PyObject *keywords) {
    PyObject *name, *value, *axis = NULL;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value)) {
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 && PyBool_Check(value))
            r->keeps_axes = value == Py_True;
        else if (!(PyUnicode_CompareWithASCIIString(name, "dtype") == 0 && value == Py_None) &&
                 !(PyUnicode_CompareWithASCIIString(name, "where") == 0 && value == Py_True))
            return false;
    }
    return take_axes(r, axis);
}

static bool is_kept(const reduction *r, int axis) {
    return (r->axes >> axis & 1) == 0;
}

/* A view of `array` on the axes that are kept: of a result, or of one that has those of extent 1 as well. */
static bool view_of_kept(const reduction *r, PyArrayObject *array, ferry_view *out) {
    if (!find_view(array, out))
        return false;
    if (!r->keeps_axes)
        return true;
    if (out->ndim != r->in.ndim)
        return false;
    out->ndim = 0;
    for (int axis = 0; axis < r->in.ndim; axis++) {
        if (!is_kept(r, axis) && out->shape[axis] != 1)
            return false;
        if (!is_kept(r, axis))
            continue;
        out->shape[out->ndim] = out->shape[axis];
        out->strides[out->ndim++] = out->strides[axis];
    }
    return true;
}

/* The type that NumPy gives the result, which it is asked about an array of one element; NULL, without an exception,
 * where there is none. */
static PyArray_Descr *result_type(const whole_call *call, PyArrayObject *in) {
    npy_intp one = 1;
    PyObject *array = PyArray_Zeros(1, &one, (PyArray_Descr *)new_reference((PyObject *)PyArray_DESCR(in)), 0);
    PyObject *result = array == NULL ? NULL : PyObject_CallMethod(call->ufunc, "reduce", "O", array);
    PyArray_Descr *type = result != NULL && PyArray_IsScalar(result, Generic) ? PyArray_DescrFromScalar(result) : NULL;
    Py_XDECREF(array);
    Py_XDECREF(result);
    PyErr_Clear();
    return type;
}

/* NumPy's iterator makes the result, without the axes, in the order that NumPy's reductions would. */
static PyArrayObject *make_reduced(const reduction *r, PyArrayObject *in, PyArray_Descr *type) {
    PyArrayObject *operands[] = {in, NULL};
    npy_uint32 flags[] = {NPY_ITER_READONLY, NPY_ITER_READWRITE | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE};
    PyArray_Descr *types[] = {NULL, type};
    int in_axes[FERRY_MAX_DIMS], out_axes[FERRY_MAX_DIMS], kept = 0;
    for (int axis = 0; axis < r->in.ndim; axis++) {
        in_axes[axis] = axis;
        out_axes[axis] = is_kept(r, axis) ? kept++ : -1;
    }
    int *axes[] = {in_axes, out_axes};
    NpyIter *iterator = NpyIter_AdvancedNew(2, operands, NPY_ITER_REDUCE_OK, NPY_KEEPORDER, NPY_UNSAFE_CASTING, flags,
                                            types, r->in.ndim, axes, NULL, 0);
    if (iterator == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyArrayObject *result = (PyArrayObject *)new_reference((PyObject *)NpyIter_GetOperandArray(iterator)[1]);
    NpyIter_Deallocate(iterator);
    return result;
}

/* The result with the axes that are kept, of extent 1. Takes it over. */
static PyArrayObject *with_kept_axes(const reduction *r, PyArrayObject *reduced) {
    npy_intp shape[FERRY_MAX_DIMS], strides[FERRY_MAX_DIMS];
    for (int axis = 0, from = 0; axis < r->in.ndim; axis++) {
        shape[axis] = is_kept(r, axis) ? PyArray_DIM(reduced, from) : 1;
        strides[axis] = is_kept(r, axis) ? PyArray_STRIDE(reduced, from) : PyArray_ITEMSIZE(reduced);
        from += is_kept(r, axis) ? 1 : 0;
    }
    PyArray_Descr *type = (PyArray_Descr *)new_reference((PyObject *)PyArray_DESCR(reduced));
    PyObject *kept = PyArray_NewFromDescr(&PyArray_Type, type, r->in.ndim, shape, strides, PyArray_DATA(reduced),
                                          NPY_ARRAY_WRITEABLE, NULL);
    if (kept == NULL) {
        Py_DECREF(reduced);
        PyErr_Clear();
    } else if (PyArray_SetBaseObject((PyArrayObject *)kept, (PyObject *)reduced) < 0)
        Py_CLEAR(kept);
    return (PyArrayObject *)kept;
}

static bool make_result(reduction *r, PyArrayObject *in, PyArray_Descr *type) {
    r->result = make_reduced(r, in, type);
    if (r->result != NULL && r->keeps_axes)
        r->result = with_kept_axes(r, r->result);
    return r->result != NULL;
}

static bool take_result(reduction *r, const whole_call *call, PyArrayObject *in) {
    PyArray_Descr *type = result_type(call, in);
    if (type == NULL)
        return false;
    if (call->out != NULL)
        r->result = (PyArrayObject *)new_reference((PyObject *)call->out);
    const bool made = call->out != NULL || make_result(r, in, type);
    Py_DECREF(type);
    return made && view_of_kept(r, r->result, &r->out) && r->out.dtype == r->dtype && !r->out.readonly &&
           PyArray_ISALIGNED(r->result) && ferry_owns(r->out.data) && !ferry_view_overlap(&r->in, &r->out);
}

static bool prepare(reduction *r, const whole_call *call) {
    PyObject *input = PyTuple_GET_ITEM(call->inputs, 0);
    if (!PyArray_Check(input) || !PyArray_ISALIGNED((PyArrayObject *)input) ||
        !ferry_owns(PyArray_DATA((PyArrayObject *)input)) || !find_view((PyArrayObject *)input, &r->in))
        return false;
    ferry_op op;
    return ferry_op_find(ferry_reduction_name(r->kind), &op) == FERRY_OK && loops_are_of(op, call->ufunc) &&
           ferry_reduce_dtype(r->kind, r->in.dtype, &r->dtype) == FERRY_OK &&
           call_pays(op, r->dtype, true, ferry_view_size(&r->in)) && take_keywords(r, call->keywords) &&
           take_result(r, call, (PyArrayObject *)input);
}

/* The result is waited for always: a number is read at once. */
static PyObject *run(reduction *r, const whole_call *call) {
    ferry_status status;
    unsigned exceptions = 0;
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_reduce_checked(r->kind, &r->in, r->axes, &r->out, thread_stream(), &exceptions);
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    if (status != FERRY_OK)
        return call_is_refused(status) ? NULL : raise_status(status);
    call_count();
    if (call_report("reduce", exceptions) < 0)
        return NULL;
    PyObject *result = new_reference((PyObject *)r->result);
    return call->out == NULL ? PyArray_Return((PyArrayObject *)result) : result;
}

PyObject *call_reduction(const whole_call *call) {
    reduction r = {.result = NULL};
    const PyUFuncObject *ufunc = (const PyUFuncObject *)call->ufunc;
    if (call_never_pays() || ferry_reduction_find(ufunc->name, &r.kind) != FERRY_OK ||
        PyTuple_GET_SIZE(call->inputs) != 1)
        return NULL;
    PyObject *result = prepare(&r, call) ? run(&r, call) : NULL;
    Py_XDECREF(r.result);
    return result;
}
