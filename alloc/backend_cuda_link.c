/*
 * What crossing the link to a device costs, measured on pages that are brought into the state that each figure is
 * about. The least of a few repetitions counts: the first ones also pay for chunks of device memory, page tables and
 * the kernel's compilation, which recycled memory does not.
 */
#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>

#include "cuda_call.h"
#include "cuda_link_code.h"

/* Two block sizes tell what a byte costs in bulk, a part of a block what a call costs however small it is. */
enum { SMALL, MIDDLE, LARGE, SIZES };
static const size_t size_bytes[SIZES] = {(size_t)64 << 10, FERRY_BLOCK_BYTES, 8 * FERRY_BLOCK_BYTES};

/* A span has a range of each size, in blocks of its own. */
static const size_t offset_bytes[SIZES] = {0, FERRY_BLOCK_BYTES, 2 * FERRY_BLOCK_BYTES};
#define SPAN_BYTES (10 * FERRY_BLOCK_BYTES)

#define TINY_BYTES FERRY_PAGE_BYTES
#define SCRATCH_BYTES ((size_t)256 << 20) /* beyond every device's cache */
#define LEAST_SCRATCH_BYTES ((size_t)16 << 20)

#define REPETITIONS 4
#define FRESH_REPETITIONS 3   /* each on a region of its own */
#define LAUNCH_REPETITIONS 12 /* microseconds each, and their difference is told */
#define BURST_LAUNCHES 32     /* in a row, of which each is followed by a launch but the last */
#define VECTOR_BYTES 16
#define BLOCK_THREADS 256
#define MOST_BLOCKS 2048

struct bench {
    int device;
    backend_stream *stream;
    backend_kernel *kernel;
    cudaEvent_t begin, end;
    char *scratch; /* the device's own memory */
    size_t scratch_bytes;
    char *from, *to; /* a span each, host-homed and at home */
};

/* The least time of each size; `least` of none is DBL_MAX. */
struct times {
    double ns[SIZES];
};

static const struct times no_times = {{DBL_MAX, DBL_MAX, DBL_MAX}};

static void keep_least(double *least, double ns) {
    *least = ns < *least ? ns : *least;
}

/* The slope between two points; through the origin where noise hides it. */
static double slope(double low_ns, size_t low_bytes, double high_ns, size_t high_bytes) {
    return high_ns > low_ns ? (high_ns - low_ns) / (double)(high_bytes - low_bytes) : high_ns / (double)high_bytes;
}

static double per_byte(const struct times *times) {
    return slope(times->ns[MIDDLE], size_bytes[MIDDLE], times->ns[LARGE], size_bytes[LARGE]);
}

static double fixed(const struct times *times) {
    double ns = times->ns[SMALL] - per_byte(times) * (double)size_bytes[SMALL];
    return ns > 0 ? ns : 0;
}

/* A move until its pages are there, by the host's clock: a part of the work is done in the call. */
static ferry_status time_move(struct bench *bench, char *address, size_t bytes, ferry_place to, backend_move_kind kind,
                              double *least_ns) {
    backend_move move = {.address = address, .bytes = bytes, .to = to, .kind = kind};
    uint64_t start = backend_cuda.now_ns();
    ferry_status status = cuda_move(&move, 1, bench->stream);
    if (!status)
        status = cuda_stream_sync(bench->stream);
    if (!status)
        keep_least(least_ns, (double)(backend_cuda.now_ns() - start));
    return status;
}

static ferry_status launch(struct bench *bench, char *from, char *to, size_t bytes) {
    uint64_t vectors = bytes / VECTOR_BYTES, blocks = (vectors + BLOCK_THREADS - 1) / BLOCK_THREADS;
    ferry_grid grid = {.blocks = {blocks < MOST_BLOCKS ? (uint32_t)blocks : MOST_BLOCKS}, .threads = {BLOCK_THREADS}};
    void *args[] = {&from, &to, &vectors};
    const size_t sizes[] = {sizeof from, sizeof to, sizeof vectors};
    return cuda_kernel_launch(bench->kernel, &grid, args, sizes, 3, bench->stream);
}

