#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "deferred.h"
#include "heap_caches.h"
#include "options.h"
#include "stream.h"

/*
 * jemalloc asks for exactly what it needs (retain), never gives back by itself (decay: a purge of a large free would be
 * synchronous), and makes no arenas of its own beyond one. A free extent serves however small a request
 * (lg_extent_max_active_fit: no bound). By default none above 64 times the request does, and free neighbours are
 * joined: where nothing decays, what has grown past that would never be used again, and every round of allocations that
 * are all freed would take memory of its own.
 */
const char *ferry_je_malloc_conf = "retain:false,dirty_decay_ms:-1,muzzy_decay_ms:-1,lg_extent_max_active_fit:64,"
                                   "narenas:1,percpu_arena:disabled,background_thread:false,thp:default";

static pthread_mutex_t heaps_lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_heap **heaps; /* by slot, NULL where free */
static uint32_t nheaps;
static uint64_t last_serial;

void heap_lock(void) {
    pthread_mutex_lock(&heaps_lock);
}

void heap_unlock(void) {
    pthread_mutex_unlock(&heaps_lock);
}

bool heap_is_live(uint32_t slot, uint64_t serial) {
    return slot < nheaps && heaps[slot] != NULL && heaps[slot]->serial == serial;
}

static struct arena *arena_of(extent_hooks_t *hooks) {
    return (struct arena *)(void *)hooks;
}

/* Fresh pages are zero, but recycled ones are not, and jemalloc is never asked for zeros: *zero stays as it is only
 * when false. */
static void *hook_alloc(extent_hooks_t *hooks, void *new_addr, size_t size, size_t alignment, bool *zero, bool *commit,
                        unsigned arena_index) {
    (void)arena_index;
    if (new_addr != NULL || *zero) {
        return NULL;
    }
    *commit = true;
    return region_carve(&arena_of(hooks)->regions, size, alignment);
}

static bool hook_dalloc(extent_hooks_t *hooks, void *addr, size_t size, bool committed, unsigned arena_index) {
    (void)committed;
    (void)arena_index;
    region_give_back(&arena_of(hooks)->regions, addr, size);
    return false;
}

static bool hook_split(extent_hooks_t *hooks, void *addr, size_t size, size_t size_a, size_t size_b, bool committed,
                       unsigned arena_index) {
    (void)hooks, (void)addr, (void)size, (void)size_a, (void)size_b, (void)committed, (void)arena_index;
    return false;
}

static bool hook_merge(extent_hooks_t *hooks, void *addr_a, size_t size_a, void *addr_b, size_t size_b, bool committed,
                       unsigned arena_index) {
    (void)hooks, (void)size_a, (void)size_b, (void)committed, (void)arena_index;
    return region_find(addr_a) != region_find(addr_b); /* true refuses */
}

static ferry_status set_decay(unsigned index, const char *which) {
    char name[64];
    ssize_t never = -1;
    snprintf(name, sizeof name, "arena.%u.%s", index, which);
    const int error = ferry_je_mallctl(name, NULL, NULL, &never, sizeof never);
    return error == 0 ? FERRY_OK : ferry_error(FERRY_OUT_OF_MEMORY, "jemalloc refuses %s: %s", name, strerror(error));
}

static void arena_command(const struct arena *arena, const char *command) {
    char name[64];
    snprintf(name, sizeof name, "arena.%u.%s", arena->index, command);
    (void)ferry_je_mallctl(name, NULL, NULL, NULL, 0);
}

/* What jemalloc 5.3 reads at "experimental.arenas_create_ext": with metadata_use_hooks false its own records stay in
 * ordinary memory. */
struct arena_config {
    extent_hooks_t *extent_hooks;
    bool metadata_use_hooks;
};

static ferry_status arena_init(struct arena *arena, ferry_heap *heap, bool tiny, bool host_homed) {
    arena->hooks =
        (extent_hooks_t){.alloc = hook_alloc, .dalloc = hook_dalloc, .split = hook_split, .merge = hook_merge};
    region_list_init(&arena->regions, heap, tiny, host_homed);
    struct arena_config config = {&arena->hooks, false};
    size_t index_bytes = sizeof arena->index;
    const int error =
        ferry_je_mallctl("experimental.arenas_create_ext", &arena->index, &index_bytes, &config, sizeof config);
    ferry_status status = FERRY_OK;
    if (error != 0) {
        status = ferry_error(FERRY_OUT_OF_MEMORY, "jemalloc cannot make an arena: %s", strerror(error));
    } else {
        status = set_decay(arena->index, "dirty_decay_ms");
        status = status == FERRY_OK ? set_decay(arena->index, "muzzy_decay_ms") : status;
        if (status != FERRY_OK) {
            arena_command(arena, "destroy"); /* or jemalloc would keep hooks that are about to go */
        }
    }
    if (status != FERRY_OK) {
        region_list_finish(&arena->regions);
    }
    return status;
}

static void arena_finish(struct arena *arena) {
    arena_command(arena, "destroy");
    region_list_finish(&arena->regions);
}

