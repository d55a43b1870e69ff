/* Steps that read and write: on the host, told and untold, and by kernels. */
#include <stdlib.h>

#include "alloc/backend_sim.h"
#include "tests/test.h"
#include "views.h"
#include "world.h"

/* What a kernel is told beside its operands' addresses. */
struct call {
    int n;
    bool masks; /* the operands are masks: what depends on something undefined is undefined */
    uint64_t salt;
    ferry_access access[OPERANDS];
    ferry_view views[OPERANDS]; /* their data pointers count for nothing */
};

struct values {
    uint64_t *each;
    size_t n;
};

static void *memory(size_t bytes) {
    void *block = malloc(bytes == 0 ? 1 : bytes);
    REQUIRE(block != NULL);
    return block;
}

static uint64_t mix(uint64_t value, uint64_t input) {
    value = (value ^ input) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

/* Lets an input, repeated or cut to the output's length, flow into the output's values. */
static void fold_input(const struct call *call, const struct values *out, const struct values *in) {
    size_t at = 0;
    for (size_t i = 0; i < out->n && in->n > 0; i++) {
        out->each[i] = call->masks ? out->each[i] & in->each[at] : mix(out->each[i], in->each[at]);
        at = at + 1 == in->n ? 0 : at + 1;
    }
}

/* A mask's value where every byte is defined, widened; an undefined byte makes the whole undefined. */
static void widen_masks(struct values *values, size_t item) {
    const uint64_t all = item == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * item)) - 1;
    for (size_t i = 0; i < values->n; i++) {
        values->each[i] = values->each[i] == all ? UINT64_MAX : 0;
    }
}

static void read_inputs(const struct call *call, char *const *data, struct values *inputs) {
    for (int k = 0; k < call->n; k++) {
        inputs[k] = (struct values){NULL, (size_t)ferry_view_size(&call->views[k])};
        if ((call->access[k] & FERRY_READ) != 0) {
            inputs[k].each = memory(inputs[k].n * sizeof(uint64_t));
            view_gather(&call->views[k], data[k], inputs[k].each);
            if (call->masks) {
                widen_masks(&inputs[k], ferry_dtype_size(call->views[k].dtype));
            }
        }
    }
}

static void write_output(const struct call *call, char *const *data, const struct values *inputs, int k) {
    struct values out = {NULL, (size_t)ferry_view_size(&call->views[k])};
    out.each = memory(out.n * sizeof(uint64_t));
    for (size_t i = 0; i < out.n; i++) {
        out.each[i] = call->masks ? UINT64_MAX : call->salt + (uint64_t)k * 77 + i;
    }
    for (int j = 0; j < call->n; j++) {
        /* Another operand that is read and written is an input too, with what it held before. */
        if ((call->access[j] & FERRY_READ) != 0) {
            fold_input(call, &out, &inputs[j]);
        }
    }
    view_scatter(&call->views[k], data[k], out.each);
    free(out.each);
}

/* Every output from every input; all inputs are read before an output is written, whatever overlaps. */
static void perform(const struct call *call, char *const *data) {
    struct values inputs[OPERANDS];
    read_inputs(call, data, inputs);
    for (int k = 0; k < call->n; k++) {
        if ((call->access[k] & FERRY_WRITE) != 0) {
            write_output(call, data, inputs, k);
        }
    }
    for (int k = 0; k < call->n; k++) {
        free(inputs[k].each);
    }
}

static void host_kernel(const ferry_grid *grid, void *const *args) {
    const struct call *call = args[0];
    char *data[OPERANDS];
    (void)grid;
    for (int k = 0; k < call->n; k++) {
        data[k] = *(char **)args[1 + k];
    }
    perform(call, data);
}

ferry_kernel *kernel_make(struct world *world) {
    ferry_kernel *kernel = NULL;
    expect_ok(world, ferry_kernel_load(NULL, 0, "property", host_kernel, &kernel), "ferry_kernel_load");
    return kernel;
}

void describe(const struct world *world, const struct slot *slot, const ferry_view *view, char *text, size_t bytes) {
    const int n = snprintf(text, bytes, "a%d+%td ", (int)(slot - world->slots), (char *)view->data - slot->block);
    view_describe(view, text + n, bytes - (size_t)n);
}

