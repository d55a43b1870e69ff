#include "heap_caches.h"

#include <stdlib.h>
#include <string.h>

/* What a thread without caches of a heap finds: the serial is no heap's. */
static struct heap_caches no_caches;

/* The inverse of MALLOCX_TCACHE, which adds two; -1 when the flags name no cache. */
static int cache_index(int flags) {
    return ((flags >> 8) & 0xfff) - 2;
}

static void cache_command(const char *command, int flags) {
    const int index = cache_index(flags);
    if (index >= 0) {
        unsigned number = (unsigned)index;
        (void)ferry_je_mallctl(command, NULL, NULL, &number, sizeof number);
    }
}

static void both_caches(const char *command, const struct heap_caches *caches) {
    cache_command(command, caches->pages);
    cache_command(command, caches->tiny);
}

void stack_shed(struct block_stack *stack, size_t class_bytes, int flags) {
    const uint32_t shed = (stack->count + 1) / 2;
    for (uint32_t i = 0; i < shed; i++) {
        ferry_je_sdallocx(stack->blocks[i], class_bytes, flags);
    }
    stack->count -= shed;
    memmove(stack->blocks, stack->blocks + shed, stack->count * sizeof *stack->blocks);
}

static void empty_stack(struct block_stack *stack, int flags) {
    while (stack->count > 0) {
        ferry_je_dallocx(stack->blocks[--stack->count], flags);
    }
}

static void empty_stacks(struct heap_caches *caches) {
    for (unsigned i = 0; i < TINY_CLASSES + PAGE_CLASSES; i++) {
        empty_stack(&caches->stacks[i], i < TINY_CLASSES ? caches->tiny : caches->pages);
    }
}

void heap_caches_end(struct thread *thread) {
    for (uint32_t slot = 0; slot < thread->ncaches; slot++) {
        struct heap_caches *caches = thread->caches[slot];
        if (caches == &no_caches) {
            continue;
        }
        if (heap_is_live(slot, caches->serial)) {
            empty_stacks(caches);
            both_caches("tcache.destroy", caches);
        }
        free(caches);
    }
}

static int arena_flags(const struct arena *arena) {
    unsigned cache = 0;
    size_t bytes = sizeof cache;
    const bool made = ferry_je_mallctl("tcache.create", &cache, &bytes, NULL, 0) == 0;
    return MALLOCX_ARENA((int)arena->index) | (made ? MALLOCX_TCACHE((int)cache) : MALLOCX_TCACHE_NONE);
}

/* Room for the slot in the thread's table. Threads' list locked: heap_caches_drop walks the table. */
static bool grow_table(struct thread *thread, uint32_t slot) {
    if (slot < thread->ncaches) {
        return true;
    }
    struct heap_caches **more = realloc(thread->caches, (slot + 1) * sizeof *more);
    if (more == NULL) {
        return false;
    }
    thread->caches = more;
    while (thread->ncaches <= slot) {
        more[thread->ncaches++] = &no_caches;
    }
    return true;
}

static struct heap_caches *make_in_table(struct thread *thread, const ferry_heap *heap) {
    if (!grow_table(thread, heap->slot)) {
        return NULL;
    }
    struct heap_caches *caches = thread->caches[heap->slot];
    if (caches == &no_caches) {
        caches = calloc(1, sizeof *caches);
    }
    if (caches != NULL) {
        caches->serial = heap->serial;
        caches->counts = &thread->counts;
        caches->pages = arena_flags(&heap->pages);
        caches->tiny = arena_flags(&heap->tiny);
        thread->caches[heap->slot] = caches;
    }
    return caches;
}

struct heap_caches *heap_caches_make(ferry_heap *heap) {
    struct thread *thread = thread_self();
    if (thread == NULL) {
        return NULL;
    }
    thread_list_lock();
    struct heap_caches *caches = make_in_table(thread, heap);
    thread_list_unlock();
    return caches;
}

void heap_caches_flush(void) {
    const struct thread *thread = thread_current;
    if (thread == NULL) {
        return;
    }
    heap_lock();
    for (uint32_t slot = 0; slot < thread->ncaches; slot++) {
        if (heap_is_live(slot, thread->caches[slot]->serial)) {
            empty_stacks(thread->caches[slot]);
            both_caches("tcache.flush", thread->caches[slot]);
        }
    }
    heap_unlock();
}

void heap_caches_drop(const ferry_heap *heap) {
    thread_list_lock();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        struct heap_caches *caches = heap->slot < thread->ncaches ? thread->caches[heap->slot] : &no_caches;
        if (caches->serial == heap->serial) {
            empty_stacks(caches);
            both_caches("tcache.destroy", caches);
            memset(caches, 0, sizeof *caches);
        }
    }
    thread_list_unlock();
}
