/* The suite `reuse`: which cells there are, and the time that each may take. */
#include "reuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "explicit.h"
#include "pinned.h"
#include "pool.h"
#include "product.h"
#include "suite_report.h"

#define RUNS 25
#define SECONDS 400
#define LARGE_BYTES ((size_t)256 << 20)   /* arrays beyond are made in pairs only */
#define LIGHTEST_BYTES ((size_t)16 << 20) /* smaller cells take as long as this one: their fixed part */
#define PASSES_MAX 8

struct matrix {
    size_t sizes[SUITE_SIZES_MAX], nsizes;
    int passes[PASSES_MAX];
    size_t npasses;
    bool kernels[REUSE_KERNELS], actions[REUSE_ACTIONS];
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

static void add_case(struct report *report, const struct reuse_result *result, int strategy,
                     struct reuse_outcome *outcome, double host) {
    const struct reuse_cell *cell = &result->cell;
    char name[96];
    double crossed = (double)(cell->n * sizeof(double)) * (double)(outcome->samples.n ? outcome->samples.n : 1);
    snprintf(name, sizeof name, "reuse: %s, %d passes, host %s", cell->kernel->name, cell->passes,
             reuse_action_names[cell->action]);
    report_case(report, name, reuse_strategy_names[strategy], cell->n * sizeof(double), &outcome->samples);
    report_text(report, "kernel", cell->kernel->name);
    report_text(report, "action", reuse_action_names[cell->action]);
    report_count(report, "passes", (uint64_t)cell->passes);
    report_count(report, "size_bytes", cell->size_bytes);
    report_number(report, "first_ms", 1e3 * outcome->first);
    report_number(report, "learning_ms", 1e3 * outcome->learning);
    if (strategy < REUSE_MANAGED) {
        report_number(report, "to_device_x", (double)outcome->to_device / crossed);
        report_number(report, "to_host_x", (double)outcome->to_host / crossed);
    }
    report_number(report, "host_ms", 1e3 * host);
    if (strategy == REUSE_AUTO && result->regret > 0) {
        report_number(report, "regret", result->regret);
        report_number(report, "learning_extra_x", result->learning_extra);
        report_text(report, "explanation", outcome->explanation);
    }
    report_case_end(report);
}

/* What a crossing of an array of the cell takes, in the dearer direction. */
static double crossing_seconds(const struct reuse_cell *cell) {
    ferry_link_costs costs;
    double bytes = (double)(cell->n * sizeof(double));
    if (ferry_link_get(0, &costs))
        return INFINITY;
    double in = costs.to_device_ns + bytes * costs.to_device_ns_per_byte;
    double out = costs.to_host_ns + bytes * costs.to_host_ns_per_byte;
    return 1e-9 * fmax(in, out);
}

/*
 * What learning cost: the unmeasured epochs of auto beyond those of the best policy, or beyond as many of the best
 * policy's later ones where that is more, since a policy that leaves an array on the device owes the way home.
 */
static double learning_extra(const struct reuse_cell *cell, const struct reuse_outcome *outcome, double best_start,
                             double best) {
    return (outcome->first + outcome->learning - fmax(best_start, 2 * best)) / crossing_seconds(cell);
}

static void judge(struct reuse_result *result, struct reuse_outcome *outcomes) {
    double best = INFINITY, best_start = INFINITY;
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        result->median[s] = outcomes[s].wrong ? 0 : samples_median(&outcomes[s].samples);
        if (s < REUSE_AUTO && result->median[s] > 0) {
            best = fmin(best, result->median[s]);
            best_start = fmin(best_start, outcomes[s].first + outcomes[s].learning);
        }
    }
    if (!isfinite(best) || result->median[REUSE_AUTO] <= 0)
        return;
    result->regret = result->median[REUSE_AUTO] / best;
    result->learning_extra = learning_extra(&result->cell, &outcomes[REUSE_AUTO], best_start, best);
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

static ferry_status run_cell(struct report *report, struct reuse_setup *setup, struct reuse_result *result, size_t runs,
                             double allowance) {
    static struct reuse_outcome outcomes[REUSE_STRATEGIES];
    double host = host_alone(&result->cell);
    if (!open_buffers(setup, result->cell.size_bytes))
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for explicit copies of %zu bytes", result->cell.size_bytes);
    ferry_status status = reuse_cell_run(setup, &result->cell, runs, allowance, outcomes);
    if (status)
        return status;
    judge(result, outcomes);
    snprintf(result->explanation, sizeof result->explanation, "%s", outcomes[REUSE_AUTO].explanation);
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (outcomes[s].tried && !outcomes[s].wrong)
            add_case(report, result, s, &outcomes[s], host);
    reuse_print_cell(setup, result, host);
    return FERRY_OK;
}

static double weight(const struct reuse_cell *cell) {
    return (double)(cell->size_bytes > LIGHTEST_BYTES ? cell->size_bytes : LIGHTEST_BYTES);
}

/* Each cell may take its part of the time that is left, by its size. *done cells were run. */
static ferry_status run_cells(struct report *report, struct reuse_setup *setup, struct reuse_result *results, size_t n,
                              const struct suite_options *options, size_t *done) {
    double end = now_seconds() + (options->seconds > 0 ? options->seconds : SECONDS), weights = 0;
    size_t runs = options->runs ? options->runs : options->quick ? 9 : RUNS;
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < n; i++)
        weights += weight(&results[i].cell);
    for (*done = 0; *done < n && !status && now_seconds() < end; (*done)++) {
        const struct reuse_cell *cell = &results[*done].cell;
        if (*done > 0 && cell->size_bytes != results[*done - 1].cell.size_bytes)
            status = ferry_trim();
        if (!status)
            status = run_cell(report, setup, &results[*done], runs, (end - now_seconds()) * weight(cell) / weights);
        weights -= weight(cell);
    }
    return status;
}

static enum suite_end run_matrix(const struct matrix *matrix, const struct suite_options *options,
                                 struct report *report, char message[SUITE_MESSAGE]) {
    static struct reuse_setup setup;
    size_t n, done = 0;
    setup.modelled = clock_is_virtual();
    ferry_status status = open_setup(&setup);
    struct reuse_result *results = status ? NULL : make_cells(matrix, setup.has_product, &n);
    if (results) {
        reuse_print_head(&setup);
        status = run_cells(report, &setup, results, n, options, &done);
        if (!status)
            reuse_summarise(report, &setup, results, done, n - done);
    }
    bool broke_off = status || !results;
    if (broke_off)
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", status ? ferry_error_detail() : "no memory");
    free(results);
    close_setup(&setup);
    return broke_off ? SUITE_FAILED : SUITE_DONE;
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    struct matrix matrix;
    if (!select_cells(&matrix, options, clock_is_virtual(), message))
        return SUITE_USAGE;
    static struct report report;
    if (!suite_report_begin(&report, options, message))
        return SUITE_FAILED;
    report.quiet = true;
    enum suite_end end = run_matrix(&matrix, options, &report, message);
    return suite_report_end(&report, options, end, message);
}

const struct suite suite_reuse = {
    "reuse",
    "Kernels go over an array once or up to sixteen times, then the host does nothing with it, overwrites it, updates "
    "a "
    "tenth, reads all or reads a sample, and so on: for four kernels and four sizes, under every policy and with "
    "explicit copies, in turns. The regret of auto is its time over the best of the other policies, known with "
    "hindsight.",
    "10G",
    run,
};