static const char *access_name(ferry_access access) {
    return access == FERRY_READ ? "READ" : access == FERRY_WRITE ? "WRITE" : "READWRITE";
}

static void say_operand(const struct world *world, const char *verb, const struct slot *slot, const ferry_view *view,
                        ferry_access access) {
    char text[400];
    describe(world, slot, view, text, sizeof text);
    say(world, "%s %s %s", verb, access_name(access), text);
}

/* The step's slots and views; false when one of the slots holds nothing. */
static bool resolve(struct world *world, const struct step *step, struct call *call, struct slot **slots) {
    *call = (struct call){.n = step->noperands, .salt = step->random};
    for (int i = 0; i < step->noperands; i++) {
        const struct operand_pick *pick = &step->operands[i];
        slots[i] = &world->slots[pick->slot];
        if (!slots[i]->live) {
            return false;
        }
        const bool written = (pick->access & FERRY_WRITE) != 0;
        call->access[i] = pick->access;
        call->views[i] = recipe_view(pick->recipe, slots[i]->block, slots[i]->bytes, written);
        slot_use(slots[i], &call->views[i], pick->access);
    }
    return true;
}

static bool allowed(const struct world *world, const struct slot *slot, int side) {
    return !world->program->rules.strict || !slot_reads_by_turns(slot, side);
}

/* With the views on the shadows, then on the masks. */
static void perform_on_shadows(struct call *call, struct slot **slots) {
    char *data[OPERANDS];
    call->masks = true;
    for (int i = 0; i < call->n; i++) {
        data[i] = slot_counterpart(slots[i], &call->views[i], slots[i]->mask);
    }
    perform(call, data);
    call->masks = false;
    for (int i = 0; i < call->n; i++) {
        data[i] = slot_counterpart(slots[i], &call->views[i], slots[i]->shadow);
    }
    perform(call, data);
}

static ferry_status launch_by_hand(const struct world *world, const struct call *call, const ferry_operand *operands,
                                   ferry_stream *stream, bool *queued) {
    void *addresses[OPERANDS], *args[1 + OPERANDS] = {(void *)(uintptr_t)call};
    size_t sizes[1 + OPERANDS] = {sizeof *call};
    const ferry_status acquired = ferry_acquire(operands, (size_t)call->n, stream);
    *queued = false;
    if (acquired != FERRY_OK) {
        return acquired;
    }
    for (int i = 0; i < call->n; i++) {
        addresses[i] = ferry_device_pointer(call->views[i].data);
        args[1 + i] = &addresses[i];
        sizes[1 + i] = sizeof addresses[i];
    }
    ferry_status status =
        ferry_kernel_enqueue(world->kernel, (ferry_grid){0}, args, sizes, 1 + (size_t)call->n, stream);
    *queued = status == FERRY_OK;
    const ferry_status completed = ferry_complete(operands, (size_t)call->n, stream);
    return status == FERRY_OK ? completed : status;
}

static ferry_status launch_at_once(const struct world *world, const struct call *call, const ferry_operand *operands,
                                   ferry_stream *stream) {
    ferry_arg args[1 + OPERANDS] = {{.value = call, .bytes = sizeof *call}};
    for (int i = 0; i < call->n; i++) {
        args[1 + i].operand = operands[i];
    }
    return ferry_launch(world->kernel, (ferry_grid){0}, args, 1 + (size_t)call->n, stream);
}

static bool launch(struct world *world, const struct step *step, struct call *call) {
    ferry_stream *stream = world->streams[step->stream];
    ferry_operand operands[OPERANDS];
    for (int i = 0; i < call->n; i++) {
        operands[i] = (ferry_operand){.view = &call->views[i], .access = call->access[i]};
    }
    /* A failed ferry_launch does not tell whether the kernel was queued. */
    bool queued = true;
    const bool by_hand = world->program->rules.faults || step->random % 2 == 0;
    const ferry_status status = by_hand ? launch_by_hand(world, call, operands, stream, &queued)
                                        : launch_at_once(world, call, operands, stream);
    (void)went_well(world, status, "a launch");
    return queued;
}

