/* What the library adds to a launch whose operands are in place, and whether it grows. By this machine's clock. */
#include "content.h"
#include "pinned.h"
#include "placement.h"

#define OPERANDS 3
#define OPERAND_BYTES ((size_t)1 << 20)
#define BATCH 1000 /* launches that are timed as one */
#define BATCHES 21
#define ROW 10 /* batches in a row */
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
    ferry_array arrays[OPERANDS];
    ferry_arg args[OPERANDS];
};

typedef ferry_status (*batch_function)(struct launches *launches);

static ferry_status with_movement(struct launches *launches) {
    const ferry_grid grid = {.blocks = {1}, .threads = {32}};
    ferry_status status = FERRY_OK;
    for (int i = 0; i < BATCH && !status; i++)
        status = ferry_launch(launches->kernels->nothing, grid, launches->args, OPERANDS, NULL);
    return status;
}

static ferry_status movement_alone(struct launches *launches) {
    ferry_operand operands[OPERANDS];
    ferry_status status = FERRY_OK;
    for (int i = 0; i < OPERANDS; i++)
        operands[i] = launches->args[i].operand;
    for (int i = 0; i < BATCH && !status; i++) {
        status = ferry_acquire(operands, OPERANDS, NULL);
        if (!status)
            status = ferry_complete(operands, OPERANDS, NULL);
    }
    return status;
}

static ferry_status alone(struct launches *launches) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < BATCH && !status; i++)
        status = bench_enqueue_nothing(launches->kernels);
    return status;
}

static ferry_status bare(struct launches *launches) {
    (void)launches;
    return pinned_launch(BATCH, false) ? FERRY_OK : ferry_error(FERRY_BACKEND, "a bare launch failed");
}

enum { MOVING, MOVEMENT, ALONE, BARE, KINDS };
static const struct {
    const char *name;
    batch_function launch;
} kinds[KINDS] = {
    {"with movement", with_movement}, {"movement alone", movement_alone}, {"alone", alone}, {"bare CUDA", bare}};

/* Seconds for one launch. */
static ferry_status time_batch(struct launches *launches, int kind, struct samples *samples) {
    double begin = now_seconds();
    ferry_status status = kinds[kind].launch(launches);
    samples_add(samples, (now_seconds() - begin) / BATCH);
    return status;
}

static ferry_status measure_overhead(struct placement *placement, struct launches *launches, int count) {
    static struct samples samples[KINDS];
    ferry_status status = FERRY_OK;
    for (int i = 0; i <= BATCHES && !status; i++)
        for (int kind = 0; kind < count && !status; kind++) {
            samples[kind].n = i == 1 ? 0 : samples[kind].n; /* the first is unmeasured */
            status = ferry_sync(NULL);
            if (!status)
                status = time_batch(launches, kind, &samples[kind]);
        }
    if (status)
        return status;
    for (int kind = 0; kind < count; kind++) {
        report_case(placement->report, "launch, three operands in place", kinds[kind].name, OPERAND_BYTES,
                    &samples[kind]);
        report_number(placement->report, "median_ns", 1e9 * samples_median(&samples[kind]));
        report_case_end(placement->report);
    }
    double added = 1e9 * (samples_median(&samples[MOVING]) - samples_median(&samples[count - 1]));
    if (!placement->modelled)
        report_check(placement->report, added <= OVERHEAD_NS,
                     count > BARE ? "launch, operands in place: ns over a bare one"
                                  : "launch: ns over one without movement",
                     added);
    return FERRY_OK;
}

/* The last thousand of ten thousand in a row over the first; once the queue is full, launches take as long as kernels.
 */
static ferry_status measure_growth(struct placement *placement, struct launches *launches, int kind, double *ratio) {
    static struct samples samples;
    ferry_status status = kinds[kind].launch(launches);
    samples.n = 0;
    for (int i = 0; i < ROW && !status; i++)
        status = time_batch(launches, kind, &samples);
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
        launches->args[i].operand =
            (ferry_operand){.view = &launches->arrays[i].view, .access = accesses[i], .passes = 1};
        status = ferry_prefetch(&launches->arrays[i].view, 0, NULL);
    }
    return status ? status : ferry_sync(NULL);
}

ferry_status placement_launches(struct placement *placement) {
    struct launches launches = {.kernels = &placement->kernels};
    bool has_bare = placement->has_explicit && pinned_kernel_open(bare_ptx, "bare");
    double ratios[KINDS] = {0};
    ferry_status status = open_launches(&launches);
    if (!status)
        status = measure_overhead(placement, &launches, has_bare ? KINDS : BARE);
    for (int kind = 0; kind < (has_bare ? KINDS : BARE) && !status; kind++)
        status = kind == MOVEMENT ? FERRY_OK : measure_growth(placement, &launches, kind, &ratios[kind]);
    if (!status && !placement->modelled) {
        double grown = ratios[MOVING] / ratios[has_bare ? BARE : ALONE];
        report_check(placement->report, ratios[MOVING] <= GROWTH || grown <= GROWTH,
                     "10,000 launches in a row: the last thousand over the first", ratios[MOVING]);
    }
    for (int i = 0; i < OPERANDS; i++)
        ferry_array_release(&launches.arrays[i]);
    return status;
}
