/* What a suite of turns prints, and what it writes. */
#include <string.h>

#include "turns.h"

void turns_print_head(const struct turns *turns) {
    size_t missing = 0;
    for (size_t s = 0; s < turns->suite->n; s++)
        missing += turns->suite->strategies[s].needs_concurrent && !turns->concurrent;
    if (missing)
        printf("%zu strategies are left out: the host may not touch managed memory while this device works.\n",
               missing);
    if (turns->modelled)
        puts(
            "There are no explicit copies: the simulator has no model of them. Arrays of 16 MiB and more are moved but "
            "not computed;\nthe host's own work takes no modelled time.");
}

static void print_row(const char *name, struct turns_outcome *outcome, double limit) {
    struct samples *samples = &outcome->samples;
    double median = samples_median(samples);
    if (outcome->wrong)
        printf("  %-24s        void: a result was wrong\n", name);
    else
        printf("  %-24s %12.6f  %12.6f  %12.6f  %5zu  %6.3f\n", name, 1e3 * median,
               1e3 * samples_quantile(samples, 0.25), 1e3 * samples_quantile(samples, 0.75), samples->n,
               limit / median);
}

void turns_print_size(const struct turns *turns, struct turns_size *size) {
    char bytes[REPORT_SIZE_TEXT];
    report_progress(turns->report, NULL, 0);
    report_size_text(size->bytes, bytes);
    printf("\n%s, %s: at best %.6f ms (crossing %.6f, kernel %.6f, host %.6f)\n", turns->suite->name, bytes,
           1e3 * size->limit.whole, 1e3 * size->limit.crossing, 1e3 * size->limit.kernel, 1e3 * size->limit.host);
    printf("  %-24s %12s  %12s  %12s  %5s  %6s\n", "strategy", "median ms", "first quart.", "third quart.", "runs",
           "share");
    for (size_t s = 0; s < turns->suite->n; s++)
        if (turns_takes_part(turns, s, size->bytes))
            print_row(turns->suite->strategies[s].name, &size->outcomes[s], size->limit.whole);
    fflush(stdout);
}

/* Per strategy, at the largest size for which it was counted. */
void turns_print_crossings(const struct turns *turns) {
    report_progress(turns->report, NULL, 0);
    printf("\nBytes that cross each time over those of the size, %s:\n  %-24s %10s  %10s  %10s\n",
           turns->by_driver ? "by the driver's own count" : "by the library's account", "strategy", "size", "to device",
           "to host");
    for (size_t s = 0; s < turns->suite->n; s++)
        for (size_t i = turns->nsizes; i-- > 0;) {
            const struct turns_outcome *outcome = &turns->sizes[i].outcomes[s];
            char bytes[REPORT_SIZE_TEXT];
            if (!outcome->counted)
                continue;
            report_size_text(turns->sizes[i].bytes, bytes);
            printf("  %-24s %10s  %10.4g  %10.4g\n", turns->suite->strategies[s].name, bytes, outcome->to_device_x,
                   outcome->to_host_x);
            break;
        }
    putchar('\n');
}

static const char *counted_by(const struct turns *turns, const struct turns_strategy *strategy) {
    return !strategy->managed ? "copies" : turns->by_driver ? "driver" : "library";
}

static void report_outcome(const struct turns *turns, struct turns_size *size, size_t strategy) {
    const struct turns_strategy *s = &turns->suite->strategies[strategy];
    struct turns_outcome *outcome = &size->outcomes[strategy];
    report_case(turns->report, turns->suite->name, s->name, size->bytes, &outcome->samples);
    report_flag(turns->report, "valid", !outcome->wrong);
    report_count(turns->report, "times", turns->suite->times);
    report_limit(turns->report, size->limit.whole);
    report_number(turns->report, "limit_crossing_ms", 1e3 * size->limit.crossing);
    report_number(turns->report, "limit_kernel_ms", 1e3 * size->limit.kernel);
    report_number(turns->report, "limit_host_ms", 1e3 * size->limit.host);
    if (turns->modelled && turns->suite->host)
        report_number(turns->report, "host_ms", 1e3 * turns->suite->host(strategy, size->bytes));
    if (outcome->counted) {
        report_number(turns->report, "to_device_x", outcome->to_device_x);
        report_number(turns->report, "to_host_x", outcome->to_host_x);
        report_text(turns->report, "counted_by", counted_by(turns, s));
    }
    report_case_end(turns->report);
}

void turns_report(const struct turns *turns) {
    for (size_t i = 0; i < turns->nsizes; i++)
        for (size_t s = 0; s < turns->suite->n; s++)
            if (turns->sizes[i].outcomes[s].samples.n)
                report_outcome(turns, &turns->sizes[i], s);
}
