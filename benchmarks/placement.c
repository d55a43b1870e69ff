/* The suite `placement`: what the library's choices are held to. */
#include "placement.h"

#include <string.h>

#include "bench_limits.h"
#include "clock.h"
#include "explicit.h"
#include "pool.h"
#include "suite_report.h"

#define RUNS 9
#define RUNS_MODELLED 2 /* the virtual clock tells the same every time */
#define MIB ((size_t)1 << 20)
#define BLOCK_DOUBLES (2 * MIB / sizeof(double))

double placement_touch(const double *array, size_t n) {
    double sum = array[n - 1];
    for (size_t i = 0; i < n; i += BLOCK_DOUBLES)
        sum += array[i];
    return sum;
}

double placement_limit(size_t bytes) {
    struct limits limits;
    return limits_get(&limits) ? 0 : limits_crossing_seconds(&limits, (double)bytes, (double)bytes);
}

static void choose_sizes(struct placement *placement, const struct suite_options *options) {
    static const size_t all[] = {4096, MIB, 64 * MIB, 1024 * MIB};
    size_t largest = 0;
    placement->nsizes = options->nsizes;
    memcpy(placement->sizes, options->sizes, sizeof placement->sizes);
    if (!placement->nsizes) {
        placement->nsizes = options->quick ? 2 : placement->modelled ? 3 : 4;
        memcpy(placement->sizes, all, sizeof all);
    }
    for (size_t i = 0; i < placement->nsizes; i++)
        largest = placement->sizes[i] > largest ? placement->sizes[i] : largest;
    size_t most = placement->modelled ? 16 * MIB : 1024 * MIB;
    placement->chain_bytes = largest > most ? most : largest;
    placement->crossings_bytes = largest > 256 * MIB ? 256 * MIB : placement->chain_bytes;
}

static ferry_status run_parts(struct placement *placement) {
    ferry_status (*const parts[])(struct placement *) = {placement_round_trips, placement_chain, placement_launches,
                                                         placement_crossings};
    ferry_status status = bench_kernels_open(&placement->kernels);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
        status = parts[i](placement);
        fflush(stdout);
        if (!status)
            status = ferry_trim();
    }
    bench_kernels_close(&placement->kernels);
    pool_close();
    return status;
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static struct report report;
    static struct placement placement;
    if (!suite_report_begin(&report, &suite_placement, options, message))
        return SUITE_FAILED;
    placement = (struct placement){.report = &report, .modelled = clock_is_virtual()};
    placement.has_explicit = !placement.modelled && explicit_available();
    placement.runs = options->runs ? options->runs : placement.modelled ? RUNS_MODELLED : options->quick ? 3 : RUNS;
    choose_sizes(&placement, options);
    if (placement.modelled)
        puts("Times are modelled, but for those of launches: the simulator's clock, not this machine's. There are no "
             "explicit copies.\n");
    enum suite_end end = SUITE_DONE;
    if (run_parts(&placement)) {
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", ferry_error_detail());
        end = SUITE_FAILED;
    }
    return suite_report_end(&report, options, end, message);
}

const struct suite suite_placement = {
    "placement",
    "What the policy auto is held to: a logarithm from host array to host array beside pinned copies and zero-copy "
    "memory; ten kernels in a chain beside orders of prefetches written by hand, and as a loop that allocates its "
    "temporaries; what a launch costs when nothing has to move; and, by the driver's own count, bytes that cross "
    "though nobody needs them.",
    "8G",
    false,
    run,
};
