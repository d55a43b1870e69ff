/* Steps that launch kernels. */
#include "kernel.h"
#include "policies.h"
#include "tests/test.h"
#include "views.h"

/* The step's slots and views; false when one of the slots holds nothing. */
static bool resolve(struct world *world, const struct step *step, struct call *call, struct slot **slots) {
    *call = (struct call){.n = step->noperands, .stream = step->stream, .salt = step->random};
    for (int i = 0; i < step->noperands; i++) {
        const struct operand_pick *pick = &step->operands[i];
        slots[i] = &world->slots[pick->slot];
        if (!slots[i]->live) {
            return false;
        }
        const bool written = (pick->access & FERRY_WRITE) != 0;
        call->access[i] = pick->access;
        call->views[i] = recipe_view(pick->recipe, slots[i]->block, slots[i]->bytes, written);
        call->items[i] = (int)ferry_dtype_size(call->views[i].dtype);
        slot_use(slots[i], &call->views[i], pick->access);
    }
    return true;
}

/* With the views on the shadows, then on the masks. */
static void perform_on_shadows(struct call *call, struct slot **slots) {
    char *data[OPERANDS];
    call->masks = true;
    for (int i = 0; i < call->n; i++) {
        data[i] = slot_counterpart(slots[i], &call->views[i], slots[i]->mask);
    }
    kernel_perform(call, data);
    call->masks = false;
    for (int i = 0; i < call->n; i++) {
        data[i] = slot_counterpart(slots[i], &call->views[i], slots[i]->shadow);
    }
    kernel_perform(call, data);
}

/* The kernel has all its parameters, whatever is made of them. */
static void *nothing;

static ferry_status launch_by_hand(const struct world *world, const struct call *call, const ferry_operand *operands,
                                   ferry_stream *stream, bool *queued) {
    void *addresses[OPERANDS], *args[1 + OPERANDS] = {(void *)(uintptr_t)call};
    size_t sizes[1 + OPERANDS] = {sizeof *call};
    const size_t n = (size_t)call->n;
    const ferry_status acquired = ferry_acquire(operands, n, stream);
    *queued = false;
    if (acquired != FERRY_OK) {
        return acquired;
    }
    for (size_t i = 0; i < OPERANDS; i++) {
        addresses[i] = i < n ? ferry_device_pointer(call->views[i].data) : nothing;
        args[1 + i] = &addresses[i];
        sizes[1 + i] = sizeof addresses[i];
    }
    ferry_status status = ferry_kernel_enqueue(world->kernel, kernel_grid(world), args, sizes, 1 + OPERANDS, stream);
    *queued = status == FERRY_OK;
    const ferry_status completed = ferry_complete(operands, n, stream);
    return status == FERRY_OK ? completed : status;
}

static ferry_status launch_at_once(const struct world *world, const struct call *call, const ferry_operand *operands,
                                   ferry_stream *stream) {
    ferry_arg args[1 + OPERANDS] = {{.value = call, .bytes = sizeof *call}};
    for (int i = 0; i < OPERANDS; i++) {
        if (i < call->n) {
            args[1 + i].operand = operands[i];
        } else {
            args[1 + i] = (ferry_arg){.value = &nothing, .bytes = sizeof nothing};
        }
    }
    return ferry_launch(world->kernel, kernel_grid(world), args, 1 + OPERANDS, stream);
}

/* As the step says, and as the accounts will need them. */
static void make_operands(struct world *world, const struct step *step, const struct call *call, struct slot **slots,
                          ferry_operand *operands) {
    world->nlaunched = call->n;
    for (int i = 0; i < call->n; i++) {
        const ferry_policy policy = policy_draw(&world->program->rules, SCOPE_OPERAND, step->operands[i].policy);
        operands[i] = (ferry_operand){
            .view = &call->views[i], .access = call->access[i], .passes = step->operands[i].passes, .policy = policy};
        world->launched[i] = (struct launched_operand){slots[i], call->views[i], call->access[i],
                                                       policy_of_use(world, slots[i], policy)};
        say_operand(world, ferry_policy_name(world->launched[i].policy), slots[i], &call->views[i], call->access[i]);
    }
}

static bool launch(struct world *world, const struct step *step, struct call *call, struct slot **slots) {
    ferry_stream *stream = world->streams[step->stream];
    ferry_operand operands[OPERANDS];
    make_operands(world, step, call, slots, operands);
    /* A failed ferry_launch does not tell whether the kernel was queued. */
    bool queued = true;
    const bool by_hand = world->program->rules.faults || step->random % 2 == 0;
    const ferry_status status = by_hand ? launch_by_hand(world, call, operands, stream, &queued)
                                        : launch_at_once(world, call, operands, stream);
    (void)went_well(world, status, "a launch");
    return queued;
}

void step_launch(struct world *world, const struct step *step) {
    struct call call;
    struct slot *slots[OPERANDS];
    if (!resolve(world, step, &call, slots)) {
        return;
    }
    for (int i = 0; i < call.n; i++) {
        if (!slot_allows(world, slots[i], DEVICE_SIDE)) {
            return;
        }
    }
    for (int i = 0; i < call.n; i++) {
        slots[i]->launched = true;
    }
    const int device = ferry_stream_device(world->streams[step->stream]);
    say(world, "launch on stream %d of device %d:", step->stream, device);
    account_before_launch(world);
    if (launch(world, step, &call, slots)) {
        perform_on_shadows(&call, slots);
    } else {
        for (int i = 0; i < call.n; i++) {
            if (call.access[i] == FERRY_WRITE) {
                slot_set_known(slots[i], &call.views[i], false);
            }
        }
    }
    account_launch(world, device);
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
        one.operands[1].slot = one.slot;
        one.operands[1].access = FERRY_WRITE;
        one.operands[1].recipe = step->random + (uint64_t)i;
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
