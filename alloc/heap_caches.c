#include "heap.h"

#include <stdlib.h>

#include "thread.h"

static int cache_index(int flags) {
    /* The inverse of MALLOCX_TCACHE: two is added so that "automatic" and "none" have values, and 0 means that none is
     * named. */
    return ((flags >> 8) & 0xfff) - 2;
}

static void cache_command(const char *command, int flags) {
    const int index = cache_index(flags);
    if (index >= 0) {
        unsigned number = (unsigned)index;
        (void)ferry_je_mallctl(command, NULL, NULL, &number, sizeof number);
    }
}

static void caches_command(const char *command, const struct heap_caches *caches) {
    cache_command(command, caches->pages);
    cache_command(command, caches->tiny);
}

void heap_caches_end(struct thread *thread) {
    for (uint32_t slot = 0; slot < thread->ncaches; slot++) {
        if (heap_is_live(slot, thread->caches[slot].serial)) {
            caches_command("tcache.destroy", &thread->caches[slot]);
        }
    }
}

static int arena_flags(const struct arena *arena) {
    unsigned cache = 0;
    size_t bytes = sizeof cache;
    const bool made = ferry_je_mallctl("tcache.create", &cache, &bytes, NULL, 0) == 0;
    return MALLOCX_ARENA((int)arena->index) | (made ? MALLOCX_TCACHE((int)cache) : MALLOCX_TCACHE_NONE);
}

static struct heap_caches without_caches(const ferry_heap *heap) {
    return (struct heap_caches){heap->serial, MALLOCX_ARENA((int)heap->pages.index) | MALLOCX_TCACHE_NONE,
                                MALLOCX_ARENA((int)heap->tiny.index) | MALLOCX_TCACHE_NONE};
}

static struct heap_caches make_caches(ferry_heap *heap) {
    struct thread *thread = thread_self();
    if (thread == NULL) {
        return without_caches(heap);
    }
    thread_list_lock();
    if (heap->slot >= thread->ncaches) {
        struct heap_caches *more = realloc(thread->caches, (heap->slot + 1) * sizeof *more);
        if (more == NULL) {
            thread_list_unlock();
            return without_caches(heap);
        }
        for (uint32_t slot = thread->ncaches; slot <= heap->slot; slot++) {
            more[slot] = (struct heap_caches){0};
        }
        thread->caches = more;
        thread->ncaches = heap->slot + 1;
    }
    struct heap_caches *caches = &thread->caches[heap->slot];
    *caches = (struct heap_caches){heap->serial, arena_flags(&heap->pages), arena_flags(&heap->tiny)};
    thread_list_unlock();
    return *caches;
}

struct heap_caches heap_caches_get(ferry_heap *heap) {
    const struct thread *thread = thread_peek();
    if (thread != NULL && heap->slot < thread->ncaches && thread->caches[heap->slot].serial == heap->serial) {
        return thread->caches[heap->slot];
    }
    return make_caches(heap);
}

void heap_caches_flush(void) {
    const struct thread *thread = thread_peek();
    if (thread == NULL) {
        return;
    }
    heap_lock();
    for (uint32_t slot = 0; slot < thread->ncaches; slot++) {
        if (heap_is_live(slot, thread->caches[slot].serial)) {
            caches_command("tcache.flush", &thread->caches[slot]);
        }
    }
    heap_unlock();
}

void heap_caches_drop(const ferry_heap *heap) {
    thread_list_lock();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        if (heap->slot < thread->ncaches && thread->caches[heap->slot].serial == heap->serial) {
            caches_command("tcache.destroy", &thread->caches[heap->slot]);
            thread->caches[heap->slot] = (struct heap_caches){0};
        }
    }
    thread_list_unlock();
}
