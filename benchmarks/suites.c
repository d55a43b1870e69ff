#include "suites.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench_limits.h"
#include "clock.h"
#include "ferry/ferry.h"
#include "pinned.h"
#include "suite_report.h"

#define MEMORY_GIB 8

const struct suite *const suites[] = {&suite_transfer,  &suite_pingpong, &suite_producer, &suite_reuse,
                                      &suite_placement, &suite_alloc,    &suite_launch,   &suite_stream};
const size_t suite_count = sizeof suites / sizeof *suites;

static bool whole_report_begin(struct report *report, const struct suite *suite, const struct suite_options *options,
                               const char *device, const struct limits *limits) {
    char cuda[32];
    pinned_cuda_version(cuda, sizeof cuda);
    if (!report_begin(report, options->json, device, clock_is_virtual() ? "none" : NULL, cuda))
        return false;
    bool modelled = clock_is_virtual() && !suite->machine_clock;
    report->progress = options->progress;
    report->progress_context = options->progress_context;
    report_fact(report, "suite", suite->name);
    report_fact(report, "backend", ferry_backend_name());
    report_fact(report, "clock", modelled ? "modelled" : "real");
    printf("%s on %s%s\n", suite->name, device,
           modelled ? ": times are modelled, by the simulator's clock, and not this machine's" : "");
    limits_report(limits, report);
    return true;
}

bool suite_report_begin(struct report *report, const struct suite *suite, const struct suite_options *options,
                        char message[SUITE_MESSAGE]) {
    ferry_device_info device;
    struct limits limits;
    if (ferry_device_get(0, &device) || limits_get(&limits)) {
        snprintf(message, SUITE_MESSAGE, "%s", ferry_error_detail());
        return false;
    }
    if (!whole_report_begin(report, suite, options, device.name, &limits)) {
        snprintf(message, SUITE_MESSAGE, "%s: %s", options->json, strerror(errno));
        return false;
    }
    return true;
}

/* What the suites allow themselves on the machine that they are for. */
static void check_memory(struct report *report) {
    ferry_stats stats;
    double gib = ferry_stats_get(&stats) ? INFINITY : (double)stats.peak_bytes / (double)((size_t)1 << 30);
    report_check(report, gib <= MEMORY_GIB, "managed memory, GiB at most", gib);
}

enum suite_end suite_report_end(struct report *report, const struct suite_options *options, enum suite_end end,
                                char message[SUITE_MESSAGE]) {
    if (end == SUITE_DONE)
        check_memory(report);
    if (!report_end(report)) {
        snprintf(message, SUITE_MESSAGE, "%s: %s", options->json, strerror(errno));
        return SUITE_FAILED;
    }
    if (end != SUITE_DONE || !options->check || !report->failed)
        return end;
    snprintf(message, SUITE_MESSAGE, "%d of %d checks do not hold", report->failed, report->checks);
    return SUITE_FAILED;
}
