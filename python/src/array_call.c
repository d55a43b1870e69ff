/*
 * Elementwise calls as a whole: broadcast, cast and laid out as NumPy would, in one launch. Whatever is not plainly so
 * is NumPy's: keywords but out, element types of more than one kind at a time that ferry has not, mistakes.
 */
#include "array_call.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

#include "arrays.h"
#include "loop.h"
#include "scopes.h"
#include "sites.h"

#define INPUTS_MAX 2
#define STAGED_PART 16 /* an input of at most this part of the output is copied to where a kernel can read it */

/* From how many elements on a call is made: LOOP_MEASURED or a number. */
static _Atomic int64_t call_length = LOOP_MEASURED;

static _Atomic uint64_t calls_served;

bool call_never_pays(void) {
    const int64_t length = atomic_load_explicit(&call_length, memory_order_relaxed);
    return length == LOOP_NEVER || (length == LOOP_MEASURED && loops_are_simulated());
}

/* A call on its way to the library. Arrays are owned. */
typedef struct elementwise {
    ferry_op op;
    int nin;
    PyArrayObject *arrays[INPUTS_MAX + 1]; /* inputs, then the output */
    ferry_dtype compute, result;
    PyArray_Descr *type; /* of the result; owned */
} elementwise;

static void elementwise_drop(elementwise *e) {
    for (int i = 0; i <= e->nin; i++)
        Py_XDECREF(e->arrays[i]);
    Py_XDECREF(e->type);
}

static bool find_op(PyObject *ufunc, ferry_op *out) {
    const PyUFuncObject *known = (const PyUFuncObject *)ufunc;
    return known->nout == 1 && known->nin <= INPUTS_MAX && ferry_op_find(known->name, out) == FERRY_OK &&
           loops_are_of(*out, ufunc);
}

static bool is_array_of_axes(PyObject *object) {
    return PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0;
}

/*
 * The type that a scalar takes beside the arrays: NumPy's own answer, since versions differ in what a Python number
 * weighs. A new reference; NULL, with no exception, where there is none.
 */
static PyArray_Descr *type_beside(PyObject *scalar, PyObject *inputs) {
    PyObject *other = PyTuple_GET_ITEM(inputs, PyTuple_GET_ITEM(inputs, 0) == scalar ? 1 : 0);
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *type = numpy == NULL ? NULL : PyObject_CallMethod(numpy, "result_type", "OO", other, scalar);
    Py_XDECREF(numpy);
    if (type == NULL)
        PyErr_Clear();
    return (PyArray_Descr *)type;
}

/* Of texts and lists NumPy would make more than a number. */
static bool is_number(PyObject *object) {
    return PyLong_Check(object) || PyFloat_Check(object) || PyArray_IsScalar(object, Number) ||
           PyArray_IsScalar(object, Bool) || PyArray_Check(object);
}

/* Whether a part of a number is in the range of a narrow type; NaN and infinities are. */
static bool is_in_range(double part, double smallest, double largest) {
    const double size = fabs(part);
    return !isfinite(size) || size == 0 || (size >= smallest && size <= largest);
}

/* Whether the cast to the type can leave no floating-point exception behind, which NumPy's own call may not have. */
static bool casts_quietly(PyObject *scalar, int type) {
    const bool half = type == NPY_HALF;
    if (!half && type != NPY_FLOAT && type != NPY_CFLOAT)
        return true;
    const Py_complex value = PyComplex_AsCComplex(scalar);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    const double smallest = half ? 0x1p-14 : FLT_MIN, largest = half ? 65504 : FLT_MAX;
    return is_in_range(value.real, smallest, largest) && is_in_range(value.imag, smallest, largest);
}

/* A scalar as an array without axes, in ferry memory. */
static PyArrayObject *take_scalar(PyObject *scalar, PyObject *inputs) {
    const bool beside = PyTuple_GET_SIZE(inputs) == INPUTS_MAX && is_number(scalar);
    PyArray_Descr *type = beside ? type_beside(scalar, inputs) : NULL;
    if (type == NULL || !casts_quietly(scalar, type->type_num)) {
        Py_XDECREF(type);
        return NULL;
    }
    PyObject *array = PyArray_FromAny(scalar, type, 0, 0, NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST, NULL);
    if (array == NULL)
        PyErr_Clear();
    return (PyArrayObject *)array;
}

