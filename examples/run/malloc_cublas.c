/*
 * malloc_cublas [copies]: a product of matrices by cuBLAS, which is handed what malloc gave.
 *
 * It knows nothing of ferry. With "copies" the matrices are copied to memory of the device and back, as such programs
 * are usually written.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIDE ((size_t)2048)
#define MATRIX_BYTES (SIDE * SIDE * sizeof(double))
#define NO_DEVICE 77

static bool failed(int status, const char *text, const char *what) {
    if (status != 0) {
        fprintf(stderr, "malloc_cublas: %s: %s\n", what, text);
    }
    return status != 0;
}

static bool cuda_failed(cudaError_t error, const char *what) {
    return failed((int)error, cudaGetErrorString(error), what);
}

/* Small whole numbers: every sum is exact, in whichever order it is formed. */
static void fill(double *matrix, size_t factor) {
    for (size_t at = 0; at < SIDE * SIDE; at++) {
        matrix[at] = (double)(at * factor % 17) - 8;
    }
}

static bool multiply(cublasHandle_t blas, const double *a, const double *b, double *c) {
    const double one = 1, zero = 0;
    const int n = (int)SIDE;
    const cublasStatus_t status = cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
    return !failed((int)status, cublasGetStatusString(status), "cublasDgemm") &&
           !cuda_failed(cudaDeviceSynchronize(), "cublasDgemm");
}

static bool multiply_copies(cublasHandle_t blas, const double *a, const double *b, double *c) {
    double *on_device[3] = {NULL, NULL, NULL};
    bool done = true;
    for (int i = 0; i < 3; i++) {
        done = done && !cuda_failed(cudaMalloc((void **)&on_device[i], MATRIX_BYTES), "cudaMalloc");
    }
    done = done && !cuda_failed(cudaMemcpy(on_device[0], a, MATRIX_BYTES, cudaMemcpyHostToDevice), "copy in") &&
           !cuda_failed(cudaMemcpy(on_device[1], b, MATRIX_BYTES, cudaMemcpyHostToDevice), "copy in") &&
           multiply(blas, on_device[0], on_device[1], on_device[2]) &&
           !cuda_failed(cudaMemcpy(c, on_device[2], MATRIX_BYTES, cudaMemcpyDeviceToHost), "copy out");
    for (int i = 0; i < 3; i++) {
        cudaFree(on_device[i]);
    }
    return done;
}

/* product = matrix * vector, by columns. */
static void apply(const double *matrix, const double *vector, double *product) {
    memset(product, 0, SIDE * sizeof *product);
    for (size_t column = 0; column < SIDE; column++) {
        for (size_t row = 0; row < SIDE; row++) {
            product[row] += matrix[column * SIDE + row] * vector[column];
        }
    }
}

/* Freivalds' check: C v = A (B v) for a vector that no wrong row is likely to be orthogonal to. */
static bool check(const double *a, const double *b, const double *c) {
    static double vector[SIDE], once[SIDE], twice[SIDE], got[SIDE];
    for (size_t i = 0; i < SIDE; i++) {
        vector[i] = (double)(i * i % 1021) + 1;
    }
    apply(b, vector, once);
    apply(a, once, twice);
    apply(c, vector, got);
    if (memcmp(got, twice, sizeof got) != 0) {
        printf("FAILED: the product is wrong\n");
        return false;
    }
    printf("PASS: %zu x %zu, %.0f in the first place\n", SIDE, SIDE, c[0]);
    return true;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool work(cublasHandle_t blas, double *const matrices[3], bool copies) {
    fill(matrices[0], 7);
    fill(matrices[1], 11);
    const double began = seconds();
    if (!(copies ? multiply_copies : multiply)(blas, matrices[0], matrices[1], matrices[2])) {
        return false;
    }
    fprintf(stderr, "work %.6f s\n", seconds() - began);
    return check(matrices[0], matrices[1], matrices[2]);
}

static bool run(double *const matrices[3], bool copies) {
    cublasHandle_t blas;
    const cublasStatus_t status = cublasCreate(&blas);
    if (failed((int)status, cublasGetStatusString(status), "cublasCreate")) {
        return false;
    }
    const bool right = work(blas, matrices, copies);
    cublasDestroy(blas);
    return right;
}

int main(int argc, char **argv) {
    const bool copies = argc > 1 && strcmp(argv[1], "copies") == 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "malloc_cublas: there is no device here\n");
        return NO_DEVICE;
    }
    double *matrices[3];
    bool right = true;
    for (int i = 0; i < 3; i++) {
        matrices[i] = malloc(MATRIX_BYTES);
        right = right && matrices[i] != NULL;
    }
    right = right && run(matrices, copies);
    for (int i = 0; i < 3; i++) {
        free(matrices[i]);
    }
    return right ? 0 : 1;
}
