/* The library's one instance: what ferry_init decided. Written once under the start lock, read-only afterwards. */
#ifndef FERRY_ALLOC_CORE_H
#define FERRY_ALLOC_CORE_H

#include <stdatomic.h>

#include "backend.h"

struct core {
    const backend *backend;
    int devices;
    bool hints; /* every device has concurrent managed access: advice, prefetch and discard may be used */
    ferry_policy policy;
    size_t limit_bytes;       /* of live bytes */
    ferry_heap *_Atomic heap; /* the default one; set last, so that whoever sees it sees the rest */
};

extern struct core core;

/* Starts the library if need be. Everything that reads `core` comes after a success of this or of something that
 * implies it. */
ferry_status core_start(void);

/* The same for whoever will call the backend: FERRY_UNSUPPORTED in a forked child. */
ferry_status core_start_device(void);

/* What takes malloc and free off their short path; one word, so that the path asks one question. */
enum {
    CORE_FORKED = 1,   /* this process is a forked child: memory is plain, the backend is never called */
    CORE_DEFERRED = 2, /* freed blocks wait for kernels */
    CORE_STRICT = 4    /* the site of every block is kept */
};
extern _Atomic uint32_t core_attention;

static inline bool core_attention_to(uint32_t what) {
    return (atomic_load_explicit(&core_attention, memory_order_relaxed) & what) != 0;
}

static inline bool core_forked(void) {
    return core_attention_to(CORE_FORKED);
}

/* For tests: the backend of the next start instead of the chosen one. */
void core_use_backend(const backend *chosen);

#endif