static ferry_status time_kernel(struct bench *bench, char *from, char *to, size_t bytes, double *least_ns) {
    float ms = 0;
    ferry_status status = cuda_check(cudaEventRecord(bench->begin, bench->stream->native), "cudaEventRecord");
    if (!status)
        status = launch(bench, from, to, bytes);
    if (!status)
        status = cuda_check(cudaEventRecord(bench->end, bench->stream->native), "cudaEventRecord");
    if (!status)
        status = cuda_check(cudaEventSynchronize(bench->end), "cudaEventSynchronize");
    if (!status)
        status = cuda_check(cudaEventElapsedTime(&ms, bench->begin, bench->end), "cudaEventElapsedTime");
    if (!status)
        keep_least(least_ns, (double)ms * 1e6);
    return status;
}

static ferry_status time_kernels(struct bench *bench, char *from, char *to, size_t bytes, int repetitions,
                                 double *least_ns) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < repetitions && !status; i++)
        status = time_kernel(bench, from, to, bytes, least_ns);
    return status;
}

/* Half of the scratch and all of it: what the kernel's start takes cancels. */
static ferry_status measure_device(struct bench *bench, ferry_link_costs *out) {
    size_t half_bytes = bench->scratch_bytes / 2;
    double half = DBL_MAX, whole = DBL_MAX;
    ferry_status status = time_kernels(bench, bench->scratch, NULL, half_bytes, REPETITIONS, &half);
    if (!status)
        status = time_kernels(bench, bench->scratch, NULL, bench->scratch_bytes, REPETITIONS, &whole);
    if (!status)
        out->device_ns_per_byte = slope(half, half_bytes, whole, bench->scratch_bytes);
    return status;
}

/* Pages that nobody has touched yet, placed by a prefetch. They can be had once a region. */
static ferry_status time_fresh_moves(struct bench *bench, ferry_place to, struct times *times) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < FRESH_REPETITIONS && !status; i++) {
        void *fresh = NULL;
        if ((status = backend_cuda.reserve(SPAN_BYTES, true, &fresh)))
            return status;
        for (int size = 0; size < SIZES && !status; size++)
            status = time_move(bench, (char *)fresh + offset_bytes[size], size_bytes[size], to, BACKEND_PREFETCH,
                               &times->ns[size]);
        ferry_status released = backend_cuda.release(fresh, SPAN_BYTES);
        status = status ? status : released;
    }
    return status;
}

static ferry_status measure_fill(struct bench *bench, ferry_link_costs *out) {
    struct times to_device = no_times, to_host = no_times;
    ferry_status status = time_fresh_moves(bench, bench->device, &to_device);
    if (!status)
        status = time_fresh_moves(bench, FERRY_PLACE_HOST, &to_host);
    if (status)
        return status;
    out->fill_device_ns_per_byte = per_byte(&to_device);
    out->fill_host_ns_per_byte = per_byte(&to_host);
    return FERRY_OK;
}

/* Both spans at home, every page touched by the host: placed there first, which is quicker than its faults. */
static ferry_status populate(struct bench *bench) {
    void *base = NULL;
    ferry_status status = backend_cuda.reserve(2 * SPAN_BYTES, true, &base);
    if (status)
        return status;
    bench->from = base;
    bench->to = bench->from + SPAN_BYTES;
    double ns = DBL_MAX;
    status = time_move(bench, base, 2 * SPAN_BYTES, FERRY_PLACE_HOST, BACKEND_PREFETCH, &ns);
    for (size_t i = 0; i < 2 * SPAN_BYTES && !status; i += FERRY_PAGE_BYTES)
        bench->from[i] = 1;
    return status;
}

