/* What is remembered of a storage's uses, from its first acquire to its end, and handed on to the site it was born at.
 */
#ifndef FERRY_ALLOC_MEMORIES_H
#define FERRY_ALLOC_MEMORIES_H

#include "ferry/site.h"
#include "observe.h"
#include "policy.h"

struct region;
struct storage;
struct storage_place;

/* First what every launch reads. */
struct memories {
    struct history history;
    struct observer observer;
    ferry_policy policy; /* as advised */
    uint32_t exports;    /* others who may use it without saying so: ferry_export_begin */
    ferry_site used_at;  /* on whose behalf a device last used it */
    bool used;           /* by a kernel or the host, not only advised about or moved by hand */
    bool born_on_device; /* the first was a kernel that overwrites */
    bool taught;         /* its site has learnt from it */
    enum latest { USED_BY_DEVICE, USED_BY_HOST, MOVED_BY_HAND } latest;
    ferry_site born_at;
    ferry_site crossed_to_device, crossed_to_host; /* on whose behalf its bytes last crossed */
    struct outlook outlook;                        /* of the latest use that had to be decided, */
    struct verdict verdict;                        /* and what came of it */
};

/* Blocks this large are remembered by site. */
#define REMEMBERED_BYTES ((size_t)64 << 10)

/* All calls: movement lock held, but for memories_end. */

/* Begins a storage's memories when it is first acquired or advised about: what lay in the block before is nobody's
 * contents any more. Later calls do nothing. */
void memories_begin(const struct storage_place *place);

/* A kernel or the host is about to use it. `overwritten_by_device`: it is a kernel that overwrites. */
static inline void memories_use(struct memories *memories, bool overwritten_by_device) {
    if (!memories->used) {
        memories->used = true;
        memories->born_on_device = overwritten_by_device;
    }
}

/* Before a use of what others may have written since the last one: nothing of it counts as having crossed. */
void memories_suspect(const struct storage_place *place);

/* Passes of devices since the host's last touch of pages that have counted `exact` of them, STATE_PASSES_MAX at most:
 * what is beyond only the storage as a whole has counted. */
unsigned memories_passes(const struct storage_place *place, unsigned exact);

/* The host touched `bytes` of it, over whose pages devices had gone `passes` times (0: over none). */
void memories_host_touch(const struct storage_place *place, size_t bytes, unsigned passes, enum ending ending);

/* Before the block is recycled: looks whether the host touched it after all, and teaches its site. Takes the lock, or,
 * when it is held, perhaps by somebody who waits for a transfer, does nothing: a free does not wait for that. */
void memories_end(struct region *region, struct storage *storage, void *block);

#endif
