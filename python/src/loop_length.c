/* From how many elements on a loop is launched, where nobody has said it: measured against NumPy's own loop. */
#include "loop.h"

#include <fenv.h>
#include <time.h>

#include "scopes.h"

/* NumPy's loop with the pointer that it wants. */
typedef struct numpy_loop {
    const loop *loop;
    void *data;
} numpy_loop;

static void run_numpy(char *const *operands, int64_t n, void *context) {
    const numpy_loop *numpy = context;
    const int count = numpy->loop->nin + 1;
    char *args[LOOP_OPERANDS];
    npy_intp steps[LOOP_OPERANDS];
    const npy_intp dimension = n;
    for (int i = 0; i < count; i++) {
        args[i] = operands[i];
        steps[i] = (npy_intp)ferry_dtype_size(numpy->loop->dtypes[i]);
    }
    numpy->loop->numpy(args, &dimension, steps, numpy->data);
}

/* Where it cannot be measured nothing is known to pay. */
static int64_t measure(const loop *l, void *data) {
    numpy_loop numpy = {l, data};
    size_t elements;
    const ferry_status status = ferry_op_pays(l->op, l->dtypes[0], 0, run_numpy, &numpy, &elements);
    return status == FERRY_OK && elements < INT64_MAX ? (int64_t)elements : LOOP_NEVER;
}

/* A reduction on either side: time is taken for two lengths, and a line laid through. */
typedef struct trial {
    const loop *loop;
    void *data;
    ferry_array array; /* LENGTHS[1] elements, all zero */
    ferry_array result;
} trial;

static const int64_t lengths[] = {1 << 15, 1 << 18};
#define RUNS 5

/* Seconds are told by what NumPy calls, and by what waits for the device. */
typedef ferry_status (*side)(const trial *t, int64_t n);

static ferry_status host_side(const trial *t, int64_t n) {
    char *element = t->result.view.data, *args[] = {element, t->array.view.data, element};
    const npy_intp dimension = n, steps[] = {0, (npy_intp)ferry_dtype_size(t->loop->dtypes[1]), 0};
    t->loop->numpy(args, &dimension, steps, t->data);
    return FERRY_OK;
}

static ferry_status device_side(const trial *t, int64_t n) {
    ferry_view in = t->array.view;
    in.shape[0] = n;
    const ferry_status status =
        ferry_reduce(t->loop->reduction, &in, FERRY_REDUCE_ALL, &t->result.view, thread_stream());
    return status == FERRY_OK ? ferry_stream_sync(thread_stream()) : status;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* The quickest of some runs, after one that compiles and touches. */
static ferry_status time_side(side run, const trial *t, int64_t n, double *ns) {
    ferry_status status = run(t, n);
    double quickest = INFINITY;
    for (int i = 0; i < RUNS && status == FERRY_OK; i++) {
        const double start = now_ns();
        status = run(t, n);
        const double taken = now_ns() - start;
        quickest = taken < quickest ? taken : quickest;
    }
    *ns = quickest;
    return status;
}

/* Where two lines through (lengths[i], ns[i]) cross; LOOP_NEVER when the device never overtakes. */
static int64_t crossing(const double *host, const double *device) {
    const double distance = (double)(lengths[1] - lengths[0]);
    const double host_each = (host[1] - host[0]) / distance, device_each = (device[1] - device[0]) / distance;
    const double host_start = host[0] - host_each * (double)lengths[0];
    const double device_start = device[0] - device_each * (double)lengths[0];
    if (host_each <= device_each)
        return LOOP_NEVER;
    const double elements = (device_start - host_start) / (host_each - device_each);
    return elements > LOOP_SHORT ? (int64_t)elements : LOOP_SHORT;
}

static int64_t compare(const trial *t) {
    double host[2], device[2];
    for (int i = 0; i < 2; i++) {
        if (time_side(host_side, t, lengths[i], &host[i]) != FERRY_OK ||
            time_side(device_side, t, lengths[i], &device[i]) != FERRY_OK)
            return LOOP_NEVER;
    }
    return crossing(host, device);
}

/* With the array on the host, where it is dearest for the device. */
static int64_t measure_reduction(const loop *l, void *data) {
    trial t = {.loop = l, .data = data};
    int64_t elements = LOOP_NEVER;
    if (ferry_array_zeros(NULL, l->dtypes[1], 1, &lengths[1], &t.array) != FERRY_OK)
        return LOOP_NEVER;
    if (ferry_array_zeros(NULL, l->dtypes[2], 0, NULL, &t.result) == FERRY_OK) {
        const ferry_policy before = ferry_thread_policy_set(FERRY_POLICY_REMOTE);
        elements = compare(&t);
        ferry_thread_policy_set(before);
        ferry_array_release(&t.result);
    }
    ferry_array_release(&t.array);
    return elements;
}

static bool is_simulated(void) {
    const char *backend = ferry_backend_name();
    return backend == NULL || strcmp(backend, "sim") == 0;
}

/* Keeps the processor's flags. */
static int64_t measured(loop *l, void *data, _Atomic int64_t *length, int64_t (*how)(const loop *, void *)) {
    fexcept_t flags;
    const int64_t known = atomic_load_explicit(length, memory_order_relaxed);
    if (known != LOOP_MEASURED)
        return known;
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    const int64_t elements = is_simulated() ? LOOP_NEVER : how(l, data);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    loop_learn(l, length, elements);
    return elements;
}

int64_t loop_length(loop *l, void *data) {
    return measured(l, data, &l->length, measure);
}

int64_t loop_reduction_length(loop *l, void *data) {
    return measured(l, data, &l->reduction_length, measure_reduction);
}
