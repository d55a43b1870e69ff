/* The suite `reuse`: which cells there are, and the time that each may take. */
#include "reuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_limits.h"
#include "clock.h"
#include "explicit.h"
#include "pinned.h"
#include "pool.h"
#include "product.h"
#include "suite_report.h"

#define RUNS 25
#define SECONDS 330
#define LARGE_BYTES ((size_t)256 << 20)   /* arrays beyond are made in pairs only */
#define LIGHTEST_BYTES ((size_t)16 << 20) /* smaller cells take as long as this one: their fixed part */
#define PASSES_MAX 8
#define OWN_BYTES ((size_t)32 << 20) /* room for what is managed besides the cells' arrays */
#define OTHERS_SHARE 0.7             /* of a cell's time, where `none` is measured apart */

struct matrix {
    size_t sizes[SUITE_SIZES_MAX], nsizes;
    int passes[PASSES_MAX];
    size_t npasses;
    bool kernels[REUSE_KERNELS], actions[REUSE_ACTIONS];
};

/* Strategies that are run in turns, epoch by epoch. */
struct turn {
    unsigned strategies;
    double share; /* of the cell's time */
    bool is_last;
};

struct matrix_run {
    struct report *report;
    struct reuse_setup setup;
    struct reuse_result *results; /* n; the first `judged` are there */
    size_t n, judged, runs;
    double end, weights; /* by this machine's clock; of the cells that are still to be run */
};

/* Calls `take` with each name of a list; false when it does not know one, which is then in *name. */
static bool each_name(const char *list, bool (*take)(struct matrix *, const char *), struct matrix *matrix,
                      char name[64]) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        snprintf(name, 64, "%.*s", (int)(length < 63 ? length : 63), at);
        if (!take(matrix, name))
            return false;
        at += length + (at[length] == ',');
    }
    return true;
}

static bool take_kernel(struct matrix *matrix, const char *name) {
    for (int i = 0; i < REUSE_KERNELS; i++)
        if (strcmp(name, reuse_kernels[i].name) == 0)
            return matrix->kernels[i] = true;
    return false;
}

static bool take_action(struct matrix *matrix, const char *name) {
    for (int i = 0; i < REUSE_ACTIONS; i++)
        if (strcmp(name, reuse_action_names[i]) == 0)
            return matrix->actions[i] = true;
    return false;
}

static bool take_passes(struct matrix *matrix, const char *name) {
    char *end;
    long passes = strtol(name, &end, 10);
    if (*end || passes < 1 || passes > 1000 || matrix->npasses == PASSES_MAX)
        return false;
    matrix->passes[matrix->npasses++] = (int)passes;
    return true;
}

static void take_sizes(struct matrix *matrix, const struct suite_options *options, bool modelled) {
    static const size_t all[] = {(size_t)64 << 10, (size_t)1 << 20, (size_t)64 << 20, (size_t)1 << 30};
    matrix->nsizes = options->nsizes;
    memcpy(matrix->sizes, options->sizes, sizeof matrix->sizes);
    if (matrix->nsizes)
        return;
    matrix->nsizes = options->quick ? 2 : modelled ? 3 : 4;
    memcpy(matrix->sizes, all, matrix->nsizes * sizeof *all);
}

static bool select_cells(struct matrix *matrix, const struct suite_options *options, bool modelled,
                         char message[SUITE_MESSAGE]) {
    char name[64];
    *matrix = (struct matrix){.nsizes = 0};
    take_sizes(matrix, options, modelled);
    if (!each_name(options->kernels ? options->kernels : "out-of-place,in-place,sum,product", take_kernel, matrix,
                   name))
        snprintf(message, SUITE_MESSAGE, "unknown kernel '%s': out-of-place, in-place, sum and product are known",
                 name);
    else if (!each_name(options->passes ? options->passes : "1,2,4,16", take_passes, matrix, name))
        snprintf(message, SUITE_MESSAGE, "'%s' is no number of passes, of which there may be %d", name, PASSES_MAX);
    else if (!each_name(options->actions ? options->actions : "nothing,overwrite,update,read,sample", take_action,
                        matrix, name))
        snprintf(message, SUITE_MESSAGE, "unknown action '%s': nothing, overwrite, update, read and sample are known",
                 name);
    else
        return true;
    return false;
}

