#include "in_place.h"

#include <stddef.h>

#include "counters.h"
#include "hot.h"
#include "stream.h"

_Static_assert(offsetof(struct storage, memories.used_at) <= 128,
               "what a launch reads of a storage is two cache lines");
_Static_assert(offsetof(struct region, covering) <= 64, "and of a region one");

/* Remembered where it was found of a whole storage: a MiB of pages is eight cache lines of the table. */
static bool are_uniform(const struct storage_place *place, size_t first_page, size_t end_page) {
    const struct residency *table = &place->region->residency;
    struct storage *storage = place->storage;
    if (storage->uniform_at == table->changes) {
        return true;
    }
    const bool uniform = residency_is_uniform(table, first_page, end_page);
    if (uniform && end_page - first_page == storage->pages) {
        storage->uniform_at = table->changes;
    }
    return uniform;
}

HOT bool in_place(const struct storage_place *place, const char *begin, const char *end, int device,
                  ferry_access access) {
    const struct region *region = place->region;
    const size_t page = region_page(region, begin), end_page = region_page(region, end - 1) + 1;
    return state_is_settled(residency_state(&region->residency, page), device, (access & FERRY_WRITE) != 0) &&
           are_uniform(place, page, end_page);
}

/* Whether a use of the operand is to do nothing. Pages that devices have passed over have been used: it is noted. */
static bool needs_nothing(struct operand *operand, const struct launch *launch) {
    if (!operand->contiguous || operand->place.region->tiny) {
        return false;
    }
    const struct storage *storage = operand->place.storage;
    const struct memories *memories = &storage->memories;
    if (storage->fresh || memories->exports > 0) {
        return false;
    }
    operand->policy = operand_policy(operand, launch->thread_policy);
    const ferry_access access = operand->given->access;
    return (!observe_wanted(operand->policy) || observe_has_time(&memories->observer)) &&
           use_needs_no_wait(storage, access, launch->stream) &&
           in_place(&operand->place, operand->low, operand->high, launch->stream->device, access);
}

static void remember(const struct operand *operand, ferry_site site) {
    struct memories *memories = &operand->place.storage->memories;
    memories->latest = USED_BY_DEVICE;
    memories->used_at = site;
    history_device_pass(&memories->history, (size_t)(operand->high - operand->low),
                        operand_passes_counted(operand->given));
    if (observe_wanted(operand->policy)) {
        memories->observer.launches++;
    }
}

HOT bool in_place_acquire(const struct operands *operands, const struct launch *launch) {
    for (size_t i = 0; i < operands->n; i++) {
        if (!needs_nothing(&operands->items[i], launch)) {
            return false;
        }
    }
    uint64_t skipped = 0;
    for (size_t i = 0; i < operands->n; i++) {
        remember(&operands->items[i], launch->site);
        skipped += operands->items[i].policy != FERRY_POLICY_NONE ? 1 : 0;
    }
    COUNT(prefetches_skipped, skipped);
    return true;
}
