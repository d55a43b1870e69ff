/* cuBLAS's functions that the library uses, on the host: with BLAS's definitions and its checks of arguments. */
#include "ferry/status.h"

FERRY_API int cublasCreate_v2(void **handle) {
    static int the_one;
    *handle = &the_one;
    return 0;
}

FERRY_API int cublasSetStream_v2(void *handle, void *stream) {
    (void)stream;
    return handle == NULL;
}

/* Matrices by columns: C (m x n) = op(A) (m x k) op(B) (k x n). 7 is CUBLAS_STATUS_INVALID_VALUE. */
#define GEMM(name, T)                                                                                                  \
    FERRY_API int name(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const T *alpha,            \
                       const T *a, int lda, long long stride_a, const T *b, int ldb, long long stride_b,               \
                       const T *beta, T *c, int ldc, long long stride_c, int count) {                                  \
        if (handle == NULL || *alpha != 1 || *beta != 0 || lda < (transpose_a ? k : m) ||                              \
            ldb < (transpose_b ? n : k) || ldc < m || m < 1 || n < 1 || k < 1 || count < 1)                            \
            return 7;                                                                                                  \
        for (int i = 0; i < count; i++, a += stride_a, b += stride_b, c += stride_c) {                                 \
            for (long long row = 0; row < m; row++) {                                                                  \
                for (long long column = 0; column < n; column++) {                                                     \
                    T sum = 0;                                                                                         \
                    for (long long j = 0; j < k; j++)                                                                  \
                        sum += a[transpose_a ? row * lda + j : j * lda + row] *                                        \
                               b[transpose_b ? j * ldb + column : column * ldb + j];                                   \
                    c[column * ldc + row] = sum;                                                                       \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
GEMM(cublasSgemmStridedBatched, float)
GEMM(cublasDgemmStridedBatched, double)