static struct reuse_cell make_cell(const struct reuse_kernel *kernel, enum reuse_action action, int passes,
                                   size_t bytes) {
    struct reuse_cell cell = {.kernel = kernel, .action = action, .passes = passes, .size_bytes = bytes};
    cell.n = bytes / sizeof(double);
    if (kernel == &reuse_kernels[REUSE_PRODUCT]) {
        cell.side = (int)sqrt((double)cell.n);
        cell.n = (size_t)cell.side * (size_t)cell.side;
    }
    return cell;
}

/* All cells of the matrix, size by size; NULL when there is no memory. */
static struct reuse_result *make_cells(const struct matrix *matrix, bool has_product, size_t *n) {
    size_t most = matrix->nsizes * matrix->npasses * REUSE_KERNELS * REUSE_ACTIONS;
    struct reuse_result *results = calloc(most + 1, sizeof *results);
    *n = 0;
    for (size_t i = 0; i < most && results; i++) {
        size_t action = i % REUSE_ACTIONS, passes = i / REUSE_ACTIONS % matrix->npasses;
        size_t rest = i / REUSE_ACTIONS / matrix->npasses, kernel = rest % REUSE_KERNELS;
        size_t bytes = matrix->sizes[rest / REUSE_KERNELS], largest = reuse_kernels[kernel].largest_bytes;
        bool wanted = matrix->kernels[kernel] && matrix->actions[action] && (!largest || bytes <= largest) &&
                      (kernel != REUSE_PRODUCT || has_product);
        if (wanted)
            results[(*n)++].cell =
                make_cell(&reuse_kernels[kernel], (enum reuse_action)action, matrix->passes[passes], bytes);
    }
    return results;
}

static void close_buffers(struct reuse_setup *setup) {
    for (int s = 0; s < REUSE_EXPLICIT; s++)
        for (int i = 0; i < REUSE_ARRAYS; i++) {
            explicit_host_free(setup->host[s][i], s == REUSE_PINNED - REUSE_PAGEABLE);
            explicit_device_free(setup->device[s][i]);
            setup->host[s][i] = setup->device[s][i] = NULL;
        }
    setup->buffer_bytes = 0;
}

/* The explicit strategies' arrays for a size, unless they are there. */
static bool open_buffers(struct reuse_setup *setup, size_t bytes) {
    bool worked = true;
    if (!setup->has_explicit || setup->buffer_bytes == bytes)
        return true;
    close_buffers(setup);
    for (int s = 0; s < REUSE_EXPLICIT; s++)
        for (int i = 0; i < (bytes > LARGE_BYTES ? 2 : REUSE_ARRAYS) && worked; i++) {
            setup->host[s][i] = explicit_host_allocate(bytes, s == REUSE_PINNED - REUSE_PAGEABLE);
            setup->device[s][i] = explicit_device_allocate(bytes);
            worked = setup->host[s][i] && setup->device[s][i];
        }
    setup->buffer_bytes = bytes;
    return worked;
}

static ferry_status open_setup(struct reuse_setup *setup) {
    static const ferry_policy policies[REUSE_MANAGED] = {FERRY_POLICY_NONE, FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE,
                                                         FERRY_POLICY_AUTO};
    ferry_status status = bench_kernels_open(&setup->kernels);
    for (int s = 0; s < REUSE_MANAGED && !status; s++) {
        ferry_heap_options options = {.name = reuse_strategy_names[s], .policy = policies[s]};
        status = ferry_heap_create(&options, &setup->heaps[s]);
    }
    if (status)
        return status;
    setup->gathered = ferry_malloc(SUM_BLOCKS * sizeof *setup->gathered);
    setup->has_explicit = !setup->modelled && explicit_available();
    if (setup->has_explicit)
        setup->device_partial = explicit_device_allocate(SUM_BLOCKS * sizeof *setup->device_partial);
    setup->has_product = setup->modelled || product_open() == FERRY_OK;
    return setup->gathered && (!setup->has_explicit || setup->device_partial)
               ? FERRY_OK
               : ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the benchmark's own results");
}

