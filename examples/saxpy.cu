/* A launch of one's own: y = a x + y between ferry_acquire and ferry_complete, on the library's stream. */
#include <stdio.h>
#include <string.h>

#include "ferry/ferry.h"

#define SKIPPED 77 /* what the project's tests exit with where there is no device */

__global__ void saxpy(float a, const float *x, float *y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

static ferry_status run(float a, const ferry_view *x, const ferry_view *y) {
    const ferry_operand operands[] = {{x, FERRY_READ, 1, FERRY_POLICY_DEFAULT},
                                      {y, FERRY_READWRITE, 1, FERRY_POLICY_DEFAULT}};
    cudaStream_t stream = (cudaStream_t)ferry_stream_native(NULL);
    int64_t n = ferry_view_size(x);
    ferry_status status = ferry_acquire(operands, 2, NULL); /* both are where the kernel can use them best */
    if (status != FERRY_OK)
        return status;
    saxpy<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(a, (const float *)x->data, (float *)y->data, n);
    cudaError_t launched = cudaGetLastError();
    status = ferry_complete(operands, 2, NULL); /* frees, other streams and the host wait from here on */
    if (launched != cudaSuccess)
        return ferry_error(FERRY_BACKEND, "saxpy: %s", cudaGetErrorString(launched));
    return status != FERRY_OK ? status : ferry_host_acquire(y, FERRY_READ); /* y is the host's again */
}

static void fill(const ferry_view *view, float value) {
    for (int64_t i = 0; i < ferry_view_size(view); i++)
        ((float *)view->data)[i] = value;
}

static bool holds(const ferry_view *view, float value) {
    for (int64_t i = 0; i < ferry_view_size(view); i++) {
        if (((const float *)view->data)[i] != value)
            return false;
    }
    return true;
}

static int fail() {
    fprintf(stderr, "saxpy: %s\n", ferry_error_detail());
    return 1;
}

int main() {
    const int64_t n = 1 << 24;
    ferry_array x = {}, y = {};
    if (ferry_backend_name() == NULL)
        return fail();
    if (strcmp(ferry_backend_name(), "cuda") != 0) {
        fprintf(stderr, "saxpy: there is no device here\n");
        return SKIPPED;
    }
    if (ferry_array_create(NULL, FERRY_FLOAT32, 1, &n, &x) || ferry_array_create(NULL, FERRY_FLOAT32, 1, &n, &y))
        return fail();
    fill(&x.view, 2);
    fill(&y.view, 1);
    if (run(3, &x.view, &y.view))
        return fail();
    bool right = holds(&y.view, 7);
    printf("3 * 2 + 1 %s 7\n", right ? "=" : "is not");
    ferry_array_release(&x);
    ferry_array_release(&y);
    return right ? 0 : 1;
}
