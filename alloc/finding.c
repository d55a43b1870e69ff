#include "finding.h"

#include "core.h"

ferry_status finding_in_plan(const struct plan *plan, ferry_site site, struct strict_crossing *finding) {
    if (!strict_on() || plan->status != FERRY_OK || plan->redundant_bytes == 0) {
        return plan->status;
    }
    const struct memories *memories = &plan->redundant.storage->memories;
    *finding = (struct strict_crossing){
        .address = plan->redundant.base,
        .storage_bytes = plan->redundant.bytes,
        .bytes = plan->redundant_bytes,
        .to = plan->user,
        .born = memories->born_at,
        .before = plan->user >= 0 ? memories->crossed_to_device : memories->crossed_to_host,
        .now = site,
    };
    return FERRY_REDUNDANT;
}

ferry_status finding_of_touch(ferry_site site, struct strict_crossing *finding) {
    const void *address = NULL;
    if (!strict_on() || core.backend->take_unsynchronised == NULL || !core.backend->take_unsynchronised(&address)) {
        return FERRY_OK;
    }
    struct storage_place place;
    *finding = (struct strict_crossing){.address = address, .bytes = 1, .to = FERRY_PLACE_HOST, .now = site};
    if (storage_find(address, &place)) {
        finding->address = place.base;
        finding->storage_bytes = place.bytes;
        if (!place.region->tiny && !place.storage->fresh) {
            finding->born = place.storage->memories.born_at;
            finding->before = place.storage->memories.used_at;
        }
    }
    return FERRY_UNSYNCHRONISED;
}

ferry_status finding_tell(ferry_status status, const struct strict_crossing *finding) {
    if (status == FERRY_REDUNDANT) {
        return strict_redundant(finding);
    }
    return status == FERRY_UNSYNCHRONISED ? strict_unsynchronised(finding) : status;
}
