#define FERRY_IMPORTS_NUMPY
#include "module.h"

#include "allocator.h"
#include "array_type.h"
#include "loop.h"

PyObject *raise_status(ferry_status status) {
    PyObject *type = PyExc_RuntimeError;
    if (status == FERRY_OUT_OF_MEMORY || status == FERRY_LIMIT)
        type = PyExc_MemoryError;
    else if (status == FERRY_INVALID_ARGUMENT || status == FERRY_SHAPE || status == FERRY_NOT_FOUND)
        type = PyExc_ValueError;
    else if (status == FERRY_DTYPE || status == FERRY_CAST)
        type = PyExc_TypeError;
    else if (status == FERRY_IO)
        type = PyExc_OSError;
    const char *detail = ferry_error_detail();
    PyErr_SetString(type, detail[0] != '\0' ? detail : ferry_status_text(status));
    return NULL;
}

PyObject *none_or_raise(ferry_status status) {
    if (status != FERRY_OK)
        return raise_status(status);
    Py_RETURN_NONE;
}

/* NumPy's loops and allocator, which the module replaces, belong to the process: a second interpreter is refused. */
static int claim_process(void) {
    static _Atomic int64_t owner = -1;
    int64_t none = -1, self = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (atomic_compare_exchange_strong(&owner, &none, self) || none == self)
        return 0;
    PyErr_SetString(PyExc_ImportError, "ferry serves one interpreter of a process, and another one has imported it");
    return -1;
}

static int module_execute(PyObject *module) {
    if (claim_process() < 0 || _import_array() < 0 || _import_umath() < 0 || loops_find() < 0 || allocator_start() < 0)
        return -1;
    PyMethodDef *const tables[] = {allocator_methods, array_methods,  call_methods,   copy_methods,
                                   counter_methods,   dlpack_methods, kernel_methods, library_methods,
                                   loop_methods,      memory_methods, scope_methods};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return -1;
    }
    if (array_type_create(module) < 0)
        return -1;
    if (PyModule_AddIntConstant(module, "LENGTH_MEASURED", LOOP_MEASURED) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", ferry_version());
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ferry._ferry",
    .m_doc = "NumPy's data allocator and loops over ferry's C library.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__ferry(void) {
    return PyModuleDef_Init(&module_definition);
}
