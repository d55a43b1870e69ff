/* What stories about movement share: arrays of bytes, kernels that touch them, and what a step of the story moved. */
#ifndef FERRY_TESTS_ALLOC_STORY_H
#define FERRY_TESTS_ALLOC_STORY_H

#include "alloc/backend_sim.h"
#include "ferry/kernel.h"
#include "ferry/stats.h"
#include "tests/test.h"

#define PAGE FERRY_PAGE_BYTES
#define BLOCK FERRY_BLOCK_BYTES

/* A fresh array of bytes in the heap (NULL: the default one), each page touched by the host and worth `value`. */
static inline ferry_view story_array(ferry_heap *heap, size_t bytes, unsigned char value);
/* The same, but never touched. */
static inline ferry_view story_untouched(ferry_heap *heap, size_t bytes);
/* Bytes first … end of a 1-d array of bytes. */
static inline ferry_view story_slice(const ferry_view *view, size_t first, size_t end);
/* Every step-th run of `run` bytes: shape (n, run), strides (step, 1). */
static inline ferry_view story_runs(const ferry_view *view, size_t first, size_t n, size_t run, size_t step);

/* Acquires, launches a kernel that reads what is read and sets what is written to `value`, completes. */
static inline ferry_status story_kernel(const ferry_operand *operands, size_t n, unsigned char value,
                                        ferry_stream *stream);
static inline ferry_status story_use(const ferry_view *view, ferry_access access, unsigned char value,
                                     ferry_stream *stream);

/* What the counters have counted since the last call, or since story_reset. */
static inline ferry_stats story_counts(void);
static inline void story_reset(void);

/* Checks that the library's account of the last step agrees with the simulator's pages, then what crossed. */
#define STORY_MOVED(in, out) story_moved((in), (out), __FILE__, __LINE__)
static inline void story_moved(uint64_t in, uint64_t out, const char *file, int line);

static ferry_stats last;
static backend_measure last_truth;

static inline ferry_view story_untouched(ferry_heap *heap, size_t bytes) {
    ferry_view view;
    const int64_t shape = (int64_t)bytes;
    void *block = ferry_heap_malloc(heap, bytes);
    REQUIRE(block != NULL);
    REQUIRE_OK(ferry_view_make(block, FERRY_UINT8, 1, &shape, &view));
    return view;
}

static inline ferry_view story_array(ferry_heap *heap, size_t bytes, unsigned char value) {
    const ferry_view view = story_untouched(heap, bytes);
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_WRITE));
    memset(view.data, value, bytes);
    return view;
}

static inline ferry_view story_slice(const ferry_view *view, size_t first, size_t end) {
    ferry_view slice = *view;
    slice.data = (char *)view->data + first;
    slice.shape[0] = (int64_t)(end - first);
    return slice;
}

static inline ferry_view story_runs(const ferry_view *view, size_t first, size_t n, size_t run, size_t step) {
    return (ferry_view){(char *)view->data + first, FERRY_UINT8,       2, false,
                        {(int64_t)n, (int64_t)run}, {(int64_t)step, 1}};
}

/* Sets 2-d views, through the device's address. */
struct job {
    ferry_view view;
    ferry_access access;
    unsigned char value;
};

static inline void set(const ferry_grid *grid, void *const *args) {
    (void)grid;
    const struct job *job = args[0];
    const ferry_view *view = &job->view;
    unsigned char *data = ferry_device_pointer(view->data);
    const int64_t rows = view->ndim == 2 ? view->shape[0] : 1, columns = view->shape[view->ndim - 1];
    for (int64_t row = 0; row < rows && (job->access & FERRY_WRITE) != 0; row++) {
        memset(data + row * view->strides[0] * (view->ndim == 2), job->value, (size_t)columns);
    }
}

static inline ferry_kernel *setter(void) {
    static ferry_kernel *kernel;
    if (kernel == NULL) {
        REQUIRE_OK(ferry_kernel_load(NULL, 0, "set", set, &kernel));
    }
    return kernel;
}

static inline ferry_status story_kernel(const ferry_operand *operands, size_t n, unsigned char value,
                                        ferry_stream *stream) {
    ferry_status status = ferry_acquire(operands, n, stream);
    for (size_t i = 0; i < n && status == FERRY_OK; i++) {
        struct job job = {*operands[i].view, operands[i].access, value};
        void *args[] = {&job};
        status = ferry_kernel_enqueue(setter(), (ferry_grid){{0}, {0}, 0}, args, (size_t[]){sizeof job}, 1, stream);
    }
    return status == FERRY_OK ? ferry_complete(operands, n, stream) : status;
}

static inline ferry_status story_use(const ferry_view *view, ferry_access access, unsigned char value,
                                     ferry_stream *stream) {
    return story_kernel(&(ferry_operand){.view = view, .access = access}, 1, value, stream);
}

static inline ferry_stats story_counts(void) {
    ferry_stats now, since;
    REQUIRE_OK(ferry_stats_get(&now));
#define SINCE(name, text) since.name = now.name - last.name;
    FERRY_STATS_LIST(SINCE)
#undef SINCE
    last = now;
    return since;
}

static inline void story_reset(void) {
    REQUIRE_OK(ferry_stats_get(&last));
    last_truth = backend_sim_totals();
}

static inline void story_moved(uint64_t in, uint64_t out, const char *file, int line) {
    const ferry_stats counted = story_counts();
    const backend_measure truth = backend_sim_totals();
    const uint64_t true_in = truth.bytes_to_device + truth.remote_bytes_to_device - last_truth.bytes_to_device -
                             last_truth.remote_bytes_to_device;
    const uint64_t true_out =
        truth.bytes_to_host + truth.remote_bytes_to_host - last_truth.bytes_to_host - last_truth.remote_bytes_to_host;
    last_truth = truth;
    test_note_uint(counted.bytes_to_device, in, "bytes counted to the device", file, line);
    test_note_uint(counted.bytes_to_host, out, "bytes counted to the host", file, line);
    test_note_uint(true_in, in, "bytes that truly went to the device", file, line);
    test_note_uint(true_out, out, "bytes that truly went to the host", file, line);
}

#endif
