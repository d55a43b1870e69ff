/* What the library adds to a launch whose operands are in place, and whether it grows. By this machine's clock. */
#include "launches.h"
#include "placement.h"

#define OPERANDS 3
#define BATCHES 41
#define THOUSAND 1000
#define ROW 10 /* thousands in a row */
#define OVERHEAD_NS 1000
#define GROWTH 1.1

static ferry_status applied(struct launches *launches, size_t operands) {
    const ferry_view *in[] = {&launches->arrays[0].view, &launches->arrays[2].view};
    return ferry_apply(FERRY_OP_ADD, in, (int)operands - 1, &launches->arrays[1].view, NULL);
}

enum { BARE, ACQUIRED, ACQUIRED_ALL = ACQUIRED + OPERANDS - 1, LAUNCHED, APPLIED, KINDS };
static const struct {
    const char *name;
    launch_function launch;
    size_t operands;
} kinds[KINDS] = {
    {"bare", launches_bare, 0},
    {"acquired, 1 operand", launches_acquired, 1},
    {"acquired, 2", launches_acquired, 2},
    {"acquired, 3", launches_acquired, 3},
    {"ferry_launch, 3", launches_launch, 3},
    {"ferry_apply, 3", applied, 3},
};

static ferry_status time_kind(struct launches *launches, int kind, size_t batch, struct samples *samples) {
    return launches_time(launches, kinds[kind].launch, kinds[kind].operands, batch, samples);
}

static void report_overhead(struct placement *placement, struct samples *samples) {
    char text[128];
    for (int kind = 0; kind < KINDS; kind++) {
        double ns = 1e9 * samples_median(&samples[kind]), over = ns - 1e9 * samples_median(&samples[BARE]);
        report_case(placement->report, "launch, operands in place", kinds[kind].name, LAUNCHES_BYTES, &samples[kind]);
        report_number(placement->report, "median_ns", ns);
        report_number(placement->report, "ns_over_bare", over);
        report_case_end(placement->report);
        snprintf(text, sizeof text, "launch, operands in place, %s: ns over a bare one", kinds[kind].name);
        if (kind == ACQUIRED_ALL && !placement->modelled)
            report_check(placement->report, over <= OVERHEAD_NS, text, over);
    }
}

static ferry_status measure_overhead(struct placement *placement, struct launches *launches) {
    static struct samples samples[KINDS];
    ferry_status status = FERRY_OK;
    for (int i = 0; i <= BATCHES && !status; i++)
        for (int kind = 0; kind < KINDS && !status; kind++) {
            samples[kind].n = i <= 1 ? 0 : samples[kind].n; /* the first is unmeasured */
            status = ferry_sync(NULL);
            if (!status)
                status = time_kind(launches, kind, LAUNCHES_BATCH, &samples[kind]);
        }
    if (!status)
        report_overhead(placement, samples);
    return status;
}

/* The last thousand of ten thousand in a row over the first; once the queue is full, launches take as long as kernels.
 */
static ferry_status measure_growth(struct placement *placement, struct launches *launches, int kind, double *ratio) {
    static struct samples samples;
    ferry_status status = time_kind(launches, kind, THOUSAND, &samples);
    samples.n = 0;
    for (int i = 0; i < ROW && !status; i++)
        status = time_kind(launches, kind, THOUSAND, &samples);
    if (status)
        return status;
    *ratio = samples.seconds[ROW - 1] / samples.seconds[0];
    report_case(placement->report, "10,000 launches in a row", kinds[kind].name, LAUNCHES_BYTES, &samples);
    report_number(placement->report, "last_over_first", *ratio);
    report_case_end(placement->report);
    return ferry_sync(NULL);
}

ferry_status placement_launches(struct placement *placement) {
    static const int rows[] = {BARE, ACQUIRED_ALL, LAUNCHED};
    struct launches launches;
    double ratios[KINDS] = {0};
    ferry_status status = launches_open(&launches, OPERANDS, NULL, placement->has_explicit);
    if (!status)
        status = measure_overhead(placement, &launches);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++)
        status = measure_growth(placement, &launches, rows[i], &ratios[rows[i]]);
    if (!status && !placement->modelled)
        report_check(placement->report, ratios[LAUNCHED] <= GROWTH || ratios[LAUNCHED] / ratios[BARE] <= GROWTH,
                     "10,000 launches in a row: the last thousand over the first", ratios[LAUNCHED]);
    launches_close(&launches);
    return status;
}
