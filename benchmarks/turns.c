/* The course of a suite of turns: its sizes, its time, and how it ends. */
#include "turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "explicit.h"
#include "pool.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define RUNS 101
#define RUNS_QUICK 5
#define RUNS_MODELLED 3           /* the virtual clock tells the same every time */
#define MODELLED_BYTES (64 * MIB) /* larger arrays say nothing new there */
#define LIGHTEST_BYTES (16 * MIB) /* smaller sizes may take as long as this one */
#define TIMED_SHARE 0.85          /* of the time; the rest is for counting */
#define SLACK_BYTES (2 * MIB)

bool turns_takes_part(const struct turns *turns, size_t strategy, size_t bytes) {
    const struct turns_strategy *s = &turns->suite->strategies[strategy];
    return bytes >= s->least_bytes && (turns->has_explicit || !s->needs_cuda) &&
           (turns->concurrent || !s->needs_concurrent);
}

bool turns_spoils(const struct turns_strategy *strategy) {
    const char *name = getenv("FERRY_BENCH_SPOIL");
    return name && strcmp(name, strategy->name) == 0;
}

ferry_status turns_round(struct turns *turns, size_t strategy, struct turns_outcome *outcome, double *seconds) {
    bool right = true;
    double begin = now_seconds();
    ferry_status status = turns->suite->round(strategy, seconds, &right);
    outcome->spent += now_seconds() - begin;
    outcome->rounds++;
    outcome->wrong |= !status && !right;
    return status;
}

/* Whether one strategy's arrays, and what the suite has beside them, are within the limit on managed memory. */
static bool fits(const struct turns *turns, size_t bytes) {
    size_t besides = turns->suite->besides_bytes, limit = ferry_limit();
    return limit >= besides && bytes <= (limit - besides) / turns->suite->arrays;
}

static bool add_size(struct turns *turns, size_t bytes) {
    char text[REPORT_SIZE_TEXT];
    report_size_text(bytes, text);
    if (fits(turns, bytes))
        turns->sizes[turns->nsizes++].bytes = bytes / sizeof(double) * sizeof(double);
    else
        printf("Left out: %s, of which %zu arrays are more managed memory than FERRY_LIMIT allows.\n", text,
               turns->suite->arrays);
    return turns->nsizes > 0;
}

/* False when nothing is left. */
static bool choose_sizes(struct turns *turns, const struct suite_options *options) {
    static const size_t quick[] = {4 * KIB, 64 * KIB, 4 * MIB};
    size_t largest = turns->suite->largest_bytes;
    if (turns->modelled && largest > MODELLED_BYTES)
        largest = MODELLED_BYTES;
    for (size_t i = 0; i < options->nsizes; i++)
        add_size(turns, options->sizes[i]);
    for (size_t i = 0; !options->nsizes && options->quick && i < sizeof quick / sizeof *quick; i++)
        add_size(turns, quick[i]);
    for (size_t bytes = 4 * KIB; !options->nsizes && !options->quick && bytes <= largest; bytes *= 4)
        add_size(turns, bytes);
    return turns->nsizes > 0;
}

static double weight(const struct turns_size *size) {
    return (double)(size->bytes > LIGHTEST_BYTES ? size->bytes : LIGHTEST_BYTES);
}

/* Each size may take its part of the time that is left. */
static ferry_status time_sizes(struct turns *turns) {
    double weights = 0, end = turns->begin + TIMED_SHARE * turns->seconds;
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < turns->nsizes; i++)
        weights += weight(&turns->sizes[i]);
    for (size_t i = 0; i < turns->nsizes && !status; i++) {
        struct turns_size *size = &turns->sizes[i];
        double share = weight(size) / weights;
        weights -= weight(size);
        status = turns->suite->limit(&turns->limits, size->bytes, &size->limit);
        if (!status)
            status = turns_time(turns, size, (end - now_seconds()) * share);
        if (!status)
            turns_print_size(turns, size);
    }
    return status;
}

static ferry_status measure(struct turns *turns) {
    ferry_status status = turns->suite->start(turns->modelled);
    if (!status)
        status = time_sizes(turns);
    if (!status)
        status = turns_count(turns, turns->begin + turns->seconds);
    turns->suite->finish();
    pool_close();
    return status;
}

static size_t count_wrong(const struct turns *turns) {
    size_t wrong = 0;
    for (size_t i = 0; i < turns->nsizes; i++)
        for (size_t s = 0; s < turns->suite->n; s++)
            wrong += turns->sizes[i].outcomes[s].wrong;
    return wrong;
}

/* In pages that hold something else beside, and in the driver's own blocks, a little more may cross. */
static void check_crossings(struct turns *turns) {
    double most = 0;
    size_t counted = 0;
    for (size_t i = 0; i < turns->nsizes; i++)
        for (size_t s = 0; s < turns->suite->n; s++) {
            const struct turns_outcome *outcome = &turns->sizes[i].outcomes[s];
            if (!turns->suite->strategies[s].once || !outcome->counted)
                continue;
            double surplus = fmax(outcome->to_device_x, outcome->to_host_x) - 1;
            most = fmax(most, surplus * (double)turns->sizes[i].bytes);
            counted++;
        }
    if (counted)
        report_check(turns->report, most <= SLACK_BYTES,
                     "prefetch, remote, auto: bytes that cross twice in a direction", most);
}

static enum suite_end conclude(struct turns *turns, char message[SUITE_MESSAGE]) {
    turns_print_crossings(turns);
    turns_report(turns);
    size_t wrong = count_wrong(turns);
    report_check(turns->report, wrong == 0, "strategies with a wrong result", (double)wrong);
    check_crossings(turns);
    if (wrong)
        snprintf(message, SUITE_MESSAGE, "wrong results: %zu, and those rows are void", wrong);
    return wrong ? SUITE_FAILED : SUITE_DONE;
}

static enum suite_end run_sizes(struct turns *turns, const struct suite_options *options, char message[SUITE_MESSAGE]) {
    ferry_device_info device;
    ferry_status status = ferry_device_get(0, &device);
    if (!status)
        status = limits_get(&turns->limits);
    if (!status) {
        turns->concurrent = device.concurrent_managed_access;
        turns_print_head(turns);
        if (!choose_sizes(turns, options)) {
            snprintf(message, SUITE_MESSAGE, "FERRY_LIMIT leaves no size to measure");
            return SUITE_FAILED;
        }
        status = measure(turns);
    }
    if (!status)
        return conclude(turns, message);
    turns_report(turns); /* what was measured before */
    snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", ferry_error_detail());
    return SUITE_FAILED;
}

enum suite_end turns_run(const struct turns_suite *suite, const struct suite_options *options,
                         char message[SUITE_MESSAGE]) {
    static struct report report;
    struct turns turns = {.suite = suite, .report = &report, .modelled = clock_is_virtual(), .begin = now_seconds()};
    if (!suite_report_begin(&report, suite->suite, options, message))
        return SUITE_FAILED;
    report.quiet = true;
    turns.has_explicit = !turns.modelled && explicit_available();
    turns.seconds = options->seconds > 0 ? options->seconds : suite->seconds;
    turns.runs = options->runs ? options->runs : turns.modelled ? RUNS_MODELLED : options->quick ? RUNS_QUICK : RUNS;
    turns.sizes = calloc(SUITE_SIZES_MAX, sizeof *turns.sizes);
    enum suite_end end = SUITE_FAILED;
    if (turns.sizes)
        end = run_sizes(&turns, options, message);
    else
        snprintf(message, SUITE_MESSAGE, "no memory for the results");
    free(turns.sizes);
    return suite_report_end(&report, options, end, message);
}
