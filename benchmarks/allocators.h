/* The allocators that the suite `alloc` compares. */
#ifndef FERRY_BENCHMARKS_ALLOCATORS_H
#define FERRY_BENCHMARKS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>

/* What the host can do with an allocator's blocks. */
enum block_kind {
    BLOCKS_ORDINARY, /* ordinary memory */
    BLOCKS_MANAGED,  /* both sides use them */
    BLOCKS_ON_DEVICE /* the host cannot touch them */
};

/* Any thread may take and give, once it is open. */
struct allocator {
    const char *name;
    enum block_kind kind;
    bool slow;  /* every call is one of the driver's, and takes as long as thousands of the others' */
    bool fresh; /* opened again, it gives memory that nobody has touched */

    /* NULL, or why it is not to be had here: a sentence without its subject. */
    const char *(*open)(void);
    /* All blocks have been given back, and all threads but the caller have left. */
    void (*close)(void);
    void *(*take)(size_t bytes);
    void (*give)(void *block);
    void (*leave)(void);  /* the calling thread will not come back; NULL: there is nothing to do */
    void (*settle)(void); /* before the host touches what the calling thread has taken; NULL: it may at once */
    /* Bytes taken from the device by its own account, the most since it was opened or now; NULL: it has none. */
    size_t (*held)(void);
};

enum { ALLOCATOR_FERRY, ALLOCATOR_ARENA, ALLOCATOR_JEMALLOC, ALLOCATOR_GLIBC, ALLOCATOR_MIMALLOC, ALLOCATORS_OF_CUDA };
#define CUDA_ALLOCATORS 4
#define ALLOCATORS (ALLOCATORS_OF_CUDA + CUDA_ALLOCATORS)

const struct allocator *allocator_get(size_t which);

/* The last of them. */
extern const struct allocator cuda_allocators[CUDA_ALLOCATORS];

#endif
