/* What the library and its devices are. */
#include "module.h"

#include <dlfcn.h>

static PyObject *library_path(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    Dl_info info;
    if (dladdr((void *)(uintptr_t)ferry_version, &info) == 0 || info.dli_fname == NULL)
        return PyErr_Format(PyExc_RuntimeError, "the loader does not know where the ferry library is");
    return PyUnicode_DecodeFSDefault(info.dli_fname);
}

static PyObject *library_backend(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    const char *name;
    Py_BEGIN_ALLOW_THREADS;
    name = ferry_backend_name();
    Py_END_ALLOW_THREADS;
    return name != NULL ? PyUnicode_FromString(name) : raise_status(FERRY_BACKEND);
}

static PyObject *library_limit(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyLong_FromSize_t(ferry_limit());
}

static PyObject *library_device_count(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyLong_FromLong(ferry_device_count());
}

static PyObject *library_default_policy(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyUnicode_FromString(ferry_policy_name(ferry_heap_policy(ferry_heap_default())));
}

static PyObject *dict_of_device(const ferry_device_info *info) {
    return Py_BuildValue("{s:s,s:(ii),s:n,s:n,s:O,s:O}", "name", info->name, "compute_capability", info->compute_major,
                         info->compute_minor, "total_bytes", (Py_ssize_t)info->total_bytes, "free_bytes",
                         (Py_ssize_t)info->free_bytes, "concurrent_managed_access",
                         info->concurrent_managed_access ? Py_True : Py_False, "host_page_tables",
                         info->host_page_tables ? Py_True : Py_False);
}

static PyObject *library_devices(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    const int count = ferry_device_count();
    PyObject *list = PyList_New(0);
    for (int device = 0; device < count && list != NULL; device++) {
        ferry_device_info info;
        const ferry_status status = ferry_device_get(device, &info);
        PyObject *dict = status == FERRY_OK ? dict_of_device(&info) : raise_status(status);
        if (dict == NULL || PyList_Append(list, dict) < 0)
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
}

static PyObject *dict_of_costs(const ferry_link_costs *costs) {
    return Py_BuildValue("{"
#define FIELD(name, text) "sd"
                         FERRY_LINK_LIST(FIELD)
#undef FIELD
                             "}",
#define FIELD(name, text) #name, costs->name,
                         FERRY_LINK_LIST(FIELD)
#undef FIELD
                             NULL);
}

static PyObject *library_link_costs(PyObject *module, PyObject *arguments) {
    (void)module;
    int device, anew;
    ferry_link_costs costs;
    ferry_status status;
    if (!PyArg_ParseTuple(arguments, "ip", &device, &anew))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = anew ? ferry_calibrate(device, &costs) : ferry_link_get(device, &costs);
    Py_END_ALLOW_THREADS;
    return status == FERRY_OK ? dict_of_costs(&costs) : raise_status(status);
}

static PyObject *library_parse_size(PyObject *module, PyObject *argument) {
    (void)module;
    size_t bytes;
    const char *text = PyUnicode_AsUTF8(argument);
    if (text == NULL)
        return NULL;
    const ferry_status status = ferry_size_parse(text, &bytes);
    return status == FERRY_OK ? PyLong_FromSize_t(bytes) : raise_status(status);
}

static PyObject *library_trim(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return none_or_raise(ferry_trim());
}

PyMethodDef library_methods[] = {
    {"library_path", library_path, METH_NOARGS, NULL},
    {"backend", library_backend, METH_NOARGS, NULL},
    {"limit", library_limit, METH_NOARGS, NULL},
    {"default_policy", library_default_policy, METH_NOARGS, NULL},
    {"device_count", library_device_count, METH_NOARGS, NULL},
    {"devices", library_devices, METH_NOARGS, NULL},
    {"link_costs", library_link_costs, METH_VARARGS, NULL},
    {"parse_size", library_parse_size, METH_O, NULL},
    {"trim", library_trim, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