static void close_setup(struct reuse_setup *setup) {
    close_buffers(setup);
    if (setup->has_product && !setup->modelled)
        product_close();
    explicit_device_free(setup->device_partial);
    ferry_free(setup->gathered);
    for (int s = 0; s < REUSE_MANAGED; s++)
        ferry_heap_destroy(setup->heaps[s]);
    bench_kernels_close(&setup->kernels);
    pool_close();
}

static void add_crossed(struct report *report, const char *when, const struct reuse_crossed *crossed, double bytes) {
    char name[64];
    snprintf(name, sizeof name, "%sto_device_x", when);
    report_number(report, name, (double)crossed->to_device / bytes);
    snprintf(name, sizeof name, "%sto_host_x", when);
    report_number(report, name, (double)crossed->to_host / bytes);
}

static void add_policy(struct report *report, const struct reuse_result *result, int strategy) {
    const struct reuse_outcome *outcome = &result->outcomes[strategy];
    double bytes = (double)(result->cell.n * sizeof(double)), epochs = (double)outcome->samples.n;
    add_crossed(report, "", &outcome->crossed, bytes * fmax(epochs, 1));
    add_crossed(report, "learning_", &outcome->learned, bytes);
    if (strategy != REUSE_AUTO)
        return;
    if (result->regret > 0) {
        report_number(report, "regret", result->regret);
        report_number(report, "learning_extra_x", result->learning_extra);
    }
    report_text(report, "learning_explanation", outcome->learned_why);
    report_text(report, "explanation", outcome->why);
}

/* The least time of an epoch: the longer of the host's part alone and of the crossing of what one side changed and the
 * other needs. */
static double limit_seconds(const struct reuse_result *result) {
    const struct reuse_kernel *kernel = result->cell.kernel;
    double whole = (double)(result->cell.n * sizeof(double)), in = 0, out = 0;
    struct limits limits;
    if (result->cell.action == REUSE_OVERWRITE)
        in = whole;
    if (result->cell.action == REUSE_UPDATE) {
        in = whole / 10;
        out = kernel->result == 0 && kernel->writes_result ? whole / 10 : 0;
    }
    if (result->cell.action == REUSE_READ && kernel->writes_result)
        out = whole;
    return limits_get(&limits) ? 0 : fmax(result->host, limits_crossing_seconds(&limits, in, out));
}

static void add_case(struct report *report, struct reuse_result *result, int strategy) {
    const struct reuse_cell *cell = &result->cell;
    struct reuse_outcome *outcome = &result->outcomes[strategy];
    char name[96];
    snprintf(name, sizeof name, "reuse: %s, %d passes, host %s", cell->kernel->name, cell->passes,
             reuse_action_names[cell->action]);
    report_case(report, name, reuse_strategy_names[strategy], cell->n * sizeof(double), &outcome->samples);
    report_text(report, "kernel", cell->kernel->name);
    report_text(report, "action", reuse_action_names[cell->action]);
    report_count(report, "passes", (uint64_t)cell->passes);
    report_count(report, "size_bytes", cell->size_bytes);
    report_number(report, "first_ms", 1e3 * outcome->first);
    report_number(report, "learning_ms", 1e3 * outcome->learning);
    report_number(report, "host_ms", 1e3 * result->host);
    report_limit(report, limit_seconds(result));
    if (strategy < REUSE_MANAGED)
        add_policy(report, result, strategy);
    report_case_end(report);
}

/* What bringing every array of the cell to the device once and home once takes, by the link's costs. */
static double crossing_seconds(const struct reuse_cell *cell) {
    ferry_link_costs costs;
    double bytes = (double)(cell->n * sizeof(double));
    if (ferry_link_get(0, &costs))
        return INFINITY;
    double in = costs.to_device_ns + bytes * costs.to_device_ns_per_byte;
    double out = costs.to_host_ns + bytes * costs.to_host_ns_per_byte;
    return 1e-9 * cell->kernel->arrays * (in + out);
}