/* The inputs as arrays; false where one is none that ferry could read. */
static bool take_inputs(elementwise *e, PyObject *inputs) {
    bool any = false;
    for (int i = 0; i < e->nin; i++)
        any = any || is_array_of_axes(PyTuple_GET_ITEM(inputs, i));
    for (int i = 0; i < e->nin && any; i++) {
        PyObject *input = PyTuple_GET_ITEM(inputs, i);
        e->arrays[i] = is_array_of_axes(input) ? (PyArrayObject *)new_reference(input) : take_scalar(input, inputs);
        if (e->arrays[i] == NULL || !PyArray_ISALIGNED(e->arrays[i]))
            return false;
    }
    return any;
}

/* An array of axes as an empty one of two axes, which matrices have too; anything else as it is. */
static PyObject *empty_like(PyObject *input) {
    npy_intp none[] = {0, 0};
    if (!is_array_of_axes(input))
        return new_reference(input);
    PyArray_Descr *type = PyArray_DESCR((PyArrayObject *)input);
    return PyArray_Empty(2, none, (PyArray_Descr *)new_reference((PyObject *)type), 0);
}

PyArray_Descr *call_result_type(const whole_call *call) {
    PyArray_Descr *type = NULL;
    PyObject *operands = PyTuple_New(PyTuple_GET_SIZE(call->inputs));
    for (Py_ssize_t i = 0; operands != NULL && i < PyTuple_GET_SIZE(operands); i++) {
        PyObject *operand = empty_like(PyTuple_GET_ITEM(call->inputs, i));
        if (operand == NULL)
            Py_CLEAR(operands);
        else
            PyTuple_SET_ITEM(operands, i, operand);
    }
    PyObject *result = operands != NULL ? PyObject_Call(call->ufunc, operands, NULL) : NULL;
    if (result != NULL && PyArray_Check(result))
        type = (PyArray_Descr *)new_reference((PyObject *)PyArray_DESCR((PyArrayObject *)result));
    PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(operands);
    return type;
}

/* Takes the type of the result from NumPy; false where ferry's result is another. */
static bool numpy_agrees(elementwise *e, const whole_call *call) {
    ferry_dtype dtype;
    e->type = call_result_type(call);
    return e->type != NULL && dtype_of_number(e->type->type_num, &dtype) && dtype == e->result;
}

static bool find_result_type(elementwise *e) {
    ferry_dtype in[INPUTS_MAX];
    ferry_view view;
    for (int i = 0; i < e->nin; i++) {
        if (!find_view(e->arrays[i], &view))
            return false;
        in[i] = view.dtype;
    }
    return ferry_op_dtypes(e->op, in, e->nin, &e->compute, &e->result) == FERRY_OK;
}

/* NumPy's iterator broadcasts the inputs and makes the output in the order that NumPy's ufuncs would. */
static bool make_out(elementwise *e) {
    PyArrayObject *operands[INPUTS_MAX + 1] = {NULL};
    npy_uint32 flags[INPUTS_MAX + 1] = {0};
    PyArray_Descr *types[INPUTS_MAX + 1] = {NULL};
    for (int i = 0; i < e->nin; i++) {
        operands[i] = e->arrays[i];
        flags[i] = NPY_ITER_READONLY;
    }
    flags[e->nin] = NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE;
    types[e->nin] = e->type;
    NpyIter *iterator =
        NpyIter_MultiNew(e->nin + 1, operands, NPY_ITER_ZEROSIZE_OK, NPY_KEEPORDER, NPY_UNSAFE_CASTING, flags, types);
    if (iterator == NULL) {
        PyErr_Clear();
        return false;
    }
    e->arrays[e->nin] = (PyArrayObject *)new_reference((PyObject *)NpyIter_GetOperandArray(iterator)[e->nin]);
    NpyIter_Deallocate(iterator);
    return true;
}

static bool take_out(elementwise *e, PyArrayObject *out) {
    if (out == NULL)
        return make_out(e);
    e->arrays[e->nin] = (PyArrayObject *)new_reference((PyObject *)out);
    return PyArray_ISWRITEABLE(out) && PyArray_ISALIGNED(out);
}

