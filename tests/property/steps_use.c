/* Steps that read and write: on the host, told and untold, and by kernels. */
#include <stdlib.h>

#include "kernel.h"
#include "tests/test.h"
#include "views.h"

static void *memory(size_t bytes) {
    void *block = malloc(bytes == 0 ? 1 : bytes);
    REQUIRE(block != NULL);
    return block;
}

void describe(const struct world *world, const struct slot *slot, const ferry_view *view, char *text, size_t bytes) {
    const int n = snprintf(text, bytes, "a%d+%td ", (int)(slot - world->slots), (char *)view->data - slot->block);
    view_describe(view, text + n, bytes - (size_t)n);
}

static const char *access_name(ferry_access access) {
    return access == FERRY_READ ? "READ" : access == FERRY_WRITE ? "WRITE" : "READWRITE";
}

void say_operand(const struct world *world, const char *verb, const struct slot *slot, const ferry_view *view,
                 ferry_access access) {
    char text[400];
    describe(world, slot, view, text, sizeof text);
    say(world, "%s %s %s", verb, access_name(access), text);
}

/* New values for every element, in the array and in its shadow. */
static void overwrite(struct slot *slot, const ferry_view *view, uint64_t seed) {
    const size_t n = (size_t)ferry_view_size(view);
    uint64_t *values = memory(n * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = kernel_mix(seed, i);
    }
    view_scatter(view, view->data, values);
    view_scatter(view, slot_counterpart(slot, view, slot->shadow), values);
    slot_set_known(slot, view, true);
    free(values);
}

/* The step's first operand alone. */
static struct slot *resolve_one(struct world *world, const struct step *step, ferry_access access, ferry_view *view) {
    struct slot *slot = &world->slots[step->slot];
    if (!slot->live) {
        return NULL;
    }
    *view = recipe_view(step->operands[0].recipe, slot->block, slot->bytes, access != FERRY_READ);
    slot_use(slot, view, access);
    return slot;
}

void step_host_write(struct world *world, const struct step *step) {
    const ferry_access access = step->random % 3 == 0 ? FERRY_READWRITE : FERRY_WRITE;
    ferry_view view;
    struct slot *slot = resolve_one(world, step, access, &view);
    if (slot == NULL || !slot_allows(world, slot, HOST_SIDE)) {
        return;
    }
    say_operand(world, "host", slot, &view, access);
    if (!went_well(world, ferry_host_acquire(&view, access), "ferry_host_acquire")) {
        if (access == FERRY_WRITE) {
            slot_set_known(slot, &view, false);
        }
        return;
    }
    if (access == FERRY_READWRITE) {
        slot_verify(world, slot, &view);
    }
    overwrite(slot, &view, step->random);
    account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
}

void step_host_read(struct world *world, const struct step *step) {
    ferry_view view;
    struct slot *slot = resolve_one(world, step, FERRY_READ, &view);
    if (slot == NULL || !slot_allows(world, slot, HOST_SIDE)) {
        return;
    }
    say_operand(world, "host", slot, &view, FERRY_READ);
    if (went_well(world, ferry_host_acquire(&view, FERRY_READ), "ferry_host_acquire")) {
        slot_verify(world, slot, &view);
        account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
    }
}

static bool on_device(const struct world *world, const struct slot *slot) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].touched && truth_at(world, slot->block + i * FERRY_PAGE_BYTES) >= 0) {
            return true;
        }
    }
    return false;
}

/*
 * A block that no device has been told of belongs to the host alone, whatever its former owner left running; what its
 * pages hold is found out when a kernel wants it. Otherwise an unannounced access is safe once everything has ended,
 * and costs faults that the accounts do not know of.
 */
static bool may_touch(const struct world *world, const struct slot *slot, bool write) {
    if (world->program->rules.accounts) {
        return write && !slot->launched && !on_device(world, slot);
    }
    return (world->hints && !slot->launched) || went_well(world, ferry_sync(NULL), "ferry_sync");
}

void step_raw(struct world *world, const struct step *step) {
    const bool write = step->kind == STEP_RAW_WRITE;
    ferry_view view;
    struct slot *slot = resolve_one(world, step, write ? FERRY_WRITE : FERRY_READ, &view);
    if (slot == NULL || !may_touch(world, slot, write)) {
        return;
    }
    say_operand(world, "host, unannounced,", slot, &view, write ? FERRY_WRITE : FERRY_READ);
    if (write) {
        overwrite(slot, &view, step->random);
    } else {
        slot_verify(world, slot, &view);
    }
    for (size_t i = 0; i < slot->pages; i++) {
        slot->past[i].raw = slot->past[i].raw || slot->use[i].touched;
    }
    strayed(world, slot);
    account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
}

