#include "module.h"

#include <pthread.h>

#include "loop.h"
#include "scopes.h"

static _Thread_local struct {
    ferry_stream *stream;
    int depth;    /* of `with ferry.stream()` */
    bool pending; /* launched, not waited for */
} thread;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void destroy_stream(void *stream) {
    ferry_stream_destroy(stream);
}

static void create_key(void) {
    (void)pthread_key_create(&key, destroy_stream);
}

ferry_stream *thread_stream(void) {
    if (thread.stream != NULL)
        return thread.stream;
    ferry_stream *stream;
    pthread_once(&key_once, create_key);
    if (ferry_stream_create(0, &stream) != FERRY_OK)
        return NULL;
    (void)pthread_setspecific(key, stream);
    return thread.stream = stream;
}

bool thread_is_asynchronous(void) {
    return thread.depth > 0;
}

ferry_status thread_settle(void) {
    if (!thread.pending)
        return FERRY_OK;
    thread.pending = false;
    return ferry_stream_sync(thread.stream);
}

ferry_status thread_launched(ferry_status status) {
    if (status != FERRY_OK)
        return status;
    thread.pending = true;
    return thread_is_asynchronous() ? FERRY_OK : thread_settle();
}

ferry_status thread_apply(ferry_op op, const ferry_view *views, unsigned *exceptions) {
    const int nin = ferry_op_arity(op);
    const ferry_view *in[LOOP_OPERANDS], *out = &views[nin];
    for (int i = 0; i < nin; i++)
        in[i] = &views[i];
    *exceptions = 0;
    return thread_is_asynchronous() ? thread_launched(ferry_apply(op, in, nin, out, thread_stream()))
                                    : ferry_apply_checked(op, in, nin, out, thread_stream(), exceptions);
}

static PyObject *scope_stream_enter(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    thread.depth++;
    loops_watch(1);
    Py_RETURN_NONE;
}

static PyObject *scope_stream_exit(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    ferry_status status = FERRY_OK;
    thread.depth--;
    loops_watch(-1);
    Py_BEGIN_ALLOW_THREADS;
    if (thread.depth == 0)
        status = thread_settle();
    Py_END_ALLOW_THREADS;
    return none_or_raise(status);
}

static PyObject *scope_sync(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_sync(NULL);
    Py_END_ALLOW_THREADS;
    thread.pending = false;
    return none_or_raise(status);
}

/* By name; returns the name of the one before. */
static PyObject *scope_policy(PyObject *module, PyObject *argument) {
    (void)module;
    ferry_policy policy = FERRY_POLICY_DEFAULT;
    const char *name = PyUnicode_AsUTF8(argument);
    if (name == NULL)
        return NULL;
    if (strcmp(name, ferry_policy_name(FERRY_POLICY_DEFAULT)) != 0) {
        const ferry_status status = ferry_policy_find(name, &policy);
        if (status != FERRY_OK)
            return raise_status(status);
    }
    return PyUnicode_FromString(ferry_policy_name(ferry_thread_policy_set(policy)));
}

PyMethodDef scope_methods[] = {
    {"stream_enter", scope_stream_enter, METH_NOARGS, NULL},
    {"stream_exit", scope_stream_exit, METH_NOARGS, NULL},
    {"sync", scope_sync, METH_NOARGS, NULL},
    {"policy", scope_policy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
