/* The stand-in for CUDA's runtime: what it does, and the mistakes that it notices. */
#include "benchmarks/programs/host_cuda.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

#define BYTES ((size_t)64 << 10)

/* Whether a child that touches the byte comes to a bad end. */
static bool is_out_of_reach(const uint8_t *byte) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(*(const volatile uint8_t *)byte == 0 ? 0 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void copies_go_round(void) {
    uint8_t *device = NULL, *host = NULL;
    CHECK_INT(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    CHECK_INT(cudaMallocHost((void **)&host, BYTES), cudaSuccess);
    CHECK(host[0] != 0 && host[BYTES - 1] != 0);
    for (size_t i = 0; i < BYTES; i++)
        host[i] = (uint8_t)(i * 7);
    CHECK_INT(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, NULL), cudaSuccess);
    CHECK_INT(cudaMemsetAsync(device + 1, 3, 1, NULL), cudaSuccess);
    memset(host, 0, BYTES);
    CHECK_INT(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, NULL), cudaSuccess);
    CHECK_INT(host[1], 3);
    for (size_t i = 2; i < BYTES; i++)
        CHECK_INT(host[i], (uint8_t)(i * 7));
    CHECK_INT(cudaFree(device), cudaSuccess);
    CHECK_INT(cudaFreeHost(host), cudaSuccess);
}

static void device_memory_is_out_of_reach(void) {
    uint8_t *device = NULL;
    CHECK_INT(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    CHECK(is_out_of_reach(device));
    host_cuda_enter();
    CHECK(!is_out_of_reach(device));
    CHECK(device[0] != 0 && device[BYTES - 1] != 0);
    host_cuda_leave();
    CHECK(is_out_of_reach(device + BYTES - 1));
    CHECK_INT(cudaFree(device), cudaSuccess);
}

static void wrong_calls_fail(void) {
    uint8_t *device = NULL, *host = NULL, *none = NULL;
    CHECK_INT(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    CHECK_INT(cudaMallocHost((void **)&host, BYTES), cudaSuccess);
    CHECK_INT(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyHostToDevice, NULL), cudaErrorInvalidValue);
    CHECK_INT(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyDeviceToHost, NULL), cudaErrorInvalidValue);
    CHECK_INT(cudaMemcpyAsync(host, host, BYTES, cudaMemcpyDeviceToHost, NULL), cudaErrorInvalidValue);
    CHECK_INT(cudaMemcpyAsync(device + 1, host, BYTES, cudaMemcpyHostToDevice, NULL), cudaErrorInvalidValue);
    CHECK_INT(cudaMemsetAsync(host, 0, BYTES, NULL), cudaErrorInvalidValue);
    CHECK_INT(cudaFree(device + 1), cudaErrorInvalidValue);
    CHECK_INT(cudaFree(host), cudaErrorInvalidValue);
    CHECK_INT(cudaMalloc((void **)&none, 0), cudaErrorMemoryAllocation);
    CHECK_INT(cudaFree(NULL), cudaSuccess);
    CHECK_INT(cudaFree(device), cudaSuccess);
    CHECK_INT(cudaFree(device), cudaErrorInvalidValue);
    CHECK_INT(cudaFreeHost(host), cudaSuccess);
}

int main(void) {
    RUN(copies_go_round);
    RUN(device_memory_is_out_of_reach);
    RUN(wrong_calls_fail);
    return test_finish();
}
