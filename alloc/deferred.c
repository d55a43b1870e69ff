#include "deferred.h"

#include <pthread.h>
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

/* Held from taking blocks off the queue until they are recycled, and outside the movement lock: a heap that goes waits
 * for those who are about to recycle its blocks. */
static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER;

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
    stream_begin_round();
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

/* Takes off the queue what belongs to `heap`, or for NULL what has ended. */
static struct waiting *take_off(const ferry_heap *heap) {
    struct waiting *taken = NULL;
    movement_lock();
    stream_begin_round();
    for (struct waiting **link = &queue; *link != NULL;) {
        struct waiting *entry = *link;
        if (heap == NULL ? use_pending(entry->storage) : entry->region->heap != heap) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = taken;
        taken = entry;
    }
    if (queue == NULL) {
        atomic_fetch_and(&core_attention, ~(uint32_t)CORE_DEFERRED);
    }
    movement_unlock();
    return taken;
}

static void finish(struct waiting *taken, bool recycle) {
    while (taken != NULL) {
        struct waiting *entry = taken;
        taken = entry->next;
        if (recycle) {
            block_recycle(entry->region, entry->storage, entry->block);
        }
        free(entry);
    }
}

void deferred_reap(void) {
    if (core_attention_to(CORE_DEFERRED)) {
        pthread_mutex_lock(&reaping);
        finish(take_off(NULL), true);
        pthread_mutex_unlock(&reaping);
    }
}

void deferred_forget(const ferry_heap *heap) {
    pthread_mutex_lock(&reaping);
    finish(take_off(heap), false);
    pthread_mutex_unlock(&reaping);
}
