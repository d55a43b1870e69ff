/* Users' kernels: compiled from source, launched with NumPy's arrays as operands. */
#include "arrays.h"
#include "scopes.h"
#include "sites.h"

#define KERNEL "ferry.kernel"
#define ARGUMENTS_MAX 64

static void destroy_kernel(PyObject *capsule) {
    ferry_kernel *kernel = PyCapsule_GetPointer(capsule, KERNEL);
    Py_BEGIN_ALLOW_THREADS;
    (void)ferry_sync(NULL); /* it may still be running */
    ferry_kernel_destroy(kernel);
    Py_END_ALLOW_THREADS;
}

static PyObject *kernel_compile(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *source, *name;
    ferry_kernel *kernel;
    ferry_status status;
    if (!PyArg_ParseTuple(arguments, "ss", &source, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_kernel_compile(source, name, &kernel);
    Py_END_ALLOW_THREADS;
    if (status != FERRY_OK)
        return raise_status(status);
    PyObject *capsule = PyCapsule_New(kernel, KERNEL, destroy_kernel);
    if (capsule == NULL)
        ferry_kernel_destroy(kernel);
    return capsule;
}

/* A launch's arguments: views of arrays, and bytes of values. */
typedef struct launch {
    ferry_view views[ARGUMENTS_MAX];
    ferry_arg args[ARGUMENTS_MAX];
    ferry_operand operands[ARGUMENTS_MAX];
    size_t nargs, noperands;
} launch;

/* (array, access, passes) */
static int take_array(launch *l, PyObject *argument) {
    PyObject *array;
    int access, passes;
    ferry_view *view = &l->views[l->nargs];
    if (!PyArg_ParseTuple(argument, "Oii", &array, &access, &passes) || view_of_object(array, view) < 0)
        return -1;
    const ferry_operand operand = {.view = view, .access = (ferry_access)access, .passes = passes};
    l->operands[l->noperands++] = operand;
    l->args[l->nargs++] = (ferry_arg){.operand = operand};
    return 0;
}

static int take_argument(launch *l, PyObject *argument) {
    if (PyTuple_Check(argument))
        return take_array(l, argument);
    if (!PyBytes_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "an argument is an array with its access, or the bytes of a value, not %.100s",
                     Py_TYPE(argument)->tp_name);
        return -1;
    }
    l->args[l->nargs++] =
        (ferry_arg){.value = PyBytes_AS_STRING(argument), .bytes = (size_t)PyBytes_GET_SIZE(argument)};
    return 0;
}

/* The tuple's items stay alive with it. */
static int take_arguments(launch *l, PyObject *arguments) {
    l->nargs = l->noperands = 0;
    if (PyTuple_GET_SIZE(arguments) > ARGUMENTS_MAX) {
        PyErr_Format(PyExc_ValueError, "a kernel takes at most %d arguments here, not %zd", ARGUMENTS_MAX,
                     PyTuple_GET_SIZE(arguments));
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
        if (take_argument(l, PyTuple_GET_ITEM(arguments, i)) < 0)
            return -1;
    }
    return 0;
}

/* (kernel, (blocks), (threads), shared bytes, arguments) */
static PyObject *kernel_launch(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *capsule, *given;
    ferry_grid grid = {0};
    launch l;
    if (!PyArg_ParseTuple(arguments, "O(III)(III)nO!", &capsule, &grid.blocks[0], &grid.blocks[1], &grid.blocks[2],
                          &grid.threads[0], &grid.threads[1], &grid.threads[2], &grid.shared_bytes, &PyTuple_Type,
                          &given))
        return NULL;
    ferry_kernel *kernel = PyCapsule_GetPointer(capsule, KERNEL);
    if (kernel == NULL || take_arguments(&l, given) < 0)
        return NULL;
    ferry_status status;
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = thread_launched(ferry_launch(kernel, grid, l.args, l.nargs, thread_stream()));
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    return none_or_raise(status);
}

/* For a function on the host in a kernel's place: what it uses is brought to the simulated device, and is there. */
static PyObject *kernel_acquire(PyObject *module, PyObject *given) {
    (void)module;
    launch l;
    ferry_status status;
    if (take_arguments(&l, given) < 0)
        return NULL;
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    ferry_stream *stream = thread_stream();
    status = ferry_acquire(l.operands, l.noperands, stream);
    status = status == FERRY_OK ? ferry_stream_sync(stream) : status;
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    return none_or_raise(status);
}

static PyObject *kernel_complete(PyObject *module, PyObject *given) {
    (void)module;
    launch l;
    ferry_status status;
    if (take_arguments(&l, given) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = thread_launched(ferry_complete(l.operands, l.noperands, thread_stream()));
    Py_END_ALLOW_THREADS;
    return none_or_raise(status);
}

/* The array at the address by which the device knows it. */
static PyObject *kernel_alias(PyObject *module, PyObject *object) {
    (void)module;
    ferry_view view;
    if (view_of_object(object, &view) < 0)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)object;
    PyArray_Descr *description = (PyArray_Descr *)new_reference((PyObject *)PyArray_DESCR(array));
    PyObject *alias = PyArray_NewFromDescr(&PyArray_Type, description, PyArray_NDIM(array), PyArray_DIMS(array),
                                           PyArray_STRIDES(array), ferry_device_pointer(view.data),
                                           view.readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (alias != NULL && PyArray_SetBaseObject((PyArrayObject *)alias, new_reference(object)) < 0)
        Py_CLEAR(alias);
    return alias;
}

PyMethodDef kernel_methods[] = {
    {"kernel_compile", kernel_compile, METH_VARARGS, NULL}, {"kernel_launch", kernel_launch, METH_VARARGS, NULL},
    {"kernel_acquire", kernel_acquire, METH_O, NULL},       {"kernel_complete", kernel_complete, METH_O, NULL},
    {"kernel_alias", kernel_alias, METH_O, NULL},           {NULL, NULL, 0, NULL},
};
