#include "bench_kernels.h"

#include <math.h>

#define THREADS 256
#define SUM_THREADS 1024
#define BLOCKS_MAX 65536

/* Pairs, since 16 bytes are the widest load; arrays begin on pages. */
static const char source[] =
    "typedef long long number;\n"
    "#define EACH(i, n) (number i = blockIdx.x * (number)blockDim.x + threadIdx.x; i < (n); i += gridDim.x * "
    "(number)blockDim.x)\n"
    "extern \"C\" __global__ void bench_log(const double2 *x, double2 *y, number n) {\n"
    "    for EACH(i, n / 2) {\n"
    "        double2 v = x[i];\n"
    "        y[i] = make_double2(log(v.x), log(v.y));\n"
    "    }\n"
    "    if (n % 2 && blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        ((double *)y)[n - 1] = log(((const double *)x)[n - 1]);\n"
    "}\n"
    "extern \"C\" __global__ void bench_negate(double2 *x, number n) {\n"
    "    for EACH(i, n / 2) {\n"
    "        double2 v = x[i];\n"
    "        x[i] = make_double2(-v.x, -v.y);\n"
    "    }\n"
    "    if (n % 2 && blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        ((double *)x)[n - 1] = -((double *)x)[n - 1];\n"
    "}\n"
    "extern \"C\" __global__ void bench_sum(const double2 *x, double *partial, number n) {\n"
    "    __shared__ double warps[32];\n"
    "    double sum = 0;\n"
    "    for EACH(i, n / 2) {\n"
    "        double2 v = x[i];\n"
    "        sum += v.x + v.y;\n"
    "    }\n"
    "    if (n % 2 && blockIdx.x == 0 && threadIdx.x == 0)\n"
    "        sum += ((const double *)x)[n - 1];\n"
    "    for (int lanes = 16; lanes; lanes /= 2)\n"
    "        sum += __shfl_down_sync(~0u, sum, lanes);\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        warps[threadIdx.x / 32] = sum;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) {\n"
    "        for (int i = 1; i < blockDim.x / 32; i++)\n"
    "            sum += warps[i];\n"
    "        partial[blockIdx.x] = sum;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void bench_gather(const double *x, double *out, number first, number step, number n) {\n"
    "    for EACH(k, n)\n"
    "        out[k] = x[first + k * step];\n"
    "}\n"
    "extern \"C\" __global__ void bench_nothing(const double *a, double *b, const double *c) {}\n";

/* The value of an argument: the simulator's functions get what cudaLaunchKernel would. */
#define ARGUMENT(type, i) (*(type *)args[i])

static void host_log(const ferry_grid *grid, void *const *args) {
    const double *x = ARGUMENT(double *, 0);
    double *y = ARGUMENT(double *, 1);
    (void)grid;
    for (long long i = 0; i < ARGUMENT(long long, 2); i++)
        y[i] = log(x[i]);
}

static void host_negate(const ferry_grid *grid, void *const *args) {
    double *x = ARGUMENT(double *, 0);
    (void)grid;
    for (long long i = 0; i < ARGUMENT(long long, 1); i++)
        x[i] = -x[i];
}

static void host_sum(const ferry_grid *grid, void *const *args) {
    const double *x = ARGUMENT(double *, 0);
    double *partial = ARGUMENT(double *, 1);
    for (uint32_t block = 0; block < grid->blocks[0]; block++)
        partial[block] = 0;
    for (long long i = 0; i < ARGUMENT(long long, 2); i++)
        partial[0] += x[i];
}

static void host_gather(const ferry_grid *grid, void *const *args) {
    const double *x = ARGUMENT(double *, 0);
    double *out = ARGUMENT(double *, 1);
    (void)grid;
    for (long long k = 0; k < ARGUMENT(long long, 4); k++)
        out[k] = x[ARGUMENT(long long, 2) + k * ARGUMENT(long long, 3)];
}

static void host_nothing(const ferry_grid *grid, void *const *args) {
    (void)grid, (void)args;
}

static ferry_status open_one(const char *name, ferry_host_kernel host, ferry_kernel **out) {
    ferry_status status = ferry_kernel_compile(source, name, out);
    return status ? status : ferry_kernel_set_host(*out, host);
}

