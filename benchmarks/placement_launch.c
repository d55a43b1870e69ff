/* What the library adds to a launch whose operands are in place, and whether it grows. By this machine's clock. */
#include "content.h"
#include "pinned.h"
#include "placement.h"

#define OPERANDS 3
#define OPERAND_BYTES ((size_t)1 << 20)
#define BATCH 200 /* launches that are timed as one: few enough for the device's queue never to be full */
#define BATCHES 41
#define THOUSAND 1000
#define ROW 10 /* thousands in a row */
#define OVERHEAD_NS 1000
#define GROWTH 1.1

static const char bare_ptx[] = ".version 7.0\n"
                               ".target sm_75\n"
                               ".address_size 64\n"
                               ".visible .entry bare(.param .u64 address)\n"
                               "{\n"
                               "    ret;\n"
                               "}\n";

struct launches {
    const struct bench_kernels *kernels;
    bool has_bare;
    void *stream; /* the library's own, on which bare launches go as well */
    ferry_array arrays[OPERANDS];
    ferry_operand operands[OPERANDS];
};

typedef ferry_status (*launch_function)(const struct launches *launches, size_t operands);

/* What everything is held against: CUDA's own launch; without CUDA, one of the library's that moves nothing. */
static ferry_status bare(const struct launches *launches, size_t operands) {
    (void)operands;
    if (!launches->has_bare)
        return bench_enqueue_nothing(launches->kernels, NULL);
    return pinned_enqueue(launches->stream) ? FERRY_OK : ferry_error(FERRY_BACKEND, "a bare launch failed");
}

/* The same launch with movement around it. */
static ferry_status acquired(const struct launches *launches, size_t operands) {
    ferry_status status = ferry_acquire(launches->operands, operands, NULL);
    if (status)
        return status;
    status = bare(launches, operands);
    ferry_status completed = ferry_complete(launches->operands, operands, NULL);
    return status ? status : completed;
}

static ferry_status launched(const struct launches *launches, size_t operands) {
    const ferry_grid grid = {.blocks = {1}, .threads = {32}};
    ferry_arg args[OPERANDS] = {{.value = NULL}};
    for (size_t i = 0; i < operands; i++)
        args[i].operand = launches->operands[i];
    return ferry_launch(launches->kernels->nothing, grid, args, operands, NULL);
}

static ferry_status applied(const struct launches *launches, size_t operands) {
    const ferry_view *in[] = {&launches->arrays[0].view, &launches->arrays[2].view};
    return ferry_apply(FERRY_OP_ADD, in, (int)operands - 1, &launches->arrays[1].view, NULL);
}

enum { BARE, ACQUIRED, ACQUIRED_ALL = ACQUIRED + OPERANDS - 1, LAUNCHED, APPLIED, KINDS };
static const struct {
    const char *name;
    launch_function launch;
    size_t operands;
} kinds[KINDS] = {
    {"bare", bare, 0},
    {"acquired, 1 operand", acquired, 1},
    {"acquired, 2", acquired, 2},
    {"acquired, 3", acquired, 3},
    {"ferry_launch, 3", launched, 3},
    {"ferry_apply, 3", applied, 3},
};

/* Seconds for one of `count` launches that are timed as one. */
static ferry_status time_batch(const struct launches *launches, int kind, size_t count, struct samples *samples) {
    ferry_status status = FERRY_OK;
    double begin = now_seconds();
    for (size_t i = 0; i < count && !status; i++)
        status = kinds[kind].launch(launches, kinds[kind].operands);
    samples_add(samples, (now_seconds() - begin) / (double)count);
    return status;
}

static void report_overhead(struct placement *placement, struct samples *samples) {
    char text[128];
    for (int kind = 0; kind < KINDS; kind++) {
        double ns = 1e9 * samples_median(&samples[kind]), over = ns - 1e9 * samples_median(&samples[BARE]);
        report_case(placement->report, "launch, operands in place", kinds[kind].name, OPERAND_BYTES, &samples[kind]);
        report_number(placement->report, "median_ns", ns);
        report_number(placement->report, "ns_over_bare", over);
        report_case_end(placement->report);
        snprintf(text, sizeof text, "launch, operands in place, %s: ns over a bare one", kinds[kind].name);
        if (kind == ACQUIRED_ALL && !placement->modelled)
            report_check(placement->report, over <= OVERHEAD_NS, text, over);
    }
}

static ferry_status measure_overhead(struct placement *placement, const struct launches *launches) {
    static struct samples samples[KINDS];
    ferry_status status = FERRY_OK;
    for (int i = 0; i <= BATCHES && !status; i++)
        for (int kind = 0; kind < KINDS && !status; kind++) {
            samples[kind].n = i <= 1 ? 0 : samples[kind].n; /* the first is unmeasured */
            status = ferry_sync(NULL);
            if (!status)
                status = time_batch(launches, kind, BATCH, &samples[kind]);
        }
    if (!status)
        report_overhead(placement, samples);
    return status;
}

/* The last thousand of ten thousand in a row over the first; once the queue is full, launches take as long as kernels.
 */
static ferry_status measure_growth(struct placement *placement, const struct launches *launches, int kind,
                                   double *ratio) {
    static struct samples samples;
    ferry_status status = time_batch(launches, kind, THOUSAND, &samples);
    samples.n = 0;
    for (int i = 0; i < ROW && !status; i++)
        status = time_batch(launches, kind, THOUSAND, &samples);
    if (status)
        return status;
    *ratio = samples.seconds[ROW - 1] / samples.seconds[0];
    report_case(placement->report, "10,000 launches in a row", kinds[kind].name, OPERAND_BYTES, &samples);
    report_number(placement->report, "last_over_first", *ratio);
    report_case_end(placement->report);
    return ferry_sync(NULL);
}

static ferry_status open_launches(struct launches *launches) {
    static const ferry_access accesses[OPERANDS] = {FERRY_READ, FERRY_WRITE, FERRY_READ};
    int64_t count = OPERAND_BYTES / sizeof(double);
    ferry_status status = FERRY_OK;
    for (int i = 0; i < OPERANDS && !status; i++) {
        struct content content = content_new((size_t)count, false);
        status = ferry_array_create(NULL, FERRY_FLOAT64, 1, &count, &launches->arrays[i]);
        if (status)
            break;
        content_overwrite(&content, launches->arrays[i].view.data);
        launches->operands[i] = (ferry_operand){.view = &launches->arrays[i].view, .access = accesses[i], .passes = 1};
        status = ferry_prefetch(&launches->arrays[i].view, 0, NULL);
    }
    return status ? status : ferry_sync(NULL);
}

ferry_status placement_launches(struct placement *placement) {
    static const int rows[] = {BARE, ACQUIRED_ALL, LAUNCHED};
    struct launches launches = {.kernels = &placement->kernels, .stream = ferry_stream_native(NULL)};
    double ratios[KINDS] = {0};
    launches.has_bare = placement->has_explicit && pinned_kernel_open(bare_ptx, "bare");
    ferry_status status = open_launches(&launches);
    if (!status)
        status = measure_overhead(placement, &launches);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++)
        status = measure_growth(placement, &launches, rows[i], &ratios[rows[i]]);
    if (!status && !placement->modelled)
        report_check(placement->report, ratios[LAUNCHED] <= GROWTH || ratios[LAUNCHED] / ratios[BARE] <= GROWTH,
                     "10,000 launches in a row: the last thousand over the first", ratios[LAUNCHED]);
    for (int i = 0; i < OPERANDS; i++)
        ferry_array_release(&launches.arrays[i]);
    return status;
}
