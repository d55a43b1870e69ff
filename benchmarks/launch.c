/* The suite `launch`: what a launch costs when nothing has to move, by the number of its operands. */
#include <string.h>

#include "clock.h"
#include "explicit.h"
#include "launches.h"
#include "suite_report.h"

#define ROUNDS 101
#define ROUNDS_QUICK 5
#define ROUNDS_LEAST 5
#define SECONDS 60
#define OVERHEAD_NS 1000 /* of three operands, under auto */
#define LABEL 64

/* One for each policy; bare launches and those without movement are tried once, on the first one's operands. */
static const ferry_policy policies[] = {FERRY_POLICY_AUTO, FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE,
                                        FERRY_POLICY_NONE};
#define POLICIES (sizeof policies / sizeof *policies)

static const struct way {
    const char *name, *heading;
    launch_function launch;
    size_t policy;
    bool moves; /* the library is told of the operands */
} ways[] = {
    {"bare", "bare", launches_bare, 0, false},
    {"ferry_kernel_enqueue", "enqueue", launches_enqueue, 0, false},
    {"acquire and complete, auto", "acquired", launches_acquired, 0, true},
    {"acquire and complete, prefetch", "prefetch", launches_acquired, 1, true},
    {"acquire and complete, remote", "remote", launches_acquired, 2, true},
    {"acquire and complete, none", "none", launches_acquired, 3, true},
    {"ferry_launch, auto", "ferry_launch", launches_launch, 0, true},
    {"ferry_launch, prefetch", "prefetch", launches_launch, 1, true},
    {"ferry_launch, remote", "remote", launches_launch, 2, true},
    {"ferry_launch, none", "none", launches_launch, 3, true},
};
enum { BARE, ENQUEUE, ACQUIRED, WAYS = sizeof ways / sizeof *ways };

struct launch {
    struct report *report;
    ferry_heap *heaps[POLICIES];
    struct launches launches[POLICIES];
    struct samples samples[WAYS];
    size_t operands, rounds;
    double end;       /* of the operands in hand, by now_seconds */
    uint64_t crossed; /* bytes, while all operands were in place */
    uint64_t missing; /* launches that the library has not counted */
    double over[WAYS], over_first[WAYS],
        over_three; /* ns over bare: of these operands, of the fewest, of three by auto */
};

static uint64_t crossed_by(const ferry_stats *stats) {
    return stats->bytes_to_device + stats->bytes_to_host;
}

/* A batch, and what the library says of it. */
static ferry_status run_batch(struct launch *launch, size_t way, bool measured) {
    ferry_stats before, after;
    ferry_status status = ferry_sync(NULL);
    if (!status)
        status = ferry_stats_get(&before);
    if (!status)
        status = launches_time(&launch->launches[ways[way].policy], ways[way].launch, launch->operands, LAUNCHES_BATCH,
                               &launch->samples[way]);
    if (!measured)
        launch->samples[way].n = 0;
    if (!status)
        status = ferry_stats_get(&after);
    if (status || !ways[way].moves)
        return status;
    launch->crossed += crossed_by(&after) - crossed_by(&before);
    uint64_t counted = after.launches - before.launches;
    launch->missing += counted < LAUNCHES_BATCH ? LAUNCHES_BATCH - counted : 0;
    return FERRY_OK;
}

static ferry_status run_rounds(struct launch *launch) {
    ferry_status status = FERRY_OK;
    for (size_t way = 0; way < WAYS; way++)
        launch->samples[way].n = 0;
    for (size_t round = 0; round <= launch->rounds && !status; round++) { /* the first is unmeasured */
        if (round > ROUNDS_LEAST && now_seconds() > launch->end)
            break;
        for (size_t way = 0; way < WAYS && !status; way++)
            status = run_batch(launch, way, round > 0);
    }
    return status;
}

static void report_rounds(struct launch *launch) {
    char name[LABEL];
    double bare = 1e9 * samples_median(&launch->samples[BARE]);
    snprintf(name, sizeof name, "launch, %zu operand%s", launch->operands, launch->operands > 1 ? "s" : "");
    report_progress(launch->report, NULL, 0);
    printf("%8zu", launch->operands);
    for (size_t way = 0; way < WAYS; way++) {
        double ns = 1e9 * samples_median(&launch->samples[way]);
        launch->over[way] = ns - bare;
        printf("  %12.0f", way == BARE ? ns : ns - bare);
        report_case(launch->report, name, ways[way].name, LAUNCHES_BYTES, &launch->samples[way]);
        report_count(launch->report, "operands", launch->operands);
        report_count(launch->report, "operations", LAUNCHES_BATCH);
        report_number(launch->report, "ns", ns);
        report_number(launch->report, "ns_over_bare", ns - bare);
        report_text(launch->report, "clock", "real");
        report_case_end(launch->report);
    }
    putchar('\n');
    fflush(stdout);
    if (launch->operands == 1)
        memcpy(launch->over_first, launch->over, sizeof launch->over);
    if (launch->operands == 3)
        launch->over_three = launch->over[ACQUIRED];
}

