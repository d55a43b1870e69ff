/*
 * ferry_malloc and ferry_free, beside the pair of a bare arena of the same jemalloc.
 *
 * Where a process has its code and data decides up to a factor of three, for either allocator and for as long as the
 * process lives. So several processes, each with addresses of its own, measure, and their median is told.
 */
#include "bare_jemalloc.h"
#include "foundation.h"

#define ROUNDS 25
#define PROCESSES_MAX 15

static const struct allocator {
    const char *name;
    void *(*take)(size_t bytes);
    void (*give)(void *block);
} allocators[] = {{"ferry", ferry_malloc, ferry_free}, {"bare jemalloc", bare_jemalloc_take, bare_jemalloc_give}};
enum { FERRY, BARE, ALLOCATORS };

/* Seconds for one pair, the mean of `pairs`; negative when an allocation failed. */
static double time_pairs(const struct allocator *allocator, size_t bytes, size_t pairs) {
    double begin = now_seconds();
    for (size_t i = 0; i < pairs; i++) {
        void *block = allocator->take(bytes);
        if (!block)
            return -1;
        __asm__ volatile("" : : "r"(block) : "memory");
        allocator->give(block);
    }
    return (now_seconds() - begin) / (double)pairs;
}

struct pair_size {
    size_t bytes, pairs;
};
static const struct pair_size sizes[] = {{64, 100000}, {4096, 100000}, {1 << 20, 10000}, {256 << 20, 10000}};
#define SIZES (sizeof sizes / sizeof *sizes)

/* Median seconds of a pair of each allocator. */
static bool measure_size(const struct pair_size *size, double seconds[ALLOCATORS]) {
    static struct samples samples[ALLOCATORS];
    samples[FERRY].n = samples[BARE].n = 0;
    for (int round = -1; round < ROUNDS; round++) /* the first is unmeasured */
        for (int i = 0; i < ALLOCATORS; i++) {
            double one = time_pairs(&allocators[i], size->bytes, size->pairs);
            if (one < 0)
                return false;
            if (round >= 0)
                samples_add(&samples[i], one);
        }
    for (int i = 0; i < ALLOCATORS; i++)
        seconds[i] = samples_median(&samples[i]);
    return true;
}

int malloc_pairs_main(void) {
    /* Both arenas begin empty: a block left by what was measured before would be split and joined for every pair. */
    if (!bare_jemalloc_open() || ferry_trim() != FERRY_OK)
        return 1;
    for (size_t i = 0; i < SIZES; i++) {
        double seconds[ALLOCATORS];
        if (!measure_size(&sizes[i], seconds))
            return 1;
        printf("%.17g %.17g\n", seconds[FERRY], seconds[BARE]);
    }
    return 0;
}

static bool read_figures(FILE *figures, struct samples taken[SIZES][ALLOCATORS]) {
    for (size_t i = 0; i < SIZES; i++) {
        double seconds[ALLOCATORS];
        if (fscanf(figures, "%lf %lf", &seconds[FERRY], &seconds[BARE]) != ALLOCATORS)
            return false;
        samples_add(&taken[i][FERRY], seconds[FERRY]);
        samples_add(&taken[i][BARE], seconds[BARE]);
    }
    return true;
}

/* This program again, to measure the pairs alone. */
static bool measure_in_process(struct samples taken[SIZES][ALLOCATORS]) {
    FILE *figures = popen("exec /proc/$PPID/exe " MALLOC_PAIRS_OPTION, "r");
    if (figures == NULL)
        return false;
    bool read = read_figures(figures, taken);
    return pclose(figures) == 0 && read;
}

static void report_size(struct report *report, const struct pair_size *size, struct samples taken[ALLOCATORS]) {
    char text[64];
    for (int i = 0; i < ALLOCATORS; i++) {
        report_case(report, "malloc and free", allocators[i].name, size->bytes, &taken[i]);
        report_number(report, "median_ns", 1e9 * samples_median(&taken[i]));
        report_count(report, "calls_per_run", size->pairs);
        report_case_end(report);
    }
    double ratio = samples_median(&taken[FERRY]) / samples_median(&taken[BARE]);
    snprintf(text, sizeof text, "malloc and free of %zu bytes over bare jemalloc's", size->bytes);
    report_check(report, ratio <= 1.25, text, ratio);
}

bool measure_malloc_pairs(struct report *report, const struct settings *settings) {
    static struct samples taken[SIZES][ALLOCATORS];
    const size_t processes = settings->runs < PROCESSES_MAX ? settings->runs : PROCESSES_MAX;
    for (size_t i = 0; i < processes; i++)
        if (!measure_in_process(taken)) {
            ferry_error(FERRY_BACKEND, "a process that measures malloc and free failed");
            return false;
        }
    for (size_t i = 0; i < SIZES; i++)
        report_size(report, &sizes[i], taken[i]);
    return true;
}