/* What is beyond the larger of two, over a unit. */
static double beyond(double much, double one, double other, double unit) {
    return (much - fmax(one, other)) / unit;
}

/*
 * What learning cost: what auto carried, or took, in its unmeasured epochs beyond what the best policy did in its own,
 * or auto itself in as many later ones. In bytes, in the direction where it is more, over those of the cell's arrays;
 * in time, over a crossing of them in and out. The smaller of the two: crossing once more is nothing to worry about
 * where it takes no time (small arrays across the bus), nor a slow call where nothing crosses (a few scattered pages).
 */
static double learning_extra(const struct reuse_cell *cell, const struct reuse_outcome *outcome,
                             const struct reuse_outcome *best, double best_seconds) {
    const double later = 2 / fmax((double)outcome->samples.n, 1);
    const double bytes = cell->kernel->arrays * (double)(cell->n * sizeof(double));
    double in = beyond((double)outcome->learned.to_device, (double)best->learned.to_device,
                       later * (double)outcome->crossed.to_device, bytes);
    double out = beyond((double)outcome->learned.to_host, (double)best->learned.to_host,
                        later * (double)outcome->crossed.to_host, bytes);
    double time = beyond(outcome->first + outcome->learning, best->first + best->learning, 2 * best_seconds,
                         crossing_seconds(cell));
    return fmin(fmax(in, out), time);
}

static void judge(struct reuse_result *result) {
    struct reuse_outcome *outcomes = result->outcomes;
    int best = -1;
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        result->median[s] = outcomes[s].wrong ? 0 : samples_median(&outcomes[s].samples);
        if (s < REUSE_AUTO && result->median[s] > 0 && (best < 0 || result->median[s] < result->median[best]))
            best = s;
    }
    if (best < 0 || result->median[REUSE_AUTO] <= 0)
        return;
    result->regret = result->median[REUSE_AUTO] / result->median[best];
    result->learning_extra =
        learning_extra(&result->cell, &outcomes[REUSE_AUTO], &outcomes[best], result->median[best]);
}

/* Measured once for all cells with the same. */
static double host_alone(const struct reuse_cell *cell) {
    static double known[REUSE_ACTIONS];
    static size_t known_n[REUSE_ACTIONS];
    if (known_n[cell->action] != cell->n) {
        known[cell->action] = reuse_host_alone(cell->action, cell->n);
        known_n[cell->action] = cell->n;
    }
    return known[cell->action];
}

static void finish_cell(struct matrix_run *run, struct reuse_result *result) {
    result->host = host_alone(&result->cell);
    judge(result);
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (result->outcomes[s].tried && !result->outcomes[s].wrong)
            add_case(run->report, result, s);
    reuse_print_cell(&run->setup, result);
}

static double weight(const struct reuse_cell *cell) {
    return (double)(cell->size_bytes > LIGHTEST_BYTES ? cell->size_bytes : LIGHTEST_BYTES);
}

/* Each cell may take its part of the time that is left, by its size. */
static ferry_status run_cell(struct matrix_run *run, struct reuse_result *result, const struct turn *turn) {
    const struct reuse_cell *cell = &result->cell;
    double share = weight(cell) * turn->share / run->weights;
    if (!open_buffers(&run->setup, cell->size_bytes))
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for explicit copies of %zu bytes", cell->size_bytes);
    run->weights -= weight(cell) * turn->share;
    result->complete = turn->is_last;
    return reuse_cell_run(&run->setup, cell, turn->strategies, run->runs, (run->end - now_seconds()) * share,
                          result->outcomes);
}

/* Cells from run->judged up to `end` as far as time allows; *reached is the first that it did not. */
static ferry_status take_turn(struct matrix_run *run, const struct turn *turn, size_t end, size_t *reached) {
    double left = run->end - now_seconds();
    double deadline = turn->is_last ? run->end : run->end - left * (1 - turn->share);
    ferry_status status = FERRY_OK;
    size_t i = run->judged;
    for (; i < end && !status && now_seconds() < deadline; i++) {
        status = run_cell(run, &run->results[i], turn);
        if (!status && turn->is_last)
            finish_cell(run, &run->results[i]);
    }
    *reached = i;
    return status;
}

