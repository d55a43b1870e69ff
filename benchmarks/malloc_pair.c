/*
 * ferry_malloc and ferry_free, beside the pair of a bare arena of the same jemalloc: the same build, the same decay, an
 * explicit thread cache, and extents that are bumped off one mapping.
 *
 * Where a process has its code and data decides up to a factor of three, for either allocator and for as long as the
 * process lives. So several processes, each with addresses of its own, measure, and their median is told.
 */
#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include "foundation.h"

#define MAPPING_BYTES ((size_t)8 << 30) /* address space; nothing in it is touched */
#define ROUNDS 25
#define PROCESSES_MAX 15

static struct {
    char *base;
    size_t used;
    extent_hooks_t hooks;
    int flags; /* for mallocx: arena and thread cache */
} bare;

/* Called under the arena's lock. */
static void *bump(extent_hooks_t *hooks, void *address, size_t bytes, size_t alignment, bool *zero, bool *commit,
                  unsigned arena) {
    (void)hooks, (void)arena;
    size_t at = (bare.used + alignment - 1) / alignment * alignment;
    if (address || at + bytes > MAPPING_BYTES)
        return NULL;
    bare.used = at + bytes;
    *zero = *commit = true;
    return bare.base + at;
}

static bool keep(extent_hooks_t *hooks, void *address, size_t bytes, bool committed, unsigned arena) {
    (void)hooks, (void)address, (void)bytes, (void)committed, (void)arena;
    return true;
}

static bool split(extent_hooks_t *hooks, void *address, size_t bytes, size_t low, size_t high, bool committed,
                  unsigned arena) {
    (void)hooks, (void)address, (void)bytes, (void)low, (void)high, (void)committed, (void)arena;
    return false;
}

static bool merge(extent_hooks_t *hooks, void *low, size_t low_bytes, void *high, size_t high_bytes, bool committed,
                  unsigned arena) {
    (void)hooks, (void)low, (void)low_bytes, (void)high, (void)high_bytes, (void)committed, (void)arena;
    return false;
}

static bool set_decay(unsigned arena, const char *which) {
    char name[64];
    ssize_t never = -1;
    snprintf(name, sizeof name, "arena.%u.%s_decay_ms", arena, which);
    return ferry_je_mallctl(name, NULL, NULL, &never, sizeof never) == 0;
}

static bool bare_open(void) {
    /* What "experimental.arenas_create_ext" of jemalloc 5.3 takes; the arena's records stay outside the mapping. */
    struct {
        extent_hooks_t *hooks;
        bool metadata_use_hooks;
    } config = {&bare.hooks, false};
    unsigned arena = 0, cache = 0;
    size_t arena_bytes = sizeof arena, cache_bytes = sizeof cache;
    bare.hooks = (extent_hooks_t){.alloc = bump, .dalloc = keep, .split = split, .merge = merge};
    bare.base = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bare.base == MAP_FAILED ||
        ferry_je_mallctl("experimental.arenas_create_ext", &arena, &arena_bytes, &config, sizeof config) ||
        ferry_je_mallctl("tcache.create", &cache, &cache_bytes, NULL, 0) || !set_decay(arena, "dirty") ||
        !set_decay(arena, "muzzy"))
        return false;
    bare.flags = MALLOCX_ARENA((int)arena) | MALLOCX_TCACHE((int)cache);
    return true;
}

static void *take_bare(size_t bytes) {
    return ferry_je_mallocx(bytes, bare.flags);
}

static void give_bare(void *block) {
    ferry_je_dallocx(block, bare.flags);
}

static const struct allocator {
    const char *name;
    void *(*take)(size_t bytes);
    void (*give)(void *block);
} allocators[] = {{"ferry", ferry_malloc, ferry_free}, {"bare jemalloc", take_bare, give_bare}};
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
    if (!bare_open() || ferry_trim() != FERRY_OK)
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