ferry_status bench_kernels_open(struct bench_kernels *kernels) {
    *kernels = (struct bench_kernels){0};
    ferry_status status = open_one("bench_log", host_log, &kernels->log);
    if (!status)
        status = open_one("bench_negate", host_negate, &kernels->negate);
    if (!status)
        status = open_one("bench_sum", host_sum, &kernels->sum);
    if (!status)
        status = open_one("bench_gather", host_gather, &kernels->gather);
    if (!status)
        status = open_one("bench_nothing", host_nothing, &kernels->nothing);
    if (status)
        bench_kernels_close(kernels);
    return status;
}

void bench_kernels_close(struct bench_kernels *kernels) {
    ferry_kernel_destroy(kernels->log);
    ferry_kernel_destroy(kernels->negate);
    ferry_kernel_destroy(kernels->sum);
    ferry_kernel_destroy(kernels->gather);
    ferry_kernel_destroy(kernels->nothing);
    *kernels = (struct bench_kernels){0};
}

ferry_grid bench_grid_elementwise(size_t n) {
    size_t blocks = (n / 2 + THREADS - 1) / THREADS;
    blocks = blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
    return (ferry_grid){.blocks = {(uint32_t)blocks}, .threads = {THREADS}};
}

ferry_grid bench_grid_sum(void) {
    return (ferry_grid){.blocks = {SUM_BLOCKS}, .threads = {SUM_THREADS}};
}

ferry_status bench_enqueue_log(const struct bench_kernels *kernels, const double *x, double *y, size_t n,
                               ferry_stream *stream) {
    long long count = (long long)n;
    void *args[] = {&x, &y, &count};
    const size_t sizes[] = {sizeof x, sizeof y, sizeof count};
    return ferry_kernel_enqueue(kernels->log, bench_grid_elementwise(n), args, sizes, 3, stream);
}

ferry_status bench_enqueue_negate(const struct bench_kernels *kernels, double *x, size_t n, ferry_stream *stream) {
    long long count = (long long)n;
    void *args[] = {&x, &count};
    const size_t sizes[] = {sizeof x, sizeof count};
    return ferry_kernel_enqueue(kernels->negate, bench_grid_elementwise(n), args, sizes, 2, stream);
}

ferry_status bench_enqueue_sum(const struct bench_kernels *kernels, const double *x, double *partial, size_t n,
                               ferry_stream *stream) {
    long long count = (long long)n;
    void *args[] = {&x, &partial, &count};
    const size_t sizes[] = {sizeof x, sizeof partial, sizeof count};
    return ferry_kernel_enqueue(kernels->sum, bench_grid_sum(), args, sizes, 3, stream);
}

ferry_status bench_gather(const struct bench_kernels *kernels, const double *x, double *out, size_t first, size_t step,
                          size_t n) {
    long long numbers[] = {(long long)first, (long long)step, (long long)n};
    void *to = ferry_device_pointer(out), *args[] = {&x, &to, &numbers[0], &numbers[1], &numbers[2]};
    const size_t sizes[] = {sizeof x, sizeof to, sizeof numbers[0], sizeof numbers[1], sizeof numbers[2]};
    ferry_status status = ferry_kernel_enqueue(kernels->gather, bench_grid_elementwise(2 * n), args, sizes, 5, NULL);
    return status ? status : ferry_sync(NULL);
}

ferry_status bench_enqueue_nothing(const struct bench_kernels *kernels, ferry_stream *stream) {
    const void *none = NULL;
    void *args[] = {&none, &none, &none};
    const size_t sizes[] = {sizeof none, sizeof none, sizeof none};
    return ferry_kernel_enqueue(kernels->nothing, (ferry_grid){.blocks = {1}, .threads = {32}}, args, sizes, 3, stream);
}

ferry_status bench_touch(const struct bench_kernels *kernels, const ferry_operand *operands, size_t n,
                         ferry_stream *stream) {
    ferry_status status = ferry_acquire(operands, n, stream);
    if (status)
        return status;
    status = bench_enqueue_nothing(kernels, stream);
    ferry_status completed = ferry_complete(operands, n, stream);
    return status ? status : completed;
}