/* Cells that differ in passes and actions only. */
static size_t group_end(const struct matrix_run *run, size_t begin) {
    const struct reuse_cell *first = &run->results[begin].cell;
    size_t end = begin + 1;
    while (end < run->n && run->results[end].cell.kernel == first->kernel &&
           run->results[end].cell.size_bytes == first->size_bytes)
        end++;
    return end;
}

static bool fit_together(const struct reuse_cell *cell) {
    size_t arrays = REUSE_MANAGED * (size_t)cell->kernel->arrays;
    return arrays * cell->size_bytes + OWN_BYTES < ferry_limit();
}

/* Where the arrays of four policies are more than the limit allows, `none` has a turn of its own, after the others'
 * have been given back. */
static ferry_status run_group(struct matrix_run *run, size_t end) {
    static const struct turn together = {REUSE_ALL, 1, true},
                             apart[] = {{REUSE_ALL & ~(1u << REUSE_NONE), OTHERS_SHARE, false},
                                        {1u << REUSE_NONE, 1 - OTHERS_SHARE, true}};
    size_t reached, completed = 0;
    if (fit_together(&run->results[run->judged].cell)) {
        ferry_status status = take_turn(run, &together, end, &reached);
        run->judged = reached;
        return status;
    }
    ferry_status status = take_turn(run, &apart[0], end, &reached);
    if (!status)
        status = ferry_trim();
    if (!status)
        status = take_turn(run, &apart[1], reached, &completed);
    if (!status)
        status = ferry_trim();
    for (size_t i = completed; i < reached && !status; i++)
        finish_cell(run, &run->results[i]);
    run->judged = reached;
    return status;
}

static ferry_status run_cells(struct matrix_run *run, double seconds) {
    ferry_status status = FERRY_OK;
    run->end = now_seconds() + seconds;
    for (size_t i = 0; i < run->n; i++)
        run->weights += weight(&run->results[i].cell);
    while (run->judged < run->n && !status && now_seconds() < run->end) {
        size_t begin = run->judged;
        if (begin > 0 && run->results[begin].cell.size_bytes != run->results[begin - 1].cell.size_bytes)
            status = ferry_trim();
        if (!status)
            status = run_group(run, group_end(run, begin));
    }
    return status;
}

static enum suite_end run_matrix(const struct matrix *matrix, const struct suite_options *options,
                                 struct report *report, char message[SUITE_MESSAGE]) {
    static struct matrix_run run;
    run = (struct matrix_run){.report = report, .setup.modelled = clock_is_virtual()};
    run.runs = options->runs ? options->runs : options->quick ? 9 : RUNS;
    ferry_status status = open_setup(&run.setup);
    run.results = status ? NULL : make_cells(matrix, run.setup.has_product, &run.n);
    if (run.results) {
        reuse_print_head(&run.setup);
        status = run_cells(&run, options->seconds > 0 ? options->seconds : SECONDS);
        if (!status)
            reuse_summarise(report, &run.setup, run.results, run.n, run.judged);
    }
    bool broke_off = status || !run.results;
    if (broke_off)
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", status ? ferry_error_detail() : "no memory");
    free(run.results);
    close_setup(&run.setup);
    return broke_off ? SUITE_FAILED : SUITE_DONE;
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    struct matrix matrix;
    if (!select_cells(&matrix, options, clock_is_virtual(), message))
        return SUITE_USAGE;
    static struct report report;
    if (!suite_report_begin(&report, &suite_reuse, options, message))
        return SUITE_FAILED;
    report.quiet = true;
    enum suite_end end = run_matrix(&matrix, options, &report, message);
    return suite_report_end(&report, options, end, message);
}

const struct suite suite_reuse = {
    "reuse",
    "Kernels go over an array once or up to sixteen times, then the host does nothing with it, overwrites it, updates "
    "a tenth, reads all or reads a sample, and so on: for four kernels and four sizes, under every policy and with "
    "explicit copies, in turns. The regret of auto is its time over the best of the other policies, known with "
    "hindsight.",
    "8G",
    false,
    run,
};