/* The first elements of a view of one axis. */
static void shorten(ferry_view *view, int64_t count) {
    view->shape[0] = view->shape[0] < count ? view->shape[0] : count;
}

/* Makes the source one that can be assigned: of one axis as long as the destination, or a single element. */
static void fit_source(ferry_view *dst, ferry_view *src) {
    if (src->ndim == 1 && dst->ndim == 1) {
        shorten(src, dst->shape[0]);
        shorten(dst, src->shape[0]);
    } else if (src->ndim != dst->ndim || memcmp(src->shape, dst->shape, 2 * sizeof *src->shape) != 0) {
        for (int i = 0; i < src->ndim; i++) {
            shorten(src, 1);
            src->shape[i] = src->shape[i] < 1 ? src->shape[i] : 1;
        }
        src->ndim = 1;
    }
}

/* What assignment does to shadows: all of the source is read first, and is repeated over the destination. */
static void assign_bytes(const ferry_view *dst, char *dst_data, const ferry_view *src, const char *src_data,
                         bool masks) {
    const size_t n = (size_t)ferry_view_size(dst), m = (size_t)ferry_view_size(src);
    uint64_t *from = memory(m * sizeof *from), *to = memory(n * sizeof *to);
    view_gather(src, src_data, from);
    if (masks) {
        kernel_widen_masks(from, m, ferry_dtype_size(src->dtype));
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i % m];
    }
    view_scatter(dst, dst_data, to);
    free(from);
    free(to);
}

void step_assign(struct world *world, const struct step *step) {
    struct slot *to = &world->slots[step->operands[0].slot], *from = &world->slots[step->operands[1].slot];
    if (step->noperands < 2 || !to->live || !from->live) {
        return;
    }
    ferry_view dst = recipe_view(step->operands[0].recipe, to->block, to->bytes, true);
    ferry_view src = recipe_view(step->operands[1].recipe, from->block, from->bytes, false);
    fit_source(&dst, &src);
    /* Assigning a view to itself copies nothing, and touches nothing. */
    const bool itself = dst.data == src.data && memcmp(dst.strides, src.strides, 2 * sizeof *dst.strides) == 0;
    if (ferry_view_size(&src) == 0 || ferry_view_size(&dst) == 0 || itself) {
        return;
    }
    slot_use(from, &src, FERRY_READ);
    slot_use(to, &dst, FERRY_WRITE);
    if (!slot_allows(world, from, HOST_SIDE) || !slot_allows(world, to, HOST_SIDE)) {
        return;
    }
    say_operand(world, "assign", to, &dst, FERRY_WRITE);
    say_operand(world, "  from", from, &src, FERRY_READ);
    if (!went_well(world, ferry_assign_host_casting(&dst, &src, FERRY_CAST_UNSAFE), "ferry_assign_host")) {
        slot_set_known(to, &dst, false);
        return;
    }
    assign_bytes(&dst, slot_counterpart(to, &dst, to->mask), &src, slot_counterpart(from, &src, from->mask), true);
    assign_bytes(&dst, slot_counterpart(to, &dst, to->shadow), &src, slot_counterpart(from, &src, from->shadow), false);
    account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
}

void step_prefetch(struct world *world, const struct step *step) {
    ferry_stream *stream = world->streams[step->stream];
    const ferry_place to = step->random % 3 == 0 ? FERRY_PLACE_HOST : ferry_stream_device(stream);
    const int side = to == FERRY_PLACE_HOST ? HOST_SIDE : DEVICE_SIDE;
    ferry_view view;
    struct slot *slot = resolve_one(world, step, FERRY_READ, &view);
    if (slot == NULL || !slot_allows(world, slot, side)) {
        return;
    }
    slot->launched = slot->launched || side == DEVICE_SIDE;
    say_operand(world, to == FERRY_PLACE_HOST ? "prefetch to the host," : "prefetch to the stream's device,", slot,
                &view, FERRY_READ);
    (void)went_well(world, ferry_prefetch(&view, to, stream), "ferry_prefetch");
    account_step(world, side, FERRY_PLACE_MIXED);
}
