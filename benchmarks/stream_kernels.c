/* McCalpin's operations: as kernels, and as loops of the host's threads. */
#include <string.h>

#include "stream.h"

#define ALIGNMENT ((size_t)512) /* doubles in a page: no two threads have elements of one page of an aligned array */

const struct stream_operation stream_operations[STREAM_OPERATIONS] = {
    [STREAM_COPY] = {"copy", STREAM_C, {STREAM_A, STREAM_A}, 1},
    [STREAM_SCALE] = {"scale", STREAM_B, {STREAM_C, STREAM_C}, 1},
    [STREAM_ADD] = {"add", STREAM_C, {STREAM_A, STREAM_B}, 2},
    [STREAM_TRIAD] = {"triad", STREAM_A, {STREAM_B, STREAM_C}, 2},
};

/* Pairs, since 16 bytes are the widest load. What an operation does not use is not loaded. */
static const char source[] =
    "typedef long long number;\n"
    "#define COPY(x, y) (x)\n"
    "#define SCALE(x, y) (s * (x))\n"
    "#define ADD(x, y) ((x) + (y))\n"
    "#define TRIAD(x, y) ((x) + s * (y))\n"
    "#define KERNEL(name, OF) \\\n"
    "    extern \"C\" __global__ void name(const double *x, const double *y, double *z, double s, number n) { \\\n"
    "        for (number i = blockIdx.x * (number)blockDim.x + threadIdx.x; i < n / 2; \\\n"
    "             i += gridDim.x * (number)blockDim.x) { \\\n"
    "            double2 p = ((const double2 *)x)[i], q = ((const double2 *)y)[i]; \\\n"
    "            (void)q; \\\n"
    "            ((double2 *)z)[i] = make_double2(OF(p.x, q.x), OF(p.y, q.y)); \\\n"
    "        } \\\n"
    "        if (n % 2 && blockIdx.x == 0 && threadIdx.x == 0) \\\n"
    "            z[n - 1] = OF(x[n - 1], y[n - 1]); \\\n"
    "    }\n"
    "KERNEL(stream_copy, COPY)\n"
    "KERNEL(stream_scale, SCALE)\n"
    "KERNEL(stream_add, ADD)\n"
    "KERNEL(stream_triad, TRIAD)\n";

static void compute(int operation, const double *restrict x, const double *restrict y, double *restrict z, double s,
                    size_t n) {
    switch (operation) {
    case STREAM_COPY:
        for (size_t i = 0; i < n; i++)
            z[i] = x[i];
        break;
    case STREAM_SCALE:
        for (size_t i = 0; i < n; i++)
            z[i] = s * x[i];
        break;
    case STREAM_ADD:
        for (size_t i = 0; i < n; i++)
            z[i] = x[i] + y[i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            z[i] = x[i] + s * y[i];
    }
}

/* The value of an argument: the simulator's functions get what cudaLaunchKernel would. */
#define ARGUMENT(type, i) (*(type *)args[i])

static void compute_arguments(int operation, void *const *args) {
    compute(operation, ARGUMENT(const double *, 0), ARGUMENT(const double *, 1), ARGUMENT(double *, 2),
            ARGUMENT(double, 3), (size_t)ARGUMENT(long long, 4));
}

static void host_copy(const ferry_grid *grid, void *const *args) {
    (void)grid;
    compute_arguments(STREAM_COPY, args);
}

static void host_scale(const ferry_grid *grid, void *const *args) {
    (void)grid;
    compute_arguments(STREAM_SCALE, args);
}

static void host_add(const ferry_grid *grid, void *const *args) {
    (void)grid;
    compute_arguments(STREAM_ADD, args);
}

static void host_triad(const ferry_grid *grid, void *const *args) {
    (void)grid;
    compute_arguments(STREAM_TRIAD, args);
}

ferry_status stream_kernels_open(struct stream_kernels *kernels) {
    static const char *const names[] = {"stream_copy", "stream_scale", "stream_add", "stream_triad"};
    static const ferry_host_kernel hosts[] = {host_copy, host_scale, host_add, host_triad};
    ferry_status status = FERRY_OK;
    *kernels = (struct stream_kernels){{NULL}};
    for (int i = 0; i < STREAM_OPERATIONS && !status; i++) {
        status = ferry_kernel_compile(source, names[i], &kernels->kernels[i]);
        if (!status)
            status = ferry_kernel_set_host(kernels->kernels[i], hosts[i]);
    }
    return status;
}

void stream_kernels_close(struct stream_kernels *kernels) {
    for (int i = 0; i < STREAM_OPERATIONS; i++)
        ferry_kernel_destroy(kernels->kernels[i]);
    *kernels = (struct stream_kernels){{NULL}};
}

ferry_status stream_enqueue(const struct stream_kernels *kernels, int operation, double *const arrays[STREAM_ARRAYS],
                            double factor, size_t n) {
    const struct stream_operation *op = &stream_operations[operation];
    const double *x = arrays[op->from[0]], *y = arrays[op->from[1]];
    double *z = arrays[op->to];
    long long count = (long long)n;
    void *args[] = {&x, &y, &z, &factor, &count};
    const size_t sizes[] = {sizeof x, sizeof y, sizeof z, sizeof factor, sizeof count};
    return ferry_kernel_enqueue(kernels->kernels[operation], bench_grid_elementwise(n), args, sizes, 5, NULL);
}

struct loop {
    int operation;
    double *const *arrays;
    double factor;
    size_t n, threads;
    bool library;
};

static void do_part(void *context, size_t member) {
    const struct loop *loop = context;
    const struct stream_operation *op = &stream_operations[loop->operation];
    size_t each = (loop->n / loop->threads + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t begin = member * each < loop->n ? member * each : loop->n;
    size_t count = member + 1 == loop->threads || loop->n - begin < each ? loop->n - begin : each;
    const double *x = loop->arrays[op->from[0]] + begin, *y = loop->arrays[op->from[1]] + begin;
    double *z = loop->arrays[op->to] + begin;
    if (loop->library)
        memcpy(z, x, count * sizeof *z);
    else
        compute(loop->operation, x, y, z, loop->factor, count);
}

double stream_on_host(struct team *team, size_t threads, int operation, double *const arrays[STREAM_ARRAYS],
                      double factor, size_t n, bool library) {
    struct loop loop = {operation, arrays, factor, n, threads, library};
    return team_run(team, do_part, &loop);
}