static ferry_status time_remote(struct bench *bench, bool loads, bool stores, double *ns_per_byte) {
    struct times times = no_times;
    ferry_status status = FERRY_OK;
    for (int size = MIDDLE; size <= LARGE && !status; size++)
        status = time_kernels(bench, loads ? bench->from + offset_bytes[size] : NULL,
                              stores ? bench->to + offset_bytes[size] : NULL, size_bytes[size], REPETITIONS,
                              &times.ns[size]);
    if (!status)
        *ns_per_byte = per_byte(&times);
    return status;
}

/* The same launch on a page on the host and on the device. */
static ferry_status time_tiny(struct bench *bench, double *extra_ns) {
    double remote = DBL_MAX, local = DBL_MAX;
    ferry_status status = time_kernels(bench, bench->from, bench->to, TINY_BYTES, LAUNCH_REPETITIONS, &remote);
    if (!status)
        status =
            time_kernels(bench, bench->scratch, bench->scratch + TINY_BYTES, TINY_BYTES, LAUNCH_REPETITIONS, &local);
    if (!status)
        *extra_ns = remote > local ? remote - local : 0;
    return status;
}

/* Launches in a row until the host knows that the last one has ended, by its clock. */
static ferry_status time_burst(struct bench *bench, char *from, char *to, int launches, double *least_ns) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < REPETITIONS && !status; i++) {
        const uint64_t start = backend_cuda.now_ns();
        for (int j = 0; j < launches && !status; j++)
            status = launch(bench, from, to, size_bytes[SMALL]);
        if (!status)
            status = cuda_stream_sync(bench->stream);
        if (!status)
            keep_least(least_ns, (double)(backend_cuda.now_ns() - start));
    }
    return status;
}

/* What launches in a row take longer across the bus than on the device. */
static ferry_status time_extra(struct bench *bench, int launches, double *extra_ns) {
    double remote = DBL_MAX, local = DBL_MAX;
    ferry_status status = time_burst(bench, bench->from, bench->to, launches, &remote);
    if (!status)
        status = time_burst(bench, bench->scratch, bench->scratch + size_bytes[SMALL], launches, &local);
    if (!status)
        *extra_ns = remote > local ? remote - local : 0;
    return status;
}

/* All but the last have a launch behind them to hide something. */
static ferry_status measure_hidden(struct bench *bench, ferry_link_costs *out) {
    double alone = 0, in_a_row = 0;
    ferry_status status = time_extra(bench, 1, &alone);
    if (!status)
        status = time_extra(bench, BURST_LAUNCHES, &in_a_row);
    if (!status)
        out->hidden_ns = fmax(BURST_LAUNCHES * alone - in_a_row, 0) / (BURST_LAUNCHES - 1);
    return status;
}

static ferry_status measure_remote(struct bench *bench, ferry_link_costs *out) {
    ferry_status status = time_remote(bench, true, false, &out->remote_read_ns_per_byte);
    if (!status)
        status = time_remote(bench, false, true, &out->remote_write_ns_per_byte);
    if (!status)
        status = time_remote(bench, true, true, &out->remote_both_ns_per_byte);
    if (!status)
        status = time_tiny(bench, &out->remote_ns);
    if (!status)
        status = measure_hidden(bench, out);
    return status;
}

/* There and back: each move finds all of its pages populated on the other side. */
static ferry_status time_moves(struct bench *bench, backend_move_kind kind, struct times *to_device,
                               struct times *to_host) {
    ferry_status status = FERRY_OK;
    for (int size = 0; size < SIZES; size++) {
        char *range = bench->from + offset_bytes[size];
        for (int i = 0; i < REPETITIONS && !status; i++) {
            status = time_move(bench, range, size_bytes[size], bench->device, kind, &to_device->ns[size]);
            if (!status)
                status = time_move(bench, range, size_bytes[size], FERRY_PLACE_HOST, kind, &to_host->ns[size]);
        }
    }
    return status;
}

