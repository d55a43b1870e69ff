/* What the suite `reuse` prints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reuse.h"

#define WORST_CELLS 5
#define WORST_LEARNING 3
#define MEAN_LIMIT 1.10
#define WORST_LIMIT 1.5
#define LEARNING_LIMIT 1.0

void reuse_print_head(const struct reuse_setup *setup) {
    if (setup->modelled)
        puts("Times are modelled: the simulator's clock, not this machine's. It does not count the host's own work and "
             "has no\nexplicit copies. Arrays of 16 MiB and more are moved but not computed; a product's time is that "
             "of its movement.\n");
    if (!setup->has_product && !setup->modelled)
        printf("No products: %s.\n", ferry_error_detail());
    printf("%-13s %9s %6s %-9s", "kernel", "size", "passes", "host");
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (s < REUSE_MANAGED || setup->has_explicit)
            printf(" %9s", reuse_strategy_names[s]);
    printf("%s %7s   (median ms of an epoch)\n", setup->modelled ? "" : " host alone", "regret");
}

static void print_name(const struct reuse_cell *cell) {
    char size[REPORT_SIZE_TEXT];
    report_size_text(cell->size_bytes, size);
    printf("%-13s %9s %6d %-9s", cell->kernel->name, size, cell->passes, reuse_action_names[cell->action]);
}

static void print_ms(const struct reuse_setup *setup, const struct reuse_result *result) {
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        if (s >= REUSE_MANAGED && !setup->has_explicit)
            continue;
        if (result->median[s] > 0)
            printf(" %9.4g", 1e3 * result->median[s]);
        else
            printf(" %9s", result->outcomes[s].tried ? "void" : "-");
    }
}

static void print_regret(const struct reuse_result *result) {
    if (result->regret > 0)
        printf(" %7.3f\n", result->regret);
    else
        puts("    void");
}

void reuse_print_cell(const struct reuse_setup *setup, const struct reuse_result *result) {
    print_name(&result->cell);
    print_ms(setup, result);
    if (!setup->modelled)
        printf(" %10.4g", 1e3 * result->host);
    print_regret(result);
    fflush(stdout);
}

struct regrets {
    double logarithms, worst;
    size_t n;
};

/* Of one size; 0: of all. */
static struct regrets regrets_of(const struct reuse_result *results, size_t n, size_t size_bytes) {
    struct regrets regrets = {0};
    for (size_t i = 0; i < n; i++) {
        if ((size_bytes && results[i].cell.size_bytes != size_bytes) || results[i].regret <= 0)
            continue;
        regrets.logarithms += log(results[i].regret);
        regrets.worst = fmax(regrets.worst, results[i].regret);
        regrets.n++;
    }
    return regrets;
}

static double mean_of(const struct regrets *regrets) {
    return regrets->n ? exp(regrets->logarithms / (double)regrets->n) : 0;
}

/* Cells come size by size. */
static void print_sizes(const struct reuse_result *results, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char size[REPORT_SIZE_TEXT];
        if (i > 0 && results[i].cell.size_bytes == results[i - 1].cell.size_bytes)
            continue;
        struct regrets regrets = regrets_of(results, n, results[i].cell.size_bytes);
        report_size_text(results[i].cell.size_bytes, size);
        printf("regret, %9s: geometric mean %.3f, worst %.3f, of %zu cells\n", size, mean_of(&regrets), regrets.worst,
               regrets.n);
    }
}

typedef int (*comparison)(const void *a, const void *b);

static int by_regret(const void *a, const void *b) {
    double x = (*(const struct reuse_result *const *)a)->regret, y = (*(const struct reuse_result *const *)b)->regret;
    return (x < y) - (x > y);
}

static int by_learning(const void *a, const void *b) {
    double x = (*(const struct reuse_result *const *)a)->learning_extra,
           y = (*(const struct reuse_result *const *)b)->learning_extra;
    return (x < y) - (x > y);
}

/* Those that have a regret, the worst first; *count of them. NULL: no memory. */
static const struct reuse_result **sorted(const struct reuse_result *results, size_t n, comparison compare,
                                          size_t *count) {
    const struct reuse_result **order = malloc((n + 1) * sizeof *order);
    *count = 0;
    for (size_t i = 0; i < n && order; i++)
        if (results[i].regret > 0)
            order[(*count)++] = &results[i];
    if (order)
        qsort(order, *count, sizeof *order, compare);
    return order;
}

static void print_worst(const struct reuse_setup *setup, const struct reuse_result *results, size_t n) {
    size_t count;
    const struct reuse_result **order = sorted(results, n, by_regret, &count);
    puts("\nThe cells that are farthest from the best policy:");
    for (size_t i = 0; i < count && i < WORST_CELLS && order; i++) {
        print_name(&order[i]->cell);
        print_ms(setup, order[i]);
        print_regret(order[i]);
        printf("    %s\n", order[i]->outcomes[REUSE_AUTO].why);
    }
    free(order);
}

/* The two unmeasured epochs. */
static void print_learning(const struct reuse_setup *setup, const struct reuse_result *result) {
    print_name(&result->cell);
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        const struct reuse_outcome *outcome = &result->outcomes[s];
        if (outcome->tried)
            printf(" %9.4g", 1e3 * (outcome->first + outcome->learning));
        else if (s < REUSE_MANAGED || setup->has_explicit)
            printf(" %9s", "-");
    }
    printf("  %+.3f\n    %s\n", result->learning_extra, result->outcomes[REUSE_AUTO].learned_why);
}

/* The largest extra. */
static double print_worst_learning(const struct reuse_setup *setup, const struct reuse_result *results, size_t n) {
    size_t count;
    const struct reuse_result **order = sorted(results, n, by_learning, &count);
    double worst = order && count ? order[0]->learning_extra : 0;
    puts("\nThe cells in whose first two epochs auto did most in vain (ms of the two; crossings of the cell's "
         "arrays):");
    for (size_t i = 0; i < count && i < WORST_LEARNING && order; i++)
        print_learning(setup, order[i]);
    free(order);
    return worst;
}

static size_t count_void(const struct reuse_result *results, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (int s = 0; s < REUSE_STRATEGIES; s++)
            count += results[i].outcomes[s].tried && results[i].median[s] <= 0;
    return count;
}

static size_t count_incomplete(const struct reuse_result *results, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !results[i].complete;
    return count;
}

void reuse_summarise(struct report *report, const struct reuse_setup *setup, const struct reuse_result *results,
                     size_t n, size_t judged) {
    struct regrets all = regrets_of(results, judged, 0);
    size_t wrong = count_void(results, judged), left_out = count_incomplete(results, n);
    puts("");
    print_sizes(results, judged);
    print_worst(setup, results, judged);
    double learning = print_worst_learning(setup, results, judged);
    puts("");
    report_check(report, all.n > 0 && mean_of(&all) <= MEAN_LIMIT, "regret of auto, geometric mean", mean_of(&all));
    report_check(report, all.n > 0 && all.worst <= WORST_LIMIT, "regret of auto, worst", all.worst);
    report_check(report, learning <= LEARNING_LIMIT,
                 "what auto does in vain in its first two epochs, in crossings of the cell's arrays, worst", learning);
    report_check(report, wrong == 0, "strategies with a wrong result", (double)wrong);
    report_check(report, left_out == 0, "cells left out, or run without all strategies, for want of time",
                 (double)left_out);
}
