#include "bare_jemalloc.h"

#include <jemalloc/jemalloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#define MAPPING_BYTES ((size_t)8 << 30) /* address space */
#define EXTENT_FIT 64                   /* lg_extent_max_active_fit: no bound */

static struct {
    char *base;
    atomic_size_t used;
    unsigned arena;
    extent_hooks_t hooks;
} bare;

/* For mallocx: arena and thread cache; 0 where the thread has none yet. */
static _Thread_local int flags;
static _Thread_local unsigned cache;

/* Two threads may be here at once. */
static void *bump(extent_hooks_t *hooks, void *address, size_t bytes, size_t alignment, bool *zero, bool *commit,
                  unsigned arena) {
    (void)hooks, (void)arena;
    size_t used = bare.used, at;
    do {
        at = (used + alignment - 1) / alignment * alignment;
        if (address || at + bytes > MAPPING_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak(&bare.used, &used, at + bytes));
    *zero = *commit = true;
    return bare.base + at;
}

static bool keep(extent_hooks_t *hooks, void *address, size_t bytes, bool committed, unsigned arena) {
    (void)hooks, (void)address, (void)bytes, (void)committed, (void)arena;
    return true;
}

/* The mapping goes as a whole. */
static void leave_to_mapping(extent_hooks_t *hooks, void *address, size_t bytes, bool committed, unsigned arena) {
    (void)hooks, (void)address, (void)bytes, (void)committed, (void)arena;
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

/* Whether jemalloc was told what the library tells it: of its options, the one that decides how much memory is used
 * again. */
static bool has_options(void) {
    size_t fit = 0, bytes = sizeof fit;
    return ferry_je_malloc_conf && ferry_je_mallctl("opt.lg_extent_max_active_fit", &fit, &bytes, NULL, 0) == 0 &&
           fit == EXTENT_FIT;
}

bool bare_jemalloc_open(void) {
    /* What "experimental.arenas_create_ext" of jemalloc 5.3 takes; the arena's records stay outside the mapping. */
    struct {
        extent_hooks_t *hooks;
        bool metadata_use_hooks;
    } config = {&bare.hooks, false};
    size_t arena_bytes = sizeof bare.arena;
    if (!has_options())
        return false;
    bare.used = 0;
    bare.hooks =
        (extent_hooks_t){.alloc = bump, .dalloc = keep, .destroy = leave_to_mapping, .split = split, .merge = merge};
    bare.base = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bare.base == MAP_FAILED)
        return false;
    if (ferry_je_mallctl("experimental.arenas_create_ext", &bare.arena, &arena_bytes, &config, sizeof config) == 0 &&
        set_decay(bare.arena, "dirty") && set_decay(bare.arena, "muzzy"))
        return true;
    munmap(bare.base, MAPPING_BYTES);
    return false;
}

void bare_jemalloc_leave(void) {
    if (flags)
        ferry_je_mallctl("tcache.destroy", NULL, NULL, &cache, sizeof cache);
    flags = 0;
}

void bare_jemalloc_close(void) {
    char name[64];
    bare_jemalloc_leave();
    snprintf(name, sizeof name, "arena.%u.destroy", bare.arena);
    if (ferry_je_mallctl(name, NULL, NULL, NULL, 0) == 0)
        munmap(bare.base, MAPPING_BYTES);
}

static bool enter(void) {
    size_t bytes = sizeof cache;
    if (ferry_je_mallctl("tcache.create", &cache, &bytes, NULL, 0))
        return false;
    flags = MALLOCX_ARENA((int)bare.arena) | MALLOCX_TCACHE((int)cache);
    return true;
}

void *bare_jemalloc_take(size_t bytes) {
    return flags || enter() ? ferry_je_mallocx(bytes, flags) : NULL;
}

void bare_jemalloc_give(void *block) {
    if (flags || enter())
        ferry_je_dallocx(block, flags);
}
