/*
 * Libraries that pin a malloc'ed buffer before they copy from it: a managed block is reached by the device as it is,
 * and the driver refuses to pin it. What is not managed goes on to CUDA. Programs that have the runtime linked in
 * statically call it directly, past this.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "ferry/memory.h"

#define EXPORT __attribute__((visibility("default")))

/* CUDA's, whose headers are the library's business. */
enum { CUDA_SUCCESS_CODE = 0, RUNTIME_INSUFFICIENT_DRIVER = 35, DRIVER_NOT_INITIALIZED = 3 };

typedef int (*register_function)(void *, size_t, unsigned);
typedef int (*unregister_function)(void *);
typedef int (*get_pointer_function)(void **, void *, unsigned);

/* Behind this library in the order of search, or in one that was opened apart. */
static void *find(const char *name) {
    static const char *const libraries[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcuda.so.1"};
    void *found = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            found = dlsym(library, name);
            dlclose(library);
        }
    }
    return found;
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
