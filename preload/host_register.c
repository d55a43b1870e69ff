/*
 * Libraries that pin a malloc'ed buffer before they copy from it: a managed block is reached by the device as it is,
 * and the driver refuses to pin it. What is not managed goes on to CUDA. Programs that have the runtime linked in
 * statically call it directly, past this.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "callers.h"
#include "ferry/memory.h"
#include "shim.h"

/* CUDA's, whose headers are the library's business. */
enum { CUDA_SUCCESS_CODE = 0, RUNTIME_INSUFFICIENT_DRIVER = 35, DRIVER_NOT_INITIALIZED = 3 };

typedef int (*register_function)(void *, size_t, unsigned);
typedef int (*unregister_function)(void *);
typedef int (*get_pointer_function)(void **, void *, unsigned);

/* In a library that was opened apart. */
static void *find_apart(const char *prefix, const char *name) {
    char path[4096];
    void *library = callers_find_library(prefix, path, sizeof path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (library != NULL) {
        dlclose(library);
    }
    return found;
}

/* Behind this library in the order of search, else anywhere. */
static void *find(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    found = found == NULL ? find_apart("libcudart", name) : found;
    return found == NULL ? find_apart("libcuda.so", name) : found;
}

static int pass_register(const char *name, void *block, size_t bytes, unsigned flags, int absent) {
    register_function function = NULL;
    *(void **)&function = find(name);
    return function == NULL ? absent : function(block, bytes, flags);
}

static int pass_unregister(const char *name, void *block, int absent) {
    unregister_function function = NULL;
    *(void **)&function = find(name);
    return function == NULL ? absent : function(block);
}

static int pass_get_pointer(const char *name, void **out, void *block, unsigned flags, int absent) {
    get_pointer_function function = NULL;
    *(void **)&function = find(name);
    return function == NULL ? absent : function(out, block, flags);
}

#define FAMILY(registers, unregisters, gets, absent)                                                                   \
    EXPORT int registers(void *block, size_t bytes, unsigned flags);                                                   \
    EXPORT int unregisters(void *block);                                                                               \
    EXPORT int gets(void **out, void *block, unsigned flags);                                                          \
    int registers(void *block, size_t bytes, unsigned flags) {                                                         \
        return ferry_owns(block) ? CUDA_SUCCESS_CODE : pass_register(#registers, block, bytes, flags, absent);         \
    }                                                                                                                  \
    int unregisters(void *block) {                                                                                     \
        return ferry_owns(block) ? CUDA_SUCCESS_CODE : pass_unregister(#unregisters, block, absent);                   \
    }                                                                                                                  \
    int gets(void **out, void *block, unsigned flags) {                                                                \
        if (!ferry_owns(block))                                                                                        \
            return pass_get_pointer(#gets, out, block, flags, absent);                                                 \
        *out = block;                                                                                                  \
        return CUDA_SUCCESS_CODE;                                                                                      \
    }

FAMILY(cudaHostRegister, cudaHostUnregister, cudaHostGetDevicePointer, RUNTIME_INSUFFICIENT_DRIVER)
FAMILY(cuMemHostRegister_v2, cuMemHostUnregister, cuMemHostGetDevicePointer_v2, DRIVER_NOT_INITIALIZED)