/* What is small beside the output, and ordinary memory, is copied to where a kernel can read it. */
static bool stage_inputs(elementwise *e) {
    const npy_intp most = PyArray_NBYTES(e->arrays[e->nin]) / STAGED_PART;
    for (int i = 0; i < e->nin; i++) {
        PyArrayObject *array = e->arrays[i];
        if (ferry_owns(PyArray_DATA(array)))
            continue;
        if (PyArray_NBYTES(array) > most)
            return false;
        PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_KEEPORDER);
        if (copy == NULL) {
            PyErr_Clear();
            return false;
        }
        Py_SETREF(e->arrays[i], copy);
    }
    return ferry_owns(PyArray_DATA(e->arrays[e->nin]));
}

/* NumPy raises ValueError for a signed power with a negative exponent: such exponents are not looked for here. */
static bool may_raise(const elementwise *e) {
    return e->op == FERRY_OP_POWER && PyArray_ISSIGNED(e->arrays[1]);
}

/* Elements of what the inputs broadcast to; too many where they do not. */
static int64_t broadcast_size(const elementwise *e) {
    int64_t size = 1;
    for (int axis = 1; axis <= NPY_MAXDIMS; axis++) {
        int64_t extent = 1;
        for (int i = 0; i < e->nin; i++) {
            const int ndim = PyArray_NDIM(e->arrays[i]);
            const npy_intp own = axis <= ndim ? PyArray_DIM(e->arrays[i], ndim - axis) : 1;
            extent = own == 0 || (own > extent && extent != 0) ? own : extent;
        }
        size = call_product_of(size, extent);
    }
    return size;
}

bool call_pays(ferry_op op, ferry_dtype dtype, bool reduces, int64_t elements) {
    const int64_t length = atomic_load_explicit(&call_length, memory_order_relaxed);
    if (length != LOOP_MEASURED)
        return elements > 0 && elements >= length;
    return elements >= LOOP_SHORT && elements >= loops_call_length(op, dtype, reduces);
}

void call_count(void) {
    atomic_fetch_add_explicit(&calls_served, 1, memory_order_relaxed);
}

static bool prepare(elementwise *e, const whole_call *call) {
    if (!take_inputs(e, call->inputs))
        return false;
    const int64_t elements = call->out != NULL ? PyArray_SIZE(call->out) : broadcast_size(e);
    return find_result_type(e) && call_pays(e->op, e->compute, false, elements) && numpy_agrees(e, call) &&
           !may_raise(e) && take_out(e, call->out) && stage_inputs(e);
}

bool call_is_refused(ferry_status status) {
    return status != FERRY_BACKEND && status != FERRY_REDUNDANT && status != FERRY_UNSYNCHRONISED;
}

int call_report(const char *name, unsigned exceptions) {
    if (exceptions == 0)
        return 0;
    PyObject *errors = PyImport_ImportModule("ferry._errors");
    PyObject *reported = errors == NULL ? NULL : PyObject_CallMethod(errors, "report", "sI", name, exceptions);
    Py_XDECREF(errors);
    Py_XDECREF(reported);
    return reported == NULL ? -1 : 0;
}

static PyObject *run(elementwise *e, PyObject *ufunc) {
    ferry_view views[INPUTS_MAX + 1];
    unsigned exceptions;
    ferry_status status;
    for (int i = 0; i <= e->nin; i++) {
        if (!find_view(e->arrays[i], &views[i]))
            return NULL;
    }
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = thread_apply(e->op, views, &exceptions);
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    if (status != FERRY_OK)
        return call_is_refused(status) ? NULL : raise_status(status);
    call_count();
    return call_report(((PyUFuncObject *)ufunc)->name, exceptions) < 0 ? NULL
                                                                       : new_reference((PyObject *)e->arrays[e->nin]);
}

PyObject *call_elementwise(const whole_call *call) {
    elementwise e = {.nin = 0};
    if (call_never_pays() || !find_op(call->ufunc, &e.op))
        return NULL;
    e.nin = ferry_op_arity(e.op);
    PyObject *result = PyTuple_GET_SIZE(call->inputs) == e.nin && prepare(&e, call) ? run(&e, call->ufunc) : NULL;
    elementwise_drop(&e);
    return result;
}

/* Returns the length before. */
static PyObject *calls_set_length(PyObject *module, PyObject *argument) {
    (void)module;
    const int64_t length = PyLong_AsLongLong(argument);
    if (length == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLongLong(atomic_exchange(&call_length, length));
}

static PyObject *calls_count(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyLong_FromUnsignedLongLong(atomic_load(&calls_served));
}

PyMethodDef call_methods[] = {
    {"calls_set_length", calls_set_length, METH_O, NULL},
    {"calls_served", calls_count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
