/*
 * ferry_malloc and ferry_free, beside the pair of a bare arena of the same jemalloc: the same build, the same decay, an
 * explicit thread cache, and extents that are bumped off one mapping.
 */
#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include "foundation.h"

#define MAPPING_BYTES ((size_t)8 << 30) /* address space; nothing in it is touched */
#define ROUNDS 25

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

static bool measure_size(struct report *report, size_t bytes, size_t pairs) {
    static struct samples samples[ALLOCATORS];
    char text[64];
    samples[FERRY].n = samples[BARE].n = 0;
    for (int round = -1; round < ROUNDS; round++) /* the first is unmeasured */
        for (int i = 0; i < ALLOCATORS; i++) {
            double seconds = time_pairs(&allocators[i], bytes, pairs);
            if (seconds < 0)
                return false;
            if (round >= 0)
                samples_add(&samples[i], seconds);
        }
    for (int i = 0; i < ALLOCATORS; i++) {
        report_case(report, "malloc and free", allocators[i].name, bytes, &samples[i]);
        report_number(report, "median_ns", 1e9 * samples_median(&samples[i]));
        report_count(report, "calls_per_run", pairs);
        report_case_end(report);
    }
    double ratio = samples_median(&samples[FERRY]) / samples_median(&samples[BARE]);
    snprintf(text, sizeof text, "malloc and free of %zu bytes over bare jemalloc's", bytes);
    report_check(report, ratio <= 1.25, text, ratio);
    return true;
}

bool measure_malloc_pairs(struct report *report, const struct settings *settings) {
    static const struct {
        size_t bytes, pairs;
    } sizes[] = {{64, 100000}, {4096, 100000}, {1 << 20, 10000}, {256 << 20, 10000}};
    (void)settings;
    if (!bare_open()) {
        ferry_error(FERRY_OUT_OF_MEMORY, "no bare arena");
        return false;
    }
    /* Both arenas begin empty: a block left by what was measured before would be split and joined again for every pair.
     */
    bool worked = ferry_trim() == FERRY_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && worked; i++)
        worked = measure_size(report, sizes[i].bytes, sizes[i].pairs);
    return worked;
}
