/* What the tests on the device share: starting, arrays of float64, and the counters' differences. */
#ifndef FERRY_TESTS_GPU_GPU_H
#define FERRY_TESTS_GPU_GPU_H

#include <math.h>

#include "ferry/ferry.h"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)

/* Starts the library on CUDA or skips the program. What the programs tell of crossings they tell of prefetching; where
 * they only compare contents, FERRY_POLICY may say otherwise. */
static inline void gpu_start(void) {
    const char *policy = getenv("FERRY_POLICY");
    ferry_options options = {.backend = "cuda", .limit_bytes = 1024 * MIB};
    if (!policy || !*policy)
        options.policy = FERRY_POLICY_PREFETCH;
    if (ferry_init(&options))
        SKIP("%s", ferry_error_detail());
}

/* Whether the driver's own counters run from here on; says why not. */
static inline bool gpu_measure(void) {
    if (ferry_trace_start() == FERRY_OK)
        return true;
    fprintf(stderr, "not measured: %s\n", ferry_error_detail());
    return false;
}

static inline ferry_stats gpu_stats(void) {
    ferry_stats stats = {0};
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats;
}

/* After minus before, field by field; gauges too. */
static inline ferry_stats gpu_since(const ferry_stats *before) {
    ferry_stats now = gpu_stats();
#define SUBTRACT(name, text) now.name -= before->name;
    FERRY_STATS_LIST(SUBTRACT)
#undef SUBTRACT
    return now;
}

/* Within 2 MiB, the driver's granularity, and nothing where nothing is due. */
static inline bool gpu_about(uint64_t got, uint64_t want) {
    return want == 0 ? got == 0 : got + 2 * MIB >= want && got <= want + 2 * MIB;
}

#define CHECK_ABOUT(got, want)                                                                                         \
    CHECK_THAT(gpu_about((got), (want)), "%s is %ju, not about %ju", #got, (uintmax_t)(got), (uintmax_t)(want))

/* `count` float64 in the heap, of undefined contents. */
static inline ferry_array gpu_array(ferry_heap *heap, int64_t count) {
    ferry_array array;
    REQUIRE_OK(ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &array));
    return array;
}

static inline double *gpu_data(const ferry_array *array) {
    return array->view.data;
}

/* The host overwrites: element i becomes base + i mod 1000. */
static inline void gpu_fill(const ferry_array *array, double base) {
    REQUIRE_OK(ferry_host_acquire(&array->view, FERRY_WRITE));
    for (int64_t i = 0; i < array->view.shape[0]; i++)
        gpu_data(array)[i] = base + (double)(i % 1000);
}

static inline ferry_array gpu_filled(ferry_heap *heap, int64_t count, double base) {
    ferry_array array = gpu_array(heap, count);
    gpu_fill(&array, base);
    return array;
}

static inline ferry_status gpu_unary(ferry_op op, const ferry_array *x, const ferry_array *y, ferry_stream *stream) {
    const ferry_view *in[] = {&x->view};
    return ferry_apply(op, in, 1, &y->view, stream);
}

static inline ferry_status gpu_binary(ferry_op op, const ferry_array *a, const ferry_array *b, const ferry_array *y,
                                      ferry_stream *stream) {
    const ferry_view *in[] = {&a->view, &b->view};
    return ferry_apply(op, in, 2, &y->view, stream);
}

/* Elements of `array` that are not scale * f(base + i mod 1000), to 1e-14 relative. The host has acquired it. */
static inline int64_t gpu_wrong(const ferry_array *array, double scale, double (*f)(double), double base) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < array->view.shape[0]; i++) {
        double want = scale * f(base + (double)(i % 1000));
        wrong += !(fabs(gpu_data(array)[i] - want) <= 1e-14 * fabs(want) + 1e-300);
    }
    return wrong;
}

static inline double gpu_same(double x) {
    return x;
}

#endif