/* Without batched calls a discard is a prefetch, and costs what that does. */
static ferry_status measure_moves(struct bench *bench, ferry_link_costs *out) {
    struct times to_device = no_times, to_host = no_times, placed_device = no_times, placed_host = no_times;
    ferry_status status = time_moves(bench, BACKEND_PREFETCH, &to_device, &to_host);
    if (!status)
        status = time_moves(bench, BACKEND_DISCARD_PREFETCH, &placed_device, &placed_host);
    if (status)
        return status;
    out->to_device_ns = fixed(&to_device);
    out->to_device_ns_per_byte = per_byte(&to_device);
    out->to_host_ns = fixed(&to_host);
    out->to_host_ns_per_byte = per_byte(&to_host);
    out->discard_to_device_ns_per_byte = per_byte(&placed_device);
    out->discard_to_host_ns_per_byte = per_byte(&placed_host);
    return FERRY_OK;
}

/* Fresh regions come before the spans, which halves what is reserved at once. */
static ferry_status measure_all(struct bench *bench, ferry_link_costs *out) {
    ferry_status status = measure_device(bench, out);
    if (!status)
        status = measure_fill(bench, out);
    if (!status)
        status = populate(bench);
    if (!status)
        status = measure_remote(bench, out);
    if (!status)
        status = measure_moves(bench, out);
    return status;
}

/* As much as there is, if need be: a figure out of the device's cache is better than none. */
static ferry_status open_scratch(struct bench *bench) {
    cudaError_t error = cudaErrorMemoryAllocation;
    for (size_t bytes = SCRATCH_BYTES; bytes >= LEAST_SCRATCH_BYTES && error == cudaErrorMemoryAllocation; bytes /= 2) {
        bench->scratch_bytes = bytes;
        error = cudaMalloc((void **)&bench->scratch, bytes);
        cudaGetLastError();
    }
    return cuda_check(error, "cudaMalloc");
}

static ferry_status open_bench(struct bench *bench) {
    ferry_status status = cuda_stream_create(bench->device, &bench->stream);
    if (!status)
        status = cuda_kernel_load(cuda_link_code, sizeof cuda_link_code, CUDA_LINK_KERNEL, NULL, &bench->kernel);
    if (!status)
        status = cuda_check(cudaEventCreate(&bench->begin), "cudaEventCreate");
    if (!status)
        status = cuda_check(cudaEventCreate(&bench->end), "cudaEventCreate");
    if (!status)
        status = open_scratch(bench);
    return status;
}

/* Of whatever has been opened. */
static void close_bench(struct bench *bench) {
    if (bench->stream)
        cuda_stream_sync(bench->stream);
    if (bench->from)
        backend_cuda.release(bench->from, 2 * SPAN_BYTES);
    if (bench->scratch)
        cudaFree(bench->scratch);
    if (bench->end)
        cudaEventDestroy(bench->end);
    if (bench->begin)
        cudaEventDestroy(bench->begin);
    cuda_kernel_unload(bench->kernel);
    cuda_stream_destroy(bench->stream);
}

/* Hints concern regions, and these concern every device. */
static ferry_status check_hints(int device) {
    if (device < 0 || device >= cuda_device_count())
        return ferry_error(FERRY_INVALID_ARGUMENT, "device %d of %d", device, cuda_device_count());
    for (int i = 0; i < cuda_device_count(); i++) {
        int concurrent = 0;
        ferry_status status = cuda_check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, i),
                                         "cudaDeviceGetAttribute");
        if (status)
            return status;
        if (!concurrent)
            return ferry_error(FERRY_UNSUPPORTED, "device %d has no concurrent managed access", i);
    }
    return FERRY_OK;
}

ferry_status cuda_link_measure(int device, ferry_link_costs *out) {
    ferry_status status = check_hints(device);
    if (status)
        return status;
    struct cuda_scope scope;
    if ((status = cuda_enter(&scope, device)))
        return status;
    struct bench bench = {.device = device};
    ferry_link_costs costs = {0};
    status = open_bench(&bench);
    if (!status)
        status = measure_all(&bench, &costs);
    close_bench(&bench);
    cuda_leave(&scope);
    if (!status)
        *out = costs;
    return status;
}
