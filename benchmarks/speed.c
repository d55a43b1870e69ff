/* Prefetch beside pinned copies in the same run, and the fixed costs of acquiring and launching. */
#include <string.h>

#include "foundation.h"
#include "pinned.h"

#define CALLS 1000 /* in a batch that is timed as one */
#define BATCHES 101

static double timed(ferry_status (*act)(const ferry_view *view), const ferry_view *view, struct samples *samples,
                    ferry_status *status) {
    double begin = now_seconds();
    *status = act(view);
    double seconds = now_seconds() - begin;
    samples_add(samples, seconds);
    return seconds;
}

static ferry_status there(const ferry_view *view) {
    ferry_status status = ferry_prefetch(view, 0, NULL);
    return status ? status : ferry_sync(NULL);
}

static ferry_status home(const ferry_view *view) {
    ferry_status status = ferry_prefetch(view, FERRY_PLACE_HOST, NULL);
    return status ? status : ferry_sync(NULL);
}

static ferry_status fill(const ferry_view *view) {
    ferry_status status = ferry_host_acquire(view, FERRY_WRITE);
    for (int64_t i = 0; i < view->shape[0] && !status; i++)
        ((double *)view->data)[i] = (double)i;
    return status;
}

enum { PREFETCH_THERE, PREFETCH_HOME, PINNED_THERE, PINNED_HOME, TRANSFERS };
static const char *const transfer_names[TRANSFERS] = {"to device", "to host", "to device", "to host"};

static bool time_pinned(struct samples *samples, bool to_device) {
    double begin = now_seconds();
    bool worked = pinned_copy(to_device);
    samples_add(samples, now_seconds() - begin);
    return worked;
}

/* One of each, so that whatever the machine does meanwhile happens to all. */
static bool transfer_round(const ferry_view *view, bool pinned, struct samples *samples) {
    ferry_status status;
    timed(there, view, &samples[PREFETCH_THERE], &status);
    if (!status && pinned && !time_pinned(&samples[PINNED_THERE], true))
        return false;
    if (!status)
        timed(home, view, &samples[PREFETCH_HOME], &status);
    if (!status && pinned && !time_pinned(&samples[PINNED_HOME], false))
        return false;
    return !status;
}

static void report_transfers(struct report *report, uint64_t bytes, struct samples *samples, bool pinned) {
    for (int i = 0; i < TRANSFERS; i++)
        if (samples[i].n) {
            report_case(report, transfer_names[i], i < PINNED_THERE ? "prefetch" : "pinned copy", bytes, &samples[i]);
            report_number(report, "gb_per_s", 1e-9 * (double)bytes / samples_median(&samples[i]));
            report_case_end(report);
        }
    if (pinned) {
        double ratio = samples_median(&samples[PINNED_THERE]) / samples_median(&samples[PREFETCH_THERE]);
        report_check(report, ratio >= 0.88, "prefetch to device over pinned copy, throughput", ratio);
    }
}

static bool measure_transfers(struct report *report, const struct settings *settings, const ferry_view *view) {
    static struct samples samples[TRANSFERS];
    size_t bytes = ferry_view_bytes(view);
    bool pinned = settings->cuda && pinned_open(bytes);
    bool worked = fill(view) == FERRY_OK && transfer_round(view, pinned, samples); /* once unmeasured */
    for (int i = 0; i < TRANSFERS; i++)
        samples[i].n = 0;
    for (size_t i = 0; i < settings->runs && worked; i++)
        worked = transfer_round(view, pinned, samples);
    if (pinned)
        pinned_close();
    if (worked)
        report_transfers(report, bytes, samples, pinned);
    return worked;
}

static void nothing(const ferry_grid *grid, void *const *args) {
    (void)grid, (void)args;
}

/* What is timed: CALLS of something, with what they need. */
struct calls {
    ferry_operand operand;
    ferry_kernel *kernel;
    ferry_grid grid;
};

typedef ferry_status (*batch_function)(struct calls *calls);