struct arena *heap_placed_arena(ferry_heap *heap) {
    if (atomic_load_explicit(&heap->has_placed, memory_order_acquire)) {
        return &heap->placed;
    }
    heap_lock();
    if (!atomic_load(&heap->has_placed) && arena_init(&heap->placed, heap, false, true) == FERRY_OK) {
        atomic_store_explicit(&heap->has_placed, true, memory_order_release);
    }
    const bool made = atomic_load(&heap->has_placed);
    heap_unlock();
    return made ? &heap->placed : NULL;
}

static void finish_placed(ferry_heap *heap) {
    if (atomic_load(&heap->has_placed)) {
        arena_finish(&heap->placed);
    }
}

/* Gives the heap a slot. */
static ferry_status enlist(ferry_heap *heap) {
    heap_lock();
    uint32_t slot = 0;
    while (slot < nheaps && heaps[slot] != NULL) {
        slot++;
    }
    if (slot == nheaps) {
        ferry_heap **more = realloc(heaps, (nheaps + 1) * sizeof(ferry_heap *));
        if (more == NULL) {
            heap_unlock();
            return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the table of heaps");
        }
        heaps = more;
        nheaps++;
    }
    heap->slot = slot;
    heap->serial = ++last_serial;
    heaps[slot] = heap;
    heap_unlock();
    return FERRY_OK;
}

static ferry_status heap_new(const ferry_heap_options *options, ferry_heap **out) {
    ferry_heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a heap's record");
    }
    snprintf(heap->name, sizeof heap->name, "%s", options->name == NULL ? "heap" : options->name);
    heap->policy = options->policy == FERRY_POLICY_DEFAULT ? core.policy : options->policy;
    ferry_status status = arena_init(&heap->pages, heap, false, heap->policy != FERRY_POLICY_NONE);
    if (status != FERRY_OK) {
        goto free_heap;
    }
    status = arena_init(&heap->tiny, heap, true, true);
    if (status != FERRY_OK) {
        goto finish_pages;
    }
    status = enlist(heap);
    if (status != FERRY_OK) {
        goto finish_tiny;
    }
    *out = heap;
    return FERRY_OK;
finish_tiny:
    arena_finish(&heap->tiny);
finish_pages:
    arena_finish(&heap->pages);
free_heap:
    free(heap);
    return status;
}

ferry_status heap_create_default(ferry_heap **out) {
    return heap_new(&(ferry_heap_options){.name = "default"}, out);
}

ferry_status ferry_heap_create(const ferry_heap_options *options, ferry_heap **out) {
    const ferry_status started = core_start();
    if (started != FERRY_OK) {
        return started;
    }
    const ferry_heap_options none = {0};
    options = options == NULL ? &none : options;
    if (!options_is_policy(options->policy)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no policy", (int)options->policy);
    }
    return heap_new(options, out);
}

void ferry_heap_destroy(ferry_heap *heap) {
    if (heap == NULL || heap == core.heap || core_forked()) {
        return;
    }
    stream_sync_all();
    deferred_forget(heap);
    heap_lock();
    heaps[heap->slot] = NULL;
    heap_caches_drop(heap);
    heap_unlock();
    heap_count_out(heap);
    finish_placed(heap);
    arena_finish(&heap->tiny);
    arena_finish(&heap->pages);
    free(heap);
}

ferry_heap *ferry_heap_default(void) {
    return core_start() == FERRY_OK ? core.heap : NULL;
}

ferry_policy ferry_heap_policy(const ferry_heap *heap) {
    return heap == NULL ? (core_start() == FERRY_OK ? core.policy : FERRY_POLICY_AUTO) : heap->policy;
}

void heap_visit_lists(void (*visit)(struct region_list *list)) {
    for (uint32_t i = 0; i < nheaps; i++) {
        if (heaps[i] != NULL) {
            visit(&heaps[i]->pages.regions);
            visit(&heaps[i]->tiny.regions);
            if (atomic_load(&heaps[i]->has_placed)) {
                visit(&heaps[i]->placed.regions);
            }
        }
    }
}

static void for_each_heap(void (*visit)(ferry_heap *heap)) {
    heap_lock();
    for (uint32_t i = 0; i < nheaps; i++) {
        if (heaps[i] != NULL) {
            visit(heaps[i]);
        }
    }
    heap_unlock();
}

/* Moves recycled blocks back to the regions. */
static void purge(ferry_heap *heap) {
    arena_command(&heap->pages, "purge");
    arena_command(&heap->tiny, "purge");
    if (atomic_load(&heap->has_placed)) {
        arena_command(&heap->placed, "purge");
    }
}

static void trim(ferry_heap *heap) {
    region_trim(&heap->pages.regions);
    region_trim(&heap->tiny.regions);
    if (atomic_load(&heap->has_placed)) {
        region_trim(&heap->placed.regions);
    }
}

ferry_status ferry_trim(void) {
    const ferry_status started = core_start();
    if (started != FERRY_OK || core_forked()) {
        return started;
    }
    deferred_reap();
    heap_caches_flush();
    for_each_heap(purge);
    for_each_heap(trim);
    return FERRY_OK;
}
