/* Blocks of emulated threads that meet at barriers. */
#ifndef FERRY_TESTS_KERNELS_EMULATE_BLOCK_H
#define FERRY_TESTS_KERNELS_EMULATE_BLOCK_H

#include <ucontext.h>

#include "tests/kernels/emulate.h"

#define BLOCK_THREADS 256
#define BLOCK_STACK_BYTES (64 << 10)
#define BLOCK_GRID 3 /* blocks: each goes round several times */

/* A block of threads that take turns: each runs until the next barrier. */
static struct {
    void (*kernel)(void **);
    void **args;
    ucontext_t scheduler, thread[BLOCK_THREADS];
    bool ended[BLOCK_THREADS];
    char *stacks;
    int running;
} block;

static inline void block_barrier(void) {
    swapcontext(&block.thread[block.running], &block.scheduler);
}

static inline void block_thread(void) {
    block.kernel(block.args);
    block.ended[block.running] = true;
}

/* getcontext may return twice, as far as a compiler knows: it has a function to itself. */
__attribute__((noinline)) static void block_make_thread(int t) {
    getcontext(&block.thread[t]);
    block.thread[t].uc_stack.ss_sp = block.stacks + (size_t)t * BLOCK_STACK_BYTES;
    block.thread[t].uc_stack.ss_size = BLOCK_STACK_BYTES;
    block.thread[t].uc_link = &block.scheduler;
    makecontext(&block.thread[t], block_thread, 0);
    block.ended[t] = false;
}

static inline void block_start(void) {
    for (int t = 0; t < BLOCK_THREADS; t++)
        block_make_thread(t);
}

/* All threads reach the same barriers; in the last turn all end. */
static inline void block_run(unsigned *thread_index) {
    block_start();
    for (int ended = 0; ended == 0;) {
        for (int t = 0; t < BLOCK_THREADS; t++) {
            block.running = t;
            *thread_index = (unsigned)t;
            swapcontext(&block.scheduler, &block.thread[t]);
            ended += block.ended[t];
        }
        REQUIRE(ended == 0 || ended == BLOCK_THREADS);
    }
}

/* The library's kernel of that number, on a small grid for so many blocks of work. */
static inline void block_run_grid(void *library, int kernel, void **args, int64_t blocks) {
    unsigned *index = emulate_symbol(library, "blockIdx", -1), *thread_index = emulate_symbol(library, "threadIdx", -1);
    const unsigned grid = blocks < BLOCK_GRID ? (unsigned)blocks : BLOCK_GRID;
    *(unsigned *)emulate_symbol(library, "gridDim", -1) = grid;
    *(unsigned *)emulate_symbol(library, "blockDim", -1) = BLOCK_THREADS;
    *(void **)&block.kernel = emulate_symbol(library, "call", kernel);
    block.args = args;
    for (*index = 0; *index < grid; ++*index)
        block_run(thread_index);
}

static inline void block_set_up(void *library) {
    *(void (**)(void))emulate_symbol(library, "emulated_barrier", -1) = block_barrier;
    block.stacks = malloc((size_t)BLOCK_THREADS * BLOCK_STACK_BYTES);
    REQUIRE(block.stacks != NULL);
}

static inline void block_finish(void) {
    free(block.stacks);
}

#endif
