/* Storages in the hands of others, whose uses the library does not see. */
#include "core.h"
#include "operands.h"
#include "region.h"
#include "stream.h"

static ferry_status visit_wait(struct storage *storage, ferry_access access, ferry_stream *stream) {
    (void)access, (void)stream;
    return use_wait_on_host(storage, FERRY_READWRITE);
}

/* Counts an export more or less. What was known of the contents ends with it, and with whatever the other did. */
static void count_export(const struct operand *operand, bool more) {
    if (operand->low == NULL || operand->place.region->tiny) {
        return;
    }
    memories_begin(&operand->place);
    uint32_t *exports = &operand->place.storage->memories.exports;
    if (!more && *exports == 0) {
        return;
    }
    *exports = more ? *exports + 1 : *exports - 1;
    memories_suspect(&operand->place);
}

ferry_status ferry_export_begin(const ferry_view *view) {
    if (!ferry_owns(view->data)) {
        return FERRY_OK;
    }
    ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_operand operand = {.view = view, .access = FERRY_READ};
    struct operands found;
    movement_lock();
    status = operands_find(&found, &operand, 1);
    if (status == FERRY_OK) {
        status = core.hints ? operands_visit(&found, NULL, visit_wait) : stream_wait_for_all();
    }
    if (status == FERRY_OK) {
        count_export(found.items, true);
    }
    movement_unlock();
    return status;
}

void ferry_export_end(const ferry_view *view) {
    const ferry_operand operand = {.view = view, .access = FERRY_READ};
    struct operands found;
    if (!ferry_owns(view->data) || core_start_device() != FERRY_OK) {
        return;
    }
    movement_lock();
    if (operands_find(&found, &operand, 1) == FERRY_OK) {
        count_export(found.items, false);
    }
    movement_unlock();
}
