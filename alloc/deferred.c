#include "deferred.h"

#include <stdlib.h>

#include "core.h"
#include "region.h"
#include "stream.h"

struct waiting {
    struct region *region;
    struct storage *storage;
    void *block;
    struct waiting *next;
};

/* Movement lock. CORE_DEFERRED tells whether there is one. */
static struct waiting *queue;

static bool enqueue(struct region *region, struct storage *storage, void *block) {
    struct waiting *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return false;
    }
    *entry = (struct waiting){region, storage, block, queue};
    storage_retire(region, storage);
    queue = entry;
    atomic_fetch_or(&core_attention, CORE_DEFERRED);
    return true;
}

void deferred_free(struct region *region, struct storage *storage, void *block) {
    movement_lock();
    bool pending = use_pending(storage);
    if (pending && !enqueue(region, storage, block)) {
        /* No memory to remember it by: wait instead. A device that fails here has no kernels left. */
        (void)use_wait_on_host(storage, FERRY_READWRITE);
        pending = false;
    } else if (pending) {
        movement_unlock();
        return;
    }
    movement_unlock();
    block_recycle(region, storage, block);
}

void deferred_reap(void) {
    if (!core_attention_to(CORE_DEFERRED)) {
        return;
    }
    struct waiting *ready = NULL;
    movement_lock();
    for (struct waiting **link = &queue; *link != NULL;) {
        struct waiting *entry = *link;
        if (use_pending(entry->storage)) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = ready;
        ready = entry;
    }
    if (queue == NULL) {
        atomic_fetch_and(&core_attention, ~(uint32_t)CORE_DEFERRED);
    }
    movement_unlock();
    while (ready != NULL) {
        struct waiting *entry = ready;
        ready = entry->next;
        block_recycle(entry->region, entry->storage, entry->block);
        free(entry);
    }
}
