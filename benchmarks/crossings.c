/* A logarithm of one array: what crosses, step by step, measured by the driver where it can be. */
#include <math.h>
#include <string.h>

#include "foundation.h"

#define SLACK ((uint64_t)2 << 20) /* the driver counts in blocks of 2 MiB */
#define CHECK_EVERY 4099          /* elements between two that are compared with the host's logarithm */

struct run {
    struct report *report;
    const char *strategy;
    uint64_t bytes;
    ferry_heap *heap;
    ferry_array x, y;
    ferry_stats last; /* the counters at the last step's end */
    double sum;       /* of what was read, so that it is read */
};

typedef ferry_status (*step_function)(struct run *run);

static ferry_status fill(struct run *run, double base) {
    ferry_status status = ferry_host_acquire(&run->x.view, FERRY_WRITE);
    double *x = run->x.view.data;
    for (int64_t i = 0; i < run->x.view.shape[0] && !status; i++)
        x[i] = base + (double)(i & 1023);
    return status;
}

static ferry_status first_fill(struct run *run) {
    return fill(run, 1);
}

static ferry_status take_log(struct run *run) {
    const ferry_view *in[] = {&run->x.view};
    ferry_status status = ferry_apply(FERRY_OP_LOG, in, 1, &run->y.view, NULL);
    return status ? status : ferry_sync(NULL);
}

static ferry_status bring_home(struct run *run) {
    return ferry_host_acquire(&run->y.view, FERRY_READ);
}

static ferry_status read_result(struct run *run) {
    const double *y = run->y.view.data;
    for (int64_t i = 0; i < run->y.view.shape[0]; i++)
        run->sum += y[i];
    return FERRY_OK;
}

static ferry_status overwrite_and_log(struct run *run) {
    ferry_status status = fill(run, 2);
    return status ? status : take_log(run);
}

static const struct {
    const char *name;
    step_function act;
} steps[] = {
    {"fill x", first_fill},
    {"first log", take_log},
    {"bring y home", bring_home},
    {"read y", read_result},
    {"second log", take_log},
    {"overwrite x, log again", overwrite_and_log},
    {"bring y home again", bring_home},
};
enum { FILL, FIRST_LOG, BRING_HOME, READ_RESULT, SECOND_LOG, OVERWRITE, BRING_HOME_AGAIN, STEPS };

static void subtract(ferry_stats *now, const ferry_stats *before) {
#define SUBTRACT(name, text) now->name -= before->name;
    FERRY_STATS_LIST(SUBTRACT)
#undef SUBTRACT
}

static ferry_status take_step(struct run *run, int step, ferry_stats *moved) {
    char name[64];
    struct samples samples = {.n = 0};
    double begin = now_seconds();
    ferry_status status = steps[step].act(run);
    samples_add(&samples, now_seconds() - begin);
    if (status || (status = ferry_stats_get(moved)))
        return status;
    ferry_stats now = *moved;
    subtract(moved, &run->last);
    run->last = now;
    snprintf(name, sizeof name, "log: %s", steps[step].name);
    report_case(run->report, name, run->strategy, run->bytes, &samples);
    report_number(run->report, "to_device_x", (double)moved->bytes_to_device / (double)run->bytes);
    report_number(run->report, "to_host_x", (double)moved->bytes_to_host / (double)run->bytes);
    report_number(run->report, "gpu_fault_groups", (double)moved->gpu_faults);
    report_number(run->report, "cpu_fault_count", (double)moved->cpu_faults);
#define COUNT(field, text) report_count(run->report, #field, moved->field);
    FERRY_STATS_LIST(COUNT)
#undef COUNT
    report_count(run->report, "counters_measured", now.measured);
    report_case_end(run->report);
    return FERRY_OK;
}

static double largest_error(const struct run *run) {
    const double *y = run->y.view.data;
    double worst = 0;
    for (int64_t i = 0; i < run->y.view.shape[0]; i += CHECK_EVERY) {
        double want = log(2 + (double)(i & 1023));
        worst = fmax(worst, fabs(y[i] - want) / want);
    }
    return worst;
}

static bool about(uint64_t got, uint64_t want) {
    return got + SLACK >= want && got <= want + SLACK;
}