static ferry_status acquire_and_complete(struct calls *calls) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < CALLS && !status; i++) {
        status = ferry_acquire(&calls->operand, 1, NULL);
        if (!status)
            status = ferry_complete(&calls->operand, 1, NULL);
    }
    return status;
}

static ferry_status acquire_only(struct calls *calls) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < CALLS && !status; i++)
        status = ferry_acquire(&calls->operand, 1, NULL);
    return status;
}

static ferry_status launch(struct calls *calls) {
    ferry_status status = FERRY_OK;
    ferry_arg arg = {.operand = calls->operand};
    for (int i = 0; i < CALLS && !status; i++)
        status = ferry_launch(calls->kernel, calls->grid, &arg, 1, NULL);
    return status;
}

static ferry_status enqueue(struct calls *calls) {
    ferry_status status = FERRY_OK;
    void *address = calls->operand.view->data, *args[] = {&address};
    size_t sizes[] = {sizeof address};
    for (int i = 0; i < CALLS && !status; i++)
        status = ferry_kernel_enqueue(calls->kernel, calls->grid, args, sizes, 1, NULL);
    return status;
}

static ferry_status bare_launch(struct calls *calls) {
    (void)calls;
    return pinned_launch(CALLS, false) ? FERRY_OK : ferry_error(FERRY_BACKEND, "a bare launch failed");
}

static const struct {
    const char *name, *strategy;
    batch_function act;
    bool bare;
    int batches; /* launches fill queues and take longer */
} costs[] = {
    {"acquire and complete, resident", "ferry", acquire_and_complete, false, BATCHES},
    {"acquire, resident", "ferry", acquire_only, false, BATCHES},
    {"launch with movement, resident", "ferry", launch, false, 21},
    {"launch alone", "ferry", enqueue, false, 21},
    {"launch alone", "bare CUDA", bare_launch, true, 21},
};

static ferry_status measure_cost(struct report *report, size_t which, struct calls *calls, bool cuda) {
    static struct samples samples;
    ferry_status status = costs[which].act(calls); /* once unmeasured */
    samples.n = 0;
    for (int i = 0; i < costs[which].batches && !status; i++) {
        status = ferry_sync(NULL);
        double begin = now_seconds();
        if (!status)
            status = costs[which].act(calls);
        samples_add(&samples, (now_seconds() - begin) / CALLS);
    }
    if (status)
        return status;
    double nanoseconds = 1e9 * samples_median(&samples);
    report_case(report, costs[which].name, costs[which].strategy, ferry_view_bytes(calls->operand.view), &samples);
    report_number(report, "median_ns", nanoseconds);
    report_count(report, "calls_per_run", CALLS);
    report_case_end(report);
    if (which == 0 && cuda)
        report_check(report, nanoseconds < 1000, "acquiring and completing a resident operand, ns", nanoseconds);
    return FERRY_OK;
}

static bool measure_costs(struct report *report, const struct settings *settings, const ferry_view *view) {
    struct calls calls = {.operand = {.view = view, .access = FERRY_READ}, .grid = {.blocks = {1}, .threads = {32}}};
    bool bare = settings->cuda && pinned_kernel_open(empty_ptx, EMPTY_NAME);
    if (ferry_kernel_load(empty_ptx, strlen(empty_ptx), EMPTY_NAME, nothing, &calls.kernel))
        return false;
    ferry_status status = there(view);
    for (size_t i = 0; i < sizeof costs / sizeof *costs && !status; i++)
        if (bare || !costs[i].bare)
            status = measure_cost(report, i, &calls, settings->cuda);
    if (!status)
        status = ferry_sync(NULL);
    ferry_kernel_destroy(calls.kernel);
    return !status;
}

bool measure_speed(struct report *report, const struct settings *settings) {
    int64_t count = (int64_t)(settings->bytes / sizeof(double));
    ferry_array array;
    if (ferry_array_create(NULL, FERRY_FLOAT64, 1, &count, &array))
        return false;
    bool worked = measure_transfers(report, settings, &array.view) && measure_costs(report, settings, &array.view);
    ferry_array_release(&array);
    return worked;
}
