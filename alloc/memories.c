#include "memories.h"

#include "core.h"
#include "region.h"
#include "stream.h"

/* A host that touches less than this part of a storage has sampled it: no reason to let the next one live there. */
#define SAMPLE_PART 8

static void clear_flags(const struct storage_place *place, page_state flags) {
    const size_t first = region_page(place->region, place->base);
    residency_clear_flags(&place->region->residency, first, first + place->storage->pages, flags);
}

void memories_begin(const struct storage_place *place) {
    struct storage *storage = place->storage;
    if (!storage->fresh || place->region->tiny) {
        return;
    }
    clear_flags(place, STATE_CROSSED | STATE_PASSES_MASK);
    storage->memories = (struct memories){.born_at = storage->born_at};
    if (storage->born.known) {
        storage->memories.history.passes = storage->born.passes;
        storage->memories.history.ending = storage->born.next;
        storage->memories.history.from_site = true;
    }
    storage->fresh = false;
}

void memories_suspect(const struct storage_place *place) {
    clear_flags(place, STATE_CROSSED);
}

unsigned memories_passes(const struct storage_place *place, unsigned exact) {
    if (exact < STATE_PASSES_MAX) {
        return exact;
    }
    const unsigned whole = history_passes_now(&place->storage->memories.history, place->bytes);
    return whole > exact ? whole : exact;
}

static void teach(struct storage *storage, unsigned passes, enum ending ending) {
    const struct site_outlook seen = {.passes = (uint16_t)clamp_passes(passes), .next = (uint8_t)ending, .known = true};
    site_learn(storage->site, &seen);
    storage->memories.taught = true;
}

/* Nothing was seen of the host, which tells something only of pages that a device held: what lies at home is read
 * there without a trace. A result that was expected to be read there is taken to have been. */
static void teach_unseen(const struct storage_place *place, unsigned passes) {
    struct storage *storage = place->storage;
    const size_t first = region_page(place->region, place->base);
    const bool born_on_device = storage->memories.born_on_device;
    const bool home = state_place(residency_run_at(&place->region->residency, first, first + 1).state) < 0;
    if (!home) {
        /* Of a block that the host filled first, only the passes are worth knowing: the next one will be filled, too.
         */
        teach(storage, passes, born_on_device ? ENDING_NOTHING : ENDING_UNKNOWN);
        return;
    }
    const struct site_outlook seen = {.passes = (uint16_t)clamp_passes(passes), .blind = born_on_device};
    site_learn(storage->site, &seen);
    if (born_on_device && storage->born.next == ENDING_READ) {
        site_host_read(storage->site);
    }
}

void memories_host_touch(const struct storage_place *place, size_t bytes, unsigned passes, enum ending ending) {
    struct storage *storage = place->storage;
    history_host_touch(&storage->memories.history, passes, ending);
    if (passes == 0 || bytes < place->bytes / SAMPLE_PART) {
        return;
    }
    if (!storage->memories.taught) {
        teach(storage, passes, ending);
    }
    if (ending == ENDING_READ) {
        site_host_read(storage->site);
    }
}

void memories_end(struct region *region, struct storage *storage, void *block) {
    if (core_forked()) {
        return;
    }
    const struct storage_place place = {region, storage, block, atomic_load(&storage->bytes)};
    if (!movement_try_lock()) {
        return;
    }
    observe_last(&place);
    const struct memories *memories = &storage->memories;
    const unsigned passes = history_passes_now(&memories->history, place.bytes);
    if (!memories->taught && passes > 0) {
        teach_unseen(&place, passes);
    }
    movement_unlock();
}
