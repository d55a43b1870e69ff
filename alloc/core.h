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

extern _Atomic bool core_started;

/* What follows is what remains of the two below when the library has not been started, or in a forked child. */
ferry_status core_start_first(void) FERRY_COLD;
ferry_status core_refuse_child(void) FERRY_COLD;

/* Starts the library if need be. Everything that reads `core` comes after a success of this or of something that
 * implies it. */
static inline ferry_status core_start(void) {
    return atomic_load_explicit(&core_started, memory_order_acquire) ? FERRY_OK : core_start_first();
}

/* The same for whoever will call the backend: FERRY_UNSUPPORTED in a forked child. */
static inline ferry_status core_start_device(void) {
    const ferry_status status = core_start();
    return status == FERRY_OK && core_forked() ? core_refuse_child() : status;
}

/* For tests: the backend of the next start instead of the chosen one. */
void core_use_backend(const backend *chosen);

#endif
