/* np.matmul of whole arrays: stacks that broadcast, rows, columns and mixed types, which NumPy's loop sees in pieces.
 */
#include "array_call.h"

#include "arrays.h"
#include "loop.h"
#include "scopes.h"
#include "sites.h"

/* A product on its way to the library. Arrays are owned. */
typedef struct product {
    PyArrayObject *out;
    ferry_view a, b, c;
} product;

static bool take_operand(PyObject *object, ferry_view *view) {
    if (!PyArray_Check(object) || PyArray_NDIM((PyArrayObject *)object) == 0 ||
        !PyArray_ISALIGNED((PyArrayObject *)object) || !ferry_owns(PyArray_DATA((PyArrayObject *)object)))
        return false;
    return find_view((PyArrayObject *)object, view);
}

/* Axis `back` of the stack, counted from its end; 1 where there is none. */
static int64_t stack_extent(const ferry_view *view, int back) {
    const int axis = view->ndim - 3 - back;
    return axis >= 0 ? view->shape[axis] : 1;
}

static int stack_axes(const ferry_view *view) {
    return view->ndim > 2 ? view->ndim - 2 : 0;
}

/* The product's shape, and how many multiplications it takes; −1 where there is none. */
static int64_t find_shape(const product *p, int *ndim, npy_intp *shape) {
    const ferry_view *a = &p->a, *b = &p->b;
    const int64_t k = a->shape[a->ndim - 1], rows = a->ndim > 1 ? a->shape[a->ndim - 2] : 1;
    const int64_t columns = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    const int stack = stack_axes(a) > stack_axes(b) ? stack_axes(a) : stack_axes(b);
    int64_t work = call_product_of(call_product_of(rows, columns), k);
    if (k != b->shape[b->ndim > 1 ? b->ndim - 2 : 0])
        return -1;
    for (int back = 0; back < stack; back++) {
        const int64_t one = stack_extent(a, back), two = stack_extent(b, back);
        if (one != two && one != 1 && two != 1)
            return -1;
        shape[stack - 1 - back] = one == 1 ? two : one;
        work = call_product_of(work, shape[stack - 1 - back]);
    }
    *ndim = stack;
    if (a->ndim > 1)
        shape[(*ndim)++] = rows;
    if (b->ndim > 1)
        shape[(*ndim)++] = columns;
    return work;
}

static bool take_out(product *p, const whole_call *call, int ndim, npy_intp *shape, PyArray_Descr *type) {
    if (call->out != NULL)
        p->out = (PyArrayObject *)new_reference((PyObject *)call->out);
    else
        p->out = (PyArrayObject *)PyArray_Empty(ndim, shape, (PyArray_Descr *)new_reference((PyObject *)type), 0);
    if (p->out == NULL) {
        PyErr_Clear();
        return false;
    }
    return find_view(p->out, &p->c) && PyArray_EquivTypes(PyArray_DESCR(p->out), type) && PyArray_ISWRITEABLE(p->out) &&
           PyArray_ISALIGNED(p->out) && ferry_owns(PyArray_DATA(p->out));
}

static bool prepare(product *p, const whole_call *call) {
    int ndim;
    npy_intp shape[FERRY_MAX_DIMS];
    ferry_dtype dtype;
    if (!take_operand(PyTuple_GET_ITEM(call->inputs, 0), &p->a) ||
        !take_operand(PyTuple_GET_ITEM(call->inputs, 1), &p->b))
        return false;
    const int64_t work = find_shape(p, &ndim, shape);
    PyArray_Descr *type = work < 1 ? NULL : call_result_type(call);
    if (type == NULL)
        return false;
    const bool ready = dtype_of_number(type->type_num, &dtype) && call_pays(FERRY_OP_COUNT, dtype, false, work) &&
                       take_out(p, call, ndim, shape, type);
    Py_DECREF(type);
    return ready;
}

static PyObject *run(const product *p, const whole_call *call) {
    ferry_status status;
    const ferry_site before = ferry_site_set(site_of_frame());
    Py_BEGIN_ALLOW_THREADS;
    status = thread_launched(ferry_matmul(&p->a, &p->b, &p->c, thread_stream()));
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    if (status != FERRY_OK)
        return call_is_refused(status) ? NULL : raise_status(status);
    call_count();
    PyObject *result = new_reference((PyObject *)p->out);
    return call->out == NULL ? PyArray_Return((PyArrayObject *)result) : result;
}

PyObject *call_product(const whole_call *call) {
    product p = {.out = NULL};
    if (call_never_pays() || PyTuple_GET_SIZE(call->inputs) != 2 || !loops_are_of(FERRY_OP_COUNT, call->ufunc))
        return NULL;
    PyObject *result = prepare(&p, call) ? run(&p, call) : NULL;
    Py_XDECREF(p.out);
    return result;
}