static void say_launch(const struct world *world, const struct step *step, const struct call *call,
                       struct slot **slots) {
    const ferry_stream *stream = world->streams[step->stream];
    say(world, "launch on stream %d of device %d:", step->stream, ferry_stream_device(stream));
    for (int i = 0; i < call->n; i++) {
        say_operand(world, "    ", slots[i], &call->views[i], call->access[i]);
    }
}

void step_launch(struct world *world, const struct step *step) {
    struct call call;
    struct slot *slots[OPERANDS];
    if (!resolve(world, step, &call, slots)) {
        return;
    }
    for (int i = 0; i < call.n; i++) {
        if (!allowed(world, slots[i], DEVICE_SIDE)) {
            return;
        }
    }
    for (int i = 0; i < call.n; i++) {
        slots[i]->launched = true;
    }
    say_launch(world, step, &call, slots);
    if (launch(world, step, &call)) {
        perform_on_shadows(&call, slots);
    } else {
        for (int i = 0; i < call.n; i++) {
            if (call.access[i] == FERRY_WRITE) {
                slot_set_known(slots[i], &call.views[i], false);
            }
        }
    }
    account_step(world, DEVICE_SIDE, ferry_stream_device(world->streams[step->stream]));
}

static void launch_and_forget(struct world *world, const struct step *step) {
    step_launch(world, step);
    for (int i = 0; i < SLOTS; i++) {
        slot_forget_use(&world->slots[i]);
    }
}

/* One storage read on every stream at once, more of them than the library keeps apart; then somebody writes it. */
void step_readers(struct world *world, const struct step *step) {
    struct step one = *step;
    one.operands[0].access = FERRY_READ;
    one.noperands = 2;
    for (int i = 0; i < STREAMS; i++) {
        one.stream = i;
        one.slot = SLOTS - 1 - i;
        one.bytes = (size_t)(1 + i) * 3000;
        one.operands[1] = (struct operand_pick){one.slot, FERRY_WRITE, step->random + (uint64_t)i};
        step_allocate(world, &one);
        slot_forget_use(&world->slots[one.slot]);
        if (one.operands[0].slot != one.slot) {
            launch_and_forget(world, &one);
        }
    }
    one = *step;
    one.noperands = 1;
    one.operands[0].access = FERRY_WRITE;
    launch_and_forget(world, &one);
}

/* New values for every element, in the array and in its shadow. */
static void overwrite(struct slot *slot, const ferry_view *view, uint64_t seed) {
    const size_t n = (size_t)ferry_view_size(view);
    uint64_t *values = memory(n * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = mix(seed, i);
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
    if (slot == NULL || !allowed(world, slot, HOST_SIDE)) {
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
    if (slot == NULL || !allowed(world, slot, HOST_SIDE)) {
        return;
    }
    say_operand(world, "host", slot, &view, FERRY_READ);
    if (went_well(world, ferry_host_acquire(&view, FERRY_READ), "ferry_host_acquire")) {
        slot_verify(world, slot, &view);
        account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
    }
}

static bool on_device(const struct slot *slot) {
    for (size_t i = 0; i < slot->pages; i++) {
        if (slot->use[i].touched && backend_sim_page_place(slot->block + i * FERRY_PAGE_BYTES) >= 0) {
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
        return write && !slot->launched && !on_device(slot);
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
    struct values from = {memory(m * sizeof(uint64_t)), m}, to = {memory(n * sizeof(uint64_t)), n};
    view_gather(src, src_data, from.each);
    if (masks) {
        widen_masks(&from, ferry_dtype_size(src->dtype));
    }
    for (size_t i = 0; i < n; i++) {
        to.each[i] = from.each[i % m];
    }
    view_scatter(dst, dst_data, to.each);
    free(from.each);
    free(to.each);
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
    if (!allowed(world, from, HOST_SIDE) || !allowed(world, to, HOST_SIDE)) {
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
    if (slot == NULL || !allowed(world, slot, side)) {
        return;
    }
    slot->launched = slot->launched || side == DEVICE_SIDE;
    say_operand(world, to == FERRY_PLACE_HOST ? "prefetch to the host," : "prefetch to the stream's device,", slot,
                &view, FERRY_READ);
    (void)went_well(world, ferry_prefetch(&view, to, stream), "ferry_prefetch");
    account_step(world, side, FERRY_PLACE_MIXED);
}
