#include "pays_measure.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Elements: caches hold them, which flatters the host, so that it is the device that has to prove itself. */
#define FEW 2048
#define MANY 16384
#define HOST_RUNS 4
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
    const int64_t stride = view->strides[0];
    for (int64_t i = 0; i < view->shape[0]; i++) {
        const double value = is_float ? 0.25 + (double)(i % 13) / 26 : (double)(1 + i % 13);
        cast((char *)view->data + i * stride, 0, (const char *)&value, 0, 1);
    }
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

ferry_status pays_measure_host(const op_loop *types, int nin, ferry_pays_loop loop, void *context, pays_line *out) {
    ferry_array arrays[OPERANDS];
    memset(arrays, 0, sizeof arrays);
    const ferry_status status = make_operands(types->compute[0], types->result, nin, MANY, arrays);
    if (status == FERRY_OK) {
        char *operands[OPERANDS] = {arrays[0].view.data, arrays[1].view.data, arrays[2].view.data};
        const double few_ns = time_loop(loop, operands, FEW, context);
        *out = pays_line_through(FEW, few_ns, MANY, time_loop(loop, operands, MANY, context));
    }
    release_operands(arrays);
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
