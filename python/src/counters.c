/* Counters and their measurement. */
#include "module.h"

/* A new reference to a value in `dict`, which takes it over. */
static int put_number(PyObject *dict, const char *name, uint64_t number) {
    PyObject *value = PyLong_FromUnsignedLongLong(number);
    const int result = value != NULL ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return result;
}

static PyObject *dict_of_stats(const ferry_stats *stats) {
    PyObject *dict = PyDict_New();
    if (dict == NULL)
        return NULL;
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
#define FIELD(name, text) {#name, stats->name},
        FERRY_STATS_LIST(FIELD)
#undef FIELD
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (put_number(dict, fields[i].name, fields[i].value) < 0) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    return dict;
}

static PyObject *counters_stats(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    ferry_stats stats;
    const ferry_status status = ferry_stats_get(&stats);
    return status == FERRY_OK ? dict_of_stats(&stats) : raise_status(status);
}

/* To be measuring already is no wrong argument: there is none. */
static PyObject *none_or_runtime_error(ferry_status status) {
    if (status == FERRY_OK)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_RuntimeError, ferry_error_detail());
    return NULL;
}

static PyObject *counters_trace_start(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_trace_start();
    Py_END_ALLOW_THREADS;
    return none_or_runtime_error(status);
}

static PyObject *counters_trace_stop(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    ferry_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ferry_trace_stop();
    Py_END_ALLOW_THREADS;
    return none_or_runtime_error(status);
}

PyMethodDef counter_methods[] = {
    {"stats", counters_stats, METH_NOARGS, NULL},
    {"trace_start", counters_trace_start, METH_NOARGS, NULL},
    {"trace_stop", counters_trace_stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
