#include "cublas.h"

#ifdef FERRY_WITH_CUDA

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define DEVICES_MAX 64

/* As cuBLAS 12 and 13 declare them; 0 is success, operation 0 none, 1 transposition. Strides are in elements. */
#define GEMM_PARAMETERS(T)                                                                                             \
    void *handle, int transpose_a, int transpose_b, int m, int n, int k, const T *alpha, const T *a, int lda,          \
        long long stride_a, const T *b, int ldb, long long stride_b, const T *beta, T *c, int ldc, long long stride_c, \
        int count
#define FUNCTIONS(X)                                                                                                   \
    X(cublasCreate_v2, (void **handle))                                                                                \
    X(cublasSetStream_v2, (void *handle, void *stream))                                                                \
    X(cublasSgemmStridedBatched, (GEMM_PARAMETERS(float)))                                                             \
    X(cublasDgemmStridedBatched, (GEMM_PARAMETERS(double)))

/* Written once, by open_library. */
static struct {
    bool found;
#define FIELD(function, parameters) int(*function) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
} lib;
static pthread_once_t lib_once = PTHREAD_ONCE_INIT;

/* A handle for each device, made on first use; it lives as long as the process. The lock guards both the handle and the
 * stream that it is set to. */
static struct device_handle {
    pthread_mutex_t lock;
    void *handle;
} handles[DEVICES_MAX];

static void *open_first(void) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    const char *path = getenv("FERRY_CUBLAS");
    if (path != NULL && *path != '\0')
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void open_library(void) {
    void *library = open_first();
    for (int i = 0; i < DEVICES_MAX; i++)
        pthread_mutex_init(&handles[i].lock, NULL);
    if (library == NULL)
        return;
    lib.found = true;
#define LOAD(function, parameters)                                                                                     \
    *(void **)&lib.function = dlsym(library, #function);                                                               \
    lib.found &= lib.function != NULL;
    FUNCTIONS(LOAD)
#undef LOAD
}

bool cublas_is_available(void) {
    pthread_once(&lib_once, open_library);
    return lib.found;
}

bool cublas_takes(ferry_dtype dtype, int64_t rows, int64_t columns, int64_t inner) {
    return (dtype == FERRY_FLOAT32 || dtype == FERRY_FLOAT64) && rows <= INT32_MAX && columns <= INT32_MAX &&
           inner <= INT32_MAX;
}

static ferry_status check(int result, const char *call) {
    return result == 0 ? FERRY_OK : ferry_error(FERRY_BACKEND, "%s failed with cuBLAS status %d", call, result);
}

/* Under the device's lock, the device current. */
static ferry_status take_handle(struct device_handle *h, ferry_stream *stream) {
    if (h->handle == NULL) {
        void *handle = NULL;
        ferry_status status = check(lib.cublasCreate_v2(&handle), "cublasCreate");
        if (status != FERRY_OK)
            return status;
        h->handle = handle;
    }
    return check(lib.cublasSetStream_v2(h->handle, ferry_stream_native(stream)), "cublasSetStream");
}

/* One call: the products of a run along the stack's last axis. */
typedef struct batch {
    const matmul_product *p;
    const matmul_layout *layouts;
    char *data[PLAN_OPERANDS];
    int count;
} batch;

static long long step_of(const batch *b, int operand) {
    const plan *stack = &b->p->stack;
    return stack->stride[operand][stack->ndim - 1] / (int64_t)ferry_dtype_size(b->p->dtype);
}

/* cuBLAS's matrices go by columns: it multiplies the transposes, in the other order. */
#define GEMM(function, T)                                                                                              \
    lib.function(handle, b->layouts[2].by_columns, b->layouts[1].by_columns, (int)b->p->columns, (int)b->p->rows,      \
                 (int)b->p->inner, &(const T){1}, (const T *)b->data[2], (int)b->layouts[2].leading, step_of(b, 2),    \
                 (const T *)b->data[1], (int)b->layouts[1].leading, step_of(b, 1), &(const T){0}, (T *)b->data[0],     \
                 (int)b->layouts[0].leading, step_of(b, 0), b->count)

static ferry_status multiply_batch(const batch *b, void *handle) {
    return b->p->dtype == FERRY_FLOAT32 ? check(GEMM(cublasSgemmStridedBatched, float), "cublasSgemmStridedBatched")
                                        : check(GEMM(cublasDgemmStridedBatched, double), "cublasDgemmStridedBatched");
}

static ferry_status multiply_stack(const matmul_product *p, const matmul_layout *layouts, void *handle) {
    const int64_t row = p->stack.extent[p->stack.ndim - 1];
    ferry_status status = FERRY_OK;
    for (int64_t i = 0; i < p->stack.size && status == FERRY_OK;) {
        const int64_t left = row - i % row;
        batch b = {.p = p, .layouts = layouts, .count = (int)(left < INT32_MAX ? left : INT32_MAX)};
        for (int k = 0; k < PLAN_OPERANDS; k++)
            b.data[k] = p->stack.data[k] + plan_offset(&p->stack, k, i);
        status = multiply_batch(&b, handle);
        i += b.count;
    }
    return status;
}

ferry_status cublas_multiply(const matmul_product *p, const matmul_layout *layouts, ferry_stream *stream) {
    matmul_product product = *p;
    matmul_layout ordered[PLAN_OPERANDS] = {layouts[0], layouts[1], layouts[2]};
    if (layouts[0].by_columns) {
        matmul_product_transpose(&product);
        ordered[1] = (matmul_layout){!layouts[2].by_columns, layouts[2].leading};
        ordered[2] = (matmul_layout){!layouts[1].by_columns, layouts[1].leading};
    }
    int before = 0;
    const int device = stream != NULL ? ferry_stream_device(stream) : 0;
    if (device >= DEVICES_MAX || !cublas_is_available())
        return ferry_error(FERRY_UNSUPPORTED, "there is no cuBLAS for device %d", device);
    cudaGetDevice(&before);
    if (before != device && cudaSetDevice(device) != cudaSuccess)
        return ferry_error(FERRY_BACKEND, "device %d cannot be made current", device);
    struct device_handle *h = &handles[device];
    pthread_mutex_lock(&h->lock);
    ferry_status status = take_handle(h, stream);
    if (status == FERRY_OK)
        status = multiply_stack(&product, ordered, h->handle);
    pthread_mutex_unlock(&h->lock);
    if (before != device)
        cudaSetDevice(before);
    return status;
}

#else

bool cublas_is_available(void) {
    return false;
}

bool cublas_takes(ferry_dtype dtype, int64_t rows, int64_t columns, int64_t inner) {
    (void)dtype, (void)rows, (void)columns, (void)inner;
    return false;
}

ferry_status cublas_multiply(const matmul_product *p, const matmul_layout *layouts, ferry_stream *stream) {
    (void)p, (void)layouts, (void)stream;
    return ferry_error(FERRY_UNSUPPORTED, "this build has no CUDA");
}

#endif