static ferry_status measure_operands(struct launch *launch, bool bare) {
    ferry_status status = FERRY_OK;
    size_t opened = 0;
    for (; opened < POLICIES && !status; opened++)
        status = launches_open(&launch->launches[opened], launch->operands, launch->heaps[opened], bare && opened == 0);
    for (size_t i = 1; i < POLICIES; i++)
        launch->launches[i].has_bare = launch->launches[0].has_bare; /* the same kernel */
    if (!status)
        status = run_rounds(launch);
    if (!status)
        report_rounds(launch);
    for (size_t i = 0; i < opened; i++)
        launches_close(&launch->launches[i]);
    return status;
}

static void print_heading(bool bare) {
    printf("\nns: %s, then what is more than that\n%8s  %12s  %12s  %-54s  %s\n%8s",
           bare ? "CUDA's own launch" : "a launch of the library's without movement", "", "", "",
           "ferry_acquire, bare launch, ferry_complete", "ferry_launch", "operands");
    for (size_t way = 0; way < WAYS; way++)
        printf("  %12s", ways[way].moves ? ferry_policy_name(policies[ways[way].policy]) : ways[way].heading);
    putchar('\n');
}

static ferry_status run_counts(struct launch *launch, const struct suite_options *options, bool bare) {
    static const size_t counts[] = {1, 2, 3, 4, 8, 16};
    const size_t n = sizeof counts / sizeof *counts;
    double seconds = options->seconds > 0 ? options->seconds : SECONDS, begin = now_seconds();
    ferry_status status = FERRY_OK;
    print_heading(bare);
    launch->report->quiet = true;
    for (size_t i = 0; i < n && !status; i++) {
        report_progress(launch->report, "launches", (double)i / (double)n);
        launch->operands = counts[i];
        launch->end = begin + seconds * (double)(i + 1) / (double)n;
        status = measure_operands(launch, bare);
    }
    launch->report->quiet = false;
    return status;
}

static void check(const struct launch *launch, bool modelled) {
    double each = (launch->over[ACQUIRED] - launch->over_first[ACQUIRED]) / (double)(launch->operands - 1);
    report_check(launch->report, launch->crossed == 0, "bytes that crossed while all operands were in place",
                 (double)launch->crossed);
    report_check(launch->report, launch->missing == 0, "launches that the library has not counted",
                 (double)launch->missing);
    if (modelled)
        return;
    report_check(launch->report, launch->over_three <= OVERHEAD_NS,
                 "acquired and completed, 3 operands in place, auto: ns over a bare launch", launch->over_three);
    report_check(launch->report, each <= OVERHEAD_NS / 3.0, "ns for each further operand, auto", each);
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static struct report report;
    static struct launch launch;
    if (options->nsizes) {
        snprintf(message, SUITE_MESSAGE, "--size is nothing to the suite launch: its operands are in place");
        return SUITE_USAGE;
    }
    if (!suite_report_begin(&report, &suite_launch, options, message))
        return SUITE_FAILED;
    launch = (struct launch){.report = &report, .rounds = options->quick ? ROUNDS_QUICK : ROUNDS};
    if (options->runs)
        launch.rounds = options->runs;
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < POLICIES && !status; i++)
        status = ferry_heap_create(&(ferry_heap_options){.name = ferry_policy_name(policies[i]), .policy = policies[i]},
                                   &launch.heaps[i]);
    if (!status)
        status = run_counts(&launch, options, !clock_is_virtual() && explicit_available());
    for (size_t i = 0; i < POLICIES; i++)
        ferry_heap_destroy(launch.heaps[i]);
    if (status)
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", ferry_error_detail());
    else
        check(&launch, clock_is_virtual());
    return suite_report_end(&report, options, status ? SUITE_FAILED : SUITE_DONE, message);
}

const struct suite suite_launch = {
    .name = "launch",
    .text =
        "What a launch costs whose one to sixteen operands are in place: CUDA's own; the library's without movement; "
        "CUDA's own between ferry_acquire and ferry_complete; ferry_launch. Under each policy, in nanoseconds over "
        "the first.",
    .limit = "8G",
    .machine_clock = true,
    .run = run,
};
