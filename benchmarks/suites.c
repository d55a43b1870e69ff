#include "suites.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "clock.h"
#include "ferry/ferry.h"
#include "pinned.h"
#include "suite_report.h"

#define MEMORY_GIB 8

const struct suite *const suites[] = {&suite_reuse, &suite_placement};
const size_t suite_count = sizeof suites / sizeof *suites;

bool suite_report_begin(struct report *report, const struct suite_options *options, char message[SUITE_MESSAGE]) {
    ferry_device_info device;
    char cuda[32];
    if (ferry_device_get(0, &device)) {
        snprintf(message, SUITE_MESSAGE, "%s", ferry_error_detail());
        return false;
    }
    pinned_cuda_version(cuda, sizeof cuda);
    if (!report_begin(report, options->json, device.name, clock_is_virtual() ? "none" : NULL, cuda)) {
        snprintf(message, SUITE_MESSAGE, "%s: %s", options->json, strerror(errno));
        return false;
    }
    report_fact(report, "backend", ferry_backend_name());
    report_fact(report, "clock", clock_is_virtual() ? "modelled" : "real");
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
