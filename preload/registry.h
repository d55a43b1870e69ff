/* The blocks that live, by their addresses: they begin pages. Lock-free. */
#ifndef FERRY_PRELOAD_REGISTRY_H
#define FERRY_PRELOAD_REGISTRY_H

#include <stdbool.h>

#include "ferry/run.h"

typedef struct registry_block {
    uint64_t bytes, born_ns;
    unsigned site; /* its number; 0: none */
    ferry_run_home home;
} registry_block;

typedef enum registry_place {
    REGISTRY_FRESH,    /* no block has begun there before */
    REGISTRY_WARM,     /* one has, and was taken */
    REGISTRY_OCCUPIED, /* one has, and went unseen: it is displaced */
    REGISTRY_NO_ROOM   /* the block is not remembered */
} registry_place;

/* `displaced` is set where the place was occupied. */
registry_place registry_add(const void *address, const registry_block *block, registry_block *displaced);

/* Forgets a block; false: it was not remembered. */
bool registry_take(const void *address, registry_block *out);

/* In a forked child, before it has other threads. */
void registry_clear(void);

#endif
