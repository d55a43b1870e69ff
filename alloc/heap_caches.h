/*
 * What a thread keeps of a heap: jemalloc's explicit thread caches, and in front of them, for sizes up to 32 KiB, a
 * short stack of free blocks per size class. The way through jemalloc's calls with explicit caches costs as much again
 * as everything else a small malloc does; a stack answers the common case, a free followed by a malloc of the same
 * size, in a few loads.
 *
 * Only the thread itself uses its stacks. Pointers lie in ordinary memory: free blocks are not written to.
 */
#ifndef FERRY_ALLOC_HEAP_CACHES_H
#define FERRY_ALLOC_HEAP_CACHES_H

#include "heap.h"
#include "thread.h"

#define STACK_BLOCKS 16
#define TINY_CLASSES 27
#define PAGE_CLASSES 8
#define NO_CLASS (TINY_CLASSES + PAGE_CLASSES)

#define LARGEST_TINY_CLASS_BYTES ((size_t)3584)

struct block_stack {
    uint32_t count;
    void *blocks[STACK_BLOCKS];
};

struct heap_caches {
    uint64_t serial;              /* of the heap they are for; 0: none */
    int pages, tiny;              /* flags for mallocx: arena and cache */
    struct thread_counts *counts; /* the thread's */
    struct block_stack stacks[TINY_CLASSES + PAGE_CLASSES];
};

/* The calling thread's caches of a heap, made on first use; NULL when there is no memory for them. */
struct heap_caches *heap_caches_make(ferry_heap *heap);

static inline struct heap_caches *heap_caches_get(ferry_heap *heap) {
    const struct thread *thread = thread_current;
    if (thread != NULL && heap->slot < thread->ncaches && thread->caches[heap->slot]->serial == heap->serial) {
        return thread->caches[heap->slot];
    }
    return heap_caches_make(heap);
}

/* jemalloc's size classes: multiples of 16 up to 128, then four between powers of two. 0 < bytes <=
 * LARGEST_TINY_CLASS_BYTES. */
static inline unsigned tiny_class_index(size_t bytes) {
    if (bytes <= 128) {
        return (unsigned)((bytes - 1) / 16);
    }
    const unsigned log = 63 - (unsigned)__builtin_clzl(bytes - 1);
    return 8 + (log - 7) * 4 + (unsigned)((bytes - 1) >> (log - 2)) - 4;
}

static inline size_t tiny_class_bytes(size_t bytes) {
    if (bytes <= 128) {
        return (bytes + 15) & ~(size_t)15;
    }
    const unsigned shift = 61 - (unsigned)__builtin_clzl(bytes - 1);
    return (((bytes - 1) >> shift) + 1) << shift;
}

/* The class of whole pages, NO_CLASS when there are too many. */
static inline unsigned pages_class_index(size_t pages) {
    return pages <= PAGE_CLASSES ? TINY_CLASSES + (unsigned)pages - 1 : NO_CLASS;
}

static inline struct thread_counts *caches_counts(const struct heap_caches *caches) {
    return caches == NULL ? NULL : caches->counts;
}

static inline void *stack_pop(struct block_stack *stack) {
    return stack->count == 0 ? NULL : stack->blocks[--stack->count];
}

/* Makes room in a full stack by giving its older half back; every block of it is of `class_bytes`. */
void stack_shed(struct block_stack *stack, size_t class_bytes, int flags);

static inline void stack_push(struct block_stack *stack, void *block, size_t class_bytes, int flags) {
    if (stack->count == STACK_BLOCKS) {
        stack_shed(stack, class_bytes, flags);
    }
    stack->blocks[stack->count++] = block;
}

/* Gives the calling thread's cached blocks of all heaps back to their arenas. */
void heap_caches_flush(void);

/* Empties and forgets every thread's caches of a heap that is about to go. Heaps' lock held: threads look at, and end
 * with, their caches under it. */
void heap_caches_drop(const ferry_heap *heap);

/* Destroys the caches of a thread that ends. Heaps' lock held. */
void heap_caches_end(struct thread *thread);

#endif
