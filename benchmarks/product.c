#include "product.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* As cuBLAS 12 and 13 declare them; 0 is success, and no transposition. */
typedef int (*create_function)(void **handle);
typedef int (*destroy_function)(void *handle);
typedef int (*stream_function)(void *handle, void *stream);
typedef int (*dgemm_function)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha,
                              const double *a, int lda, const double *b, int ldb, const double *beta, double *c,
                              int ldc);

static struct {
    void *library, *handle;
    destroy_function destroy;
    stream_function set_stream;
    dgemm_function dgemm;
} blas;

static void *open_library(void) {
    const char *named = getenv("FERRY_CUBLAS");
    const char *const names[] = {named && *named ? named : "libcublas.so.13", "libcublas.so.13", "libcublas.so.12",
                                 "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* ISO C has no conversion from an object pointer to a function pointer; POSIX gives the bytes that meaning. */
static ferry_status find(const char *name, void *function, size_t bytes) {
    void *symbol = dlsym(blas.library, name);
    memcpy(function, &symbol, bytes);
    return symbol ? FERRY_OK : ferry_error(FERRY_UNSUPPORTED, "cuBLAS has no %s", name);
}

static ferry_status open_handle(void) {
    create_function create;
    ferry_status status = find("cublasCreate_v2", &create, sizeof create);
    if (!status)
        status = find("cublasDestroy_v2", &blas.destroy, sizeof blas.destroy);
    if (!status)
        status = find("cublasSetStream_v2", &blas.set_stream, sizeof blas.set_stream);
    if (!status)
        status = find("cublasDgemm_v2", &blas.dgemm, sizeof blas.dgemm);
    if (!status && create(&blas.handle)) {
        blas.handle = NULL;
        status = ferry_error(FERRY_UNSUPPORTED, "cuBLAS cannot start");
    }
    return status;
}

ferry_status product_open(void) {
    blas.library = open_library();
    if (!blas.library)
        return ferry_error(FERRY_UNSUPPORTED, "libcublas is not to be found (FERRY_CUBLAS)");
    ferry_status status = open_handle();
    if (status)
        product_close();
    return status;
}

void product_close(void) {
    if (blas.handle)
        blas.destroy(blas.handle);
    if (blas.library)
        dlclose(blas.library);
    blas.handle = blas.library = NULL;
}

/* cuBLAS's matrices go by columns: it multiplies the transposes, in the other order. */
ferry_status product_enqueue(double *c, const double *a, const double *b, int side, void *stream) {
    static const double one = 1, zero = 0;
    if (blas.set_stream(blas.handle, stream) ||
        blas.dgemm(blas.handle, 0, 0, side, side, side, &one, b, side, a, side, &zero, c, side))
        return ferry_error(FERRY_BACKEND, "cublasDgemm failed for matrices of %d rows", side);
    return FERRY_OK;
}
