/*
 * malloc and free, as nearly all of them go: through the calling thread's cache, in as many instructions as jemalloc's
 * own take. Whether a block is large is asked where that way ends: jemalloc's comparison of the size has the threshold
 * in it, and its look-up of a block's address finds none that is not a small one of its own.
 */
#include "fast.h"

#include "large.h"
#include "ordinary.h"
#include "shim.h"

#include <jemalloc/internal/jemalloc_preamble.h>

#include <jemalloc/internal/jemalloc_internal_includes.h>

/* No header of jemalloc's declares it. */
extern void free_default(void *block);

enum { FAST_END_MOST = SC_LOOKUP_MAXCLASS + 1 };
static size_t fast_end_bytes = FAST_END_MOST;

void fast_configure(size_t threshold_bytes) {
    fast_end_bytes = threshold_bytes < FAST_END_MOST ? threshold_bytes : FAST_END_MOST;
}

/* From there on blocks may be large, or too large for the thread's cache. The compiler learns that jemalloc's
 * comparison is contained in this one. */
static inline size_t end_of_fast_sizes(void) {
    const size_t end = fast_end_bytes;
    if (end > FAST_END_MOST) {
        __builtin_unreachable();
    }
    return end;
}

EXPORT void *malloc(size_t bytes) {
    if (likely(bytes < end_of_fast_sizes())) {
        return imalloc_fastpath(bytes, malloc_default);
    }
    return shim_is_large(bytes) ? large_allocate(bytes, 0, false, CALLER()) : malloc_default(bytes);
}

/*
 * A small block of jemalloc's into the thread's cache, where that has room for it and nothing else is to be done;
 * otherwise false. A large block is no small one of jemalloc's, and neither are recorded ordinary ones.
 */
static inline bool free_into_cache(void *block) {
    tsd_t *thread = tsd_get(false);
    emap_alloc_ctx_t found;
    if (config_uaf_detection || config_opt_size_checks) {
        return false; /* What is checked at every free is not checked here. */
    }
    if (emap_alloc_ctx_try_lookup_fast(thread, &arena_emap_global, block, &found) || !found.slab) {
        return false;
    }
    uint64_t freed_bytes, event_bytes;
    te_free_fastpath_ctx(thread, &freed_bytes, &event_bytes);
    freed_bytes += sz_index2size(found.szind);
    /* At 0 bytes already where the thread has no cache. */
    if (unlikely(freed_bytes >= event_bytes)) {
        return false;
    }
    tcache_t *cache = tsd_tcachep_get(thread);
    if (!cache_bin_dalloc_easy(&cache->bins[found.szind], block)) {
        return false;
    }
    *tsd_thread_deallocatedp_get(thread) = freed_bytes;
    return true;
}

EXPORT void free(void *block) {
    if (unlikely(!free_into_cache(block))) {
        if (large_may_be(block)) {
            large_free(block);
        } else {
            free_default(block);
        }
    }
}
