#include "pays_measure.h"

#include <math.h>
#include <string.h>
#include <time.h>

/*
 * Elements: a few that a processor's own caches hold, and as many as it goes over in some milliseconds, which it does
 * not hold where each takes little: it is arrays of a MiB and more that lie in managed memory, and a comparison takes
 * several times longer from memory than from a cache.
 */
#define FEW ((int64_t)4096)
#define LEAST_MANY ((int64_t)1 << 16)
#define MOST_MANY ((int64_t)1 << 22)
#define MANY_NS 4e6
#define HOST_RUNS 3
#define LAUNCH_ELEMENTS 64
#define LAUNCH_RUNS 32
#define OPERANDS 3

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Neither zeros nor so large or small that a function takes another way: 1 to 13, or a quarter to three. */
static void fill(const ferry_view *view) {
    const bool is_float = ferry_dtype_kind(view->dtype) == 'f';
    const ferry_cast_function cast = ferry_dtype_cast(FERRY_FLOAT64, view->dtype);
    const size_t item = ferry_dtype_size(view->dtype), n = (size_t)view->shape[0],
                 few = n < (size_t)FEW ? n : (size_t)FEW;
    char *data = view->data;
    for (size_t i = 0; i < few; i++) {
        const double value = is_float ? 0.25 + (double)(i % 13) / 26 : (double)(1 + i % 13);
        cast(data + i * item, 0, (const char *)&value, 0, 1);
    }
    for (size_t done = few; done < n; done *= 2)
        memcpy(data + done * item, data, (done < n - done ? done : n - done) * item);
}

/* Inputs with values in them, then the output, touched; on failure what there is of them is the caller's to release. */
static ferry_status make_operands(ferry_dtype in, ferry_dtype out, int nin, int64_t n, ferry_array *arrays) {
    for (int k = 0; k <= nin; k++) {
        ferry_status status = ferry_array_create(NULL, k < nin ? in : out, 1, &n, &arrays[k]);
        if (status == FERRY_OK)
            status = ferry_host_acquire(&arrays[k].view, FERRY_WRITE);
        if (status != FERRY_OK)
            return status;
        fill(&arrays[k].view);
    }
    return FERRY_OK;
}

static void release_operands(ferry_array *arrays) {
    for (int k = 0; k < OPERANDS; k++)
        ferry_array_release(&arrays[k]);
}

/* The shortest of some runs: the others were disturbed. */
static double time_loop(ferry_pays_loop loop, char *const *operands, int64_t n, void *context) {
    double shortest = HUGE_VAL;
    for (int run = 0; run < HOST_RUNS; run++) {
        const double start = now_ns();
        loop(operands, n, context);
        shortest = fmin(shortest, now_ns() - start);
    }
    return shortest;
}

static ferry_status time_host(const op_loop *types, int nin, ferry_pays_loop loop, void *context, int64_t n,
                              double *ns) {
    ferry_array arrays[OPERANDS];
    memset(arrays, 0, sizeof arrays);
    const ferry_status status = make_operands(types->compute[0], types->result, nin, n, arrays);
    if (status == FERRY_OK) {
        char *operands[OPERANDS] = {arrays[0].view.data, arrays[1].view.data, arrays[2].view.data};
        *ns = time_loop(loop, operands, n, context);
    }
    release_operands(arrays);
    return status;
}

ferry_status pays_measure_host(const op_loop *types, int nin, ferry_pays_loop loop, void *context, pays_line *out) {
    double few_ns, many_ns;
    ferry_status status = time_host(types, nin, loop, context, FEW, &few_ns);
    if (status != FERRY_OK)
        return status;
    const double fit = MANY_NS * (double)FEW / fmax(few_ns, 1);
    const int64_t many = fit < (double)LEAST_MANY ? LEAST_MANY : fit > (double)MOST_MANY ? MOST_MANY : (int64_t)fit;
    status = time_host(types, nin, loop, context, many, &many_ns);
    if (status == FERRY_OK)
        *out = pays_line_through((size_t)FEW, few_ns, (size_t)many, many_ns);
    return status;
}

/* The first run compiles. */
static ferry_status time_launch(const ferry_array *arrays, ferry_stream *stream, double *ns) {
    const ferry_view *in[] = {&arrays[0].view, &arrays[1].view};
    double shortest = HUGE_VAL;
    for (int run = 0; run < LAUNCH_RUNS; run++) {
        unsigned exceptions;
        const double start = now_ns();
        const ferry_status status = ferry_apply_checked(FERRY_OP_ADD, in, 2, &arrays[2].view, stream, &exceptions);
        if (status != FERRY_OK)
            return status;
        shortest = fmin(shortest, now_ns() - start);
    }
    *ns = shortest;
    return FERRY_OK;
}

ferry_status pays_measure_launch(int device, double *ns) {
    ferry_array arrays[OPERANDS];
    ferry_stream *stream = NULL;
    memset(arrays, 0, sizeof arrays);
    const ferry_policy policy = ferry_thread_policy_set(FERRY_POLICY_REMOTE);
    ferry_status status = make_operands(FERRY_FLOAT64, FERRY_FLOAT64, 2, LAUNCH_ELEMENTS, arrays);
    if (status == FERRY_OK)
        status = ferry_stream_create(device, &stream);
    if (status == FERRY_OK)
        status = time_launch(arrays, stream, ns);
    ferry_stream_destroy(stream);
    release_operands(arrays);
    ferry_thread_policy_set(policy);
    return status;
}