static void check_prefetch(struct run *run, const ferry_stats *moved) {
    struct report *report = run->report;
    uint64_t bytes = run->bytes, down = moved[FIRST_LOG].bytes_to_device, up = moved[BRING_HOME].bytes_to_host;
    double whole = (double)bytes;
    report_check(report, about(down, bytes), "first log, bytes to device over size of x", (double)down / whole);
    report_check(report, about(up, bytes), "result, bytes to host over size of y", (double)up / whole);
    uint64_t not_ours =
        down + up - moved[FIRST_LOG].prefetched_bytes_to_device - moved[BRING_HOME].prefetched_bytes_to_host;
    report_check(report, not_ours == 0, "bytes of these that our prefetches did not cause", (double)not_ours);
    uint64_t faults = moved[FIRST_LOG].gpu_faults + moved[BRING_HOME].gpu_faults + moved[SECOND_LOG].gpu_faults;
    report_check(report, faults == 0, "GPU faults", (double)faults);
    report_check(report, moved[READ_RESULT].cpu_faults == 0, "CPU faults on reading the result",
                 (double)moved[READ_RESULT].cpu_faults);
    report_check(report, moved[SECOND_LOG].bytes_to_device <= SLACK, "second log, bytes to device",
                 (double)moved[SECOND_LOG].bytes_to_device);
    report_check(report, about(moved[OVERWRITE].bytes_to_device, bytes),
                 "x overwritten, bytes to device over size of x", (double)moved[OVERWRITE].bytes_to_device / whole);
    report_check(report, moved[OVERWRITE].bytes_to_host <= SLACK, "x overwritten, bytes to host",
                 (double)moved[OVERWRITE].bytes_to_host);
    uint64_t redundant =
        moved[FIRST_LOG].redundant_bytes + moved[SECOND_LOG].redundant_bytes + moved[OVERWRITE].redundant_bytes;
    report_check(report, redundant == 0, "redundant bytes", (double)redundant);
}

static void check_none(struct run *run, const ferry_stats *moved) {
    report_check(run->report, moved[FIRST_LOG].gpu_faults > 0, "policy none, GPU faults",
                 (double)moved[FIRST_LOG].gpu_faults);
    report_check(run->report, moved[READ_RESULT].cpu_faults > 0, "policy none, CPU faults on reading the result",
                 (double)moved[READ_RESULT].cpu_faults);
}

static ferry_status take_steps(struct run *run, ferry_policy policy) {
    ferry_stats moved[STEPS];
    ferry_status status = ferry_stats_get(&run->last);
    for (int step = 0; step < STEPS && !status; step++)
        status = take_step(run, step, &moved[step]);
    if (status)
        return status;
    double error = largest_error(run);
    report_check(run->report, error <= 0x1p-51, "largest relative error of a sampled result", error);
    if (policy == FERRY_POLICY_NONE)
        check_none(run, moved);
    else
        check_prefetch(run, moved);
    return FERRY_OK;
}

static ferry_status run_policy(struct report *report, const struct settings *settings, ferry_policy policy) {
    struct run run = {.report = report, .strategy = ferry_policy_name(policy)};
    ferry_heap_options options = {.name = "benchmark", .policy = policy};
    int64_t count = (int64_t)(settings->bytes / sizeof(double));
    run.bytes = (uint64_t)count * sizeof(double);
    ferry_status status = ferry_heap_create(&options, &run.heap);
    if (!status)
        status = ferry_array_create(run.heap, FERRY_FLOAT64, 1, &count, &run.x);
    if (!status)
        status = ferry_array_create(run.heap, FERRY_FLOAT64, 1, &count, &run.y);
    if (!status)
        status = take_steps(&run, policy);
    ferry_array_release(&run.x);
    ferry_array_release(&run.y);
    ferry_heap_destroy(run.heap);
    return status;
}

/* The first use of an operation compiles it: that is not what is timed. */
static ferry_status warm_up(void) {
    int64_t count = 1000;
    ferry_array x = {.owner = NULL}, y = {.owner = NULL};
    ferry_status status = ferry_array_zeros(NULL, FERRY_FLOAT64, 1, &count, &x);
    if (!status)
        status = ferry_array_create(NULL, FERRY_FLOAT64, 1, &count, &y);
    const ferry_view *in[] = {&x.view};
    if (!status)
        status = ferry_apply(FERRY_OP_LOG, in, 1, &y.view, NULL);
    if (!status)
        status = ferry_sync(NULL);
    ferry_array_release(&x);
    ferry_array_release(&y);
    return status;
}

bool measure_crossings(struct report *report, const struct settings *settings) {
    if (warm_up())
        return false;
    bool tracing = ferry_trace_start() == FERRY_OK;
    if (!tracing)
        fprintf(stderr, "the driver's counters are not read: %s\n", ferry_error_detail());
    report_check(report, tracing, "the driver's counters are measured", tracing);
    ferry_status status = run_policy(report, settings, FERRY_POLICY_PREFETCH);
    if (!status)
        status = run_policy(report, settings, FERRY_POLICY_NONE);
    if (tracing && ferry_trace_stop())
        return false;
    return !status;
}
