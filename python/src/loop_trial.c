#include "loop_trial.h"

#include <math.h>
#include <time.h>

#define RUNS 5

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* The quickest of some runs, after one that compiles and touches. */
static ferry_status time_side(trial_side side, const trial *t, int64_t size, double *ns) {
    ferry_status status = side(t, size);
    double quickest = INFINITY;
    for (int i = 0; i < RUNS && status == FERRY_OK; i++) {
        const double start = now_ns();
        status = side(t, size);
        const double taken = now_ns() - start;
        quickest = taken < quickest ? taken : quickest;
    }
    *ns = quickest;
    return status;
}

/* Where the lines through (work[i], host[i]) and (work[i], device[i]) cross. */
static int64_t crossing(const double *host, const double *device, const int64_t *work) {
    const double distance = (double)(work[1] - work[0]);
    const double host_each = (host[1] - host[0]) / distance, device_each = (device[1] - device[0]) / distance;
    if (host_each <= device_each)
        return LOOP_NEVER;
    const double elements = (double)work[0] + (device[0] - host[0]) / (host_each - device_each);
    return elements > LOOP_SHORT ? (int64_t)elements : LOOP_SHORT;
}

int64_t trial_run(const trial *t, trial_side host, trial_side device, const int64_t sizes[2], const int64_t work[2]) {
    double host_ns[2], device_ns[2];
    ferry_status status = FERRY_OK;
    const ferry_policy before = ferry_thread_policy_set(FERRY_POLICY_REMOTE);
    for (int i = 0; i < 2 && status == FERRY_OK; i++) {
        status = time_side(host, t, sizes[i], &host_ns[i]);
        if (status == FERRY_OK)
            status = time_side(device, t, sizes[i], &device_ns[i]);
    }
    ferry_thread_policy_set(before);
    return status == FERRY_OK ? crossing(host_ns, device_ns, work) : LOOP_NEVER;
}

ferry_status trial_create(trial *t, int64_t elements, int64_t result_elements) {
    const int64_t counts[LOOP_OPERANDS] = {elements, elements, result_elements};
    ferry_status status = FERRY_OK;
    memset(t->arrays, 0, sizeof t->arrays);
    for (int i = 0; i < LOOP_OPERANDS && status == FERRY_OK; i++)
        status = ferry_array_zeros(NULL, t->loop->dtypes[i], 1, &counts[i], &t->arrays[i]);
    if (status != FERRY_OK)
        trial_destroy(t);
    return status;
}

void trial_destroy(trial *t) {
    for (int i = 0; i < LOOP_OPERANDS; i++)
        ferry_array_release(&t->arrays[i]);
}
