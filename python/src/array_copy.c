#include "array_copy.h"

#include <pthread.h>
#include <stdatomic.h>

#include "arrays.h"
#include "scopes.h"
#include "sites.h"

#define LEAST_BYTES ((size_t)1 << 20) /* to be worth while at all, */
#define SHARE_BYTES ((size_t)2 << 20) /* and for each thread */
#define THREADS_MAX 64

/* Of 16 cores, four copied at 17 to 25 GB/s and eight at 29; one at 7. */
static _Atomic int copy_threads = 6;

/* What one thread copies. */
typedef struct share {
    ferry_view to, from;
    ferry_status status;
    char detail[256]; /* errors are the thread's own */
    pthread_t thread;
    bool started;
} share;

static void *copy_share(void *argument) {
    share *mine = argument;
    mine->status = ferry_assign_host_casting(&mine->to, &mine->from, FERRY_CAST_SAFE);
    if (mine->status != FERRY_OK)
        PyOS_snprintf(mine->detail, sizeof mine->detail, "%s", ferry_error_detail());
    return NULL;
}

/* The axis that falls into shares most evenly: the longest one, the outermost of equals. */
static int axis_to_divide(const ferry_view *view) {
    int longest = 0;
    for (int axis = 1; axis < view->ndim; axis++) {
        if (view->shape[axis] > view->shape[longest])
            longest = axis;
    }
    return view->shape[0] >= THREADS_MAX ? 0 : longest;
}

static ferry_status take_part(const ferry_view *view, int axis, int64_t start, int64_t stop, ferry_view *out) {
    ferry_slice slices[FERRY_MAX_DIMS];
    for (int i = 0; i < axis; i++)
        slices[i] = (ferry_slice){FERRY_SLICE_NONE, FERRY_SLICE_NONE, 1};
    slices[axis] = (ferry_slice){start, stop, 1};
    return ferry_view_slice(view, axis + 1, slices, out);
}

static int shares_of(const ferry_view *to, int axis) {
    const size_t bytes = ferry_view_bytes(to);
    int64_t shares = atomic_load(&copy_threads);
    if ((size_t)shares > bytes / SHARE_BYTES)
        shares = (int64_t)(bytes / SHARE_BYTES);
    shares = shares < to->shape[axis] ? shares : to->shape[axis];
    return shares > 1 ? (int)shares : 1;
}

/* Both have one shape, and are at home. A share whose thread cannot be had is copied by the caller. */
static ferry_status copy_in_shares(const ferry_view *to, const ferry_view *from) {
    share shares[THREADS_MAX];
    const int axis = axis_to_divide(to), n = shares_of(to, axis);
    ferry_status status = FERRY_OK;
    for (int i = 0; i < n; i++) {
        share *next = &shares[i];
        const int64_t start = to->shape[axis] * i / n, stop = to->shape[axis] * (i + 1) / n;
        next->status = take_part(to, axis, start, stop, &next->to);
        next->status = next->status == FERRY_OK ? take_part(from, axis, start, stop, &next->from) : next->status;
        next->started = i > 0 && pthread_create(&next->thread, NULL, copy_share, next) == 0;
    }
    for (int i = 0; i < n; i++) {
        if (!shares[i].started)
            copy_share(&shares[i]);
    }
    for (int i = 0; i < n; i++) {
        if (shares[i].started)
            pthread_join(shares[i].thread, NULL);
        if (shares[i].status != FERRY_OK)
            status = ferry_error(shares[i].status, "%s", shares[i].detail);
    }
    return status;
}

/* On the device where the source is there, else on the host. Without the interpreter. */
static ferry_status copy_views(const ferry_view *to, const ferry_view *from) {
    ferry_status status = thread_settle();
    if (status == FERRY_OK && ferry_owns(to->data) && ferry_owns(from->data) && ferry_view_place(from) >= 0) {
        ferry_stream *stream = thread_stream();
        status = ferry_assign(to, from, stream);
        return status == FERRY_OK ? ferry_stream_sync(stream) : status;
    }
    status = status == FERRY_OK ? ferry_host_acquire(from, FERRY_READ) : status;
    status = status == FERRY_OK ? ferry_host_acquire(to, FERRY_WRITE) : status;
    return status == FERRY_OK ? copy_in_shares(to, from) : status;
}

/* Both as views, the source with the destination's shape; false where NumPy had better see to it. */
static bool find_views(PyArrayObject *to, PyArrayObject *from, ferry_view *to_view, ferry_view *from_view) {
    if ((size_t)PyArray_NBYTES(to) < LEAST_BYTES || !PyArray_ISWRITEABLE(to) || !PyArray_ISALIGNED(to) ||
        !PyArray_ISALIGNED(from))
        return false;
    ferry_view source;
    return find_view(to, to_view) && find_view(from, &source) && source.ndim <= to_view->ndim &&
           ferry_dtype_can_cast(source.dtype, to_view->dtype, FERRY_CAST_SAFE) &&
           ferry_view_broadcast(&source, to_view->ndim, to_view->shape, from_view) == FERRY_OK &&
           !ferry_view_overlap(to_view, from_view) && !ferry_view_self_overlap(to_view);
}

int copy_into(PyArrayObject *to, PyArrayObject *from) {
    ferry_view to_view, from_view;
    if (!find_views(to, from, &to_view, &from_view))
        return 0;
    const ferry_site before = ferry_site_set(site_of_frame());
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = copy_views(&to_view, &from_view);
    Py_END_ALLOW_THREADS;
    ferry_site_set(before);
    if (status != FERRY_OK)
        raise_status(status);
    return status == FERRY_OK ? 1 : -1;
}

static PyObject *copy_copyto(PyObject *module, PyObject *arguments) {
    (void)module;
    PyArrayObject *to, *from;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyArray_Type, &to, &PyArray_Type, &from))
        return NULL;
    const int done = copy_into(to, from);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

static PyObject *copy_set_threads(PyObject *module, PyObject *argument) {
    (void)module;
    const long threads = PyLong_AsLong(argument);
    if (threads == -1 && PyErr_Occurred())
        return NULL;
    if (threads < 1 || threads > THREADS_MAX)
        return PyErr_Format(PyExc_ValueError, "copies are made by 1 to %d threads, not %ld", THREADS_MAX, threads);
    return PyLong_FromLong(atomic_exchange(&copy_threads, (int)threads));
}

PyMethodDef copy_methods[] = {
    {"copy_into", copy_copyto, METH_VARARGS, NULL},
    {"set_copy_threads", copy_set_threads, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
