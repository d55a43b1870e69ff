/* Classes of sizes and lifetimes, as text. */
#include <inttypes.h>
#include <string.h>

#include "run_text.h"
#include "tool.h"

enum { SIZES_SHOWN = 4, BAR = 30 };

typedef struct bar_row {
    char label[SIZE_TEXT];
    uint64_t count;
    char more[SIZE_TEXT + 8];
} bar_row;

static void size_label(int class, char text[SIZE_TEXT]) {
    size_text((double)(UINT64_C(1) << class), text);
}

static void lifetime_label(int class, char text[SIZE_TEXT]) {
    time_text((double)(UINT64_C(1) << class) * 1e3, text);
}

static void print_row(FILE *to, const bar_row *row, uint64_t most) {
    char count[SIZE_TEXT], bar[BAR + 1] = "";
    size_t length = (size_t)((double)row->count / (double)most * BAR + 0.5);
    grouped_text(row->count, count);
    memset(bar, '#', length);
    bar[length] = '\0';
    fprintf(to, "%*s up to %10s  %14s  %16s  %s\n", RUN_LABEL, "", row->label, count, row->more, bar);
}

static void print_heading(FILE *to, const char *heading) {
    fprintf(to, "  %s\n", heading);
}

static void sum_sizes(const ferry_run_heap *heaps, ferry_run_class *sums) {
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        sums[i] = (ferry_run_class){0};
        for (int home = 0; home < FERRY_RUN_HOMES; home++) {
            sums[i].allocations += heaps[home].sizes[i].allocations;
            sums[i].bytes += heaps[home].sizes[i].bytes;
        }
    }
}

/* How many classes hold more bytes. */
static int rank(const ferry_run_class *sums, int class) {
    int before = 0;
    for (int i = 0; i < FERRY_RUN_CLASSES; i++)
        before += sums[i].bytes > sums[class].bytes || (sums[i].bytes == sums[class].bytes && i < class);
    return before;
}

void run_print_sizes(FILE *to, const ferry_run_heap *heaps, bool all) {
    ferry_run_class sums[FERRY_RUN_CLASSES];
    uint64_t most = 1;
    sum_sizes(heaps, sums);
    for (int i = 0; i < FERRY_RUN_CLASSES; i++)
        most = sums[i].allocations > most ? sums[i].allocations : most;
    print_heading(to, all ? "sizes, large blocks:" : "sizes, those of most bytes:");
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        bar_row row = {.count = sums[i].allocations};
        if (sums[i].allocations == 0 || (!all && rank(sums, i) >= SIZES_SHOWN))
            continue;
        size_label(i, row.label);
        size_text((double)sums[i].bytes, row.more);
        print_row(to, &row, most);
    }
}

/* The class that so many of a hundred are in or below. */
static int percentile(const uint64_t *counts, uint64_t total, unsigned of_hundred) {
    uint64_t seen = 0;
    int i = 0;
    for (; i < FERRY_RUN_CLASSES - 1; i++) {
        seen += counts[i];
        if ((double)seen * 100 >= (double)total * of_hundred)
            break;
    }
    return i;
}

void run_print_lifetimes(FILE *to, const ferry_run_heap *heaps, bool all) {
    uint64_t counts[FERRY_RUN_CLASSES] = {0}, total = 0, most = 1;
    char half[SIZE_TEXT], nine[SIZE_TEXT], freed[SIZE_TEXT];
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        for (int home = 0; home < FERRY_RUN_HOMES; home++)
            counts[i] += heaps[home].lifetimes[i];
        total += counts[i];
        most = counts[i] > most ? counts[i] : most;
    }
    if (total == 0)
        return;
    lifetime_label(percentile(counts, total, 50), half);
    lifetime_label(percentile(counts, total, 90), nine);
    grouped_text(total, freed);
    fprintf(to, "  %-*s half of %s freed blocks lived for at most %s, nine in ten for at most %s\n", RUN_LABEL - 2,
            "lifetimes", freed, half, nine);
    for (int i = 0; all && i < FERRY_RUN_CLASSES; i++) {
        bar_row row = {.count = counts[i]};
        lifetime_label(i, row.label);
        if (counts[i] > 0)
            print_row(to, &row, most);
    }
}
