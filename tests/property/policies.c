#include "policies.h"

#include "views.h"

ferry_policy policy_draw(const struct rules *rules, enum scope scope, uint64_t random) {
    static const ferry_policy all[] = {FERRY_POLICY_AUTO, FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE,
                                       FERRY_POLICY_NONE};
    if (rules->policy != FERRY_POLICY_DEFAULT) {
        return scope == SCOPE_HEAP ? rules->policy : FERRY_POLICY_DEFAULT;
    }
    if (scope != SCOPE_HEAP && random % 2 == 0) {
        return FERRY_POLICY_DEFAULT;
    }
    /* Whose uses by the host nobody carries home brings faults upon it, and those are no part of an account. */
    const bool none = !rules->accounts || scope == SCOPE_OPERAND;
    return all[random / 2 % (none ? 4 : 3)];
}

ferry_policy policy_of_use(const struct world *world, const struct slot *slot, ferry_policy operand) {
    const ferry_policy scopes[] = {operand, world->thread_policy, slot->advised, world->heap_policies[slot->heap]};
    int i = 0;
    while (scopes[i] == FERRY_POLICY_DEFAULT) {
        i++;
    }
    return scopes[i];
}

ferry_heap_options policy_heap_options(struct world *world, int heap, uint64_t random) {
    world->heap_policies[heap] = policy_draw(&world->program->rules, SCOPE_HEAP, random);
    say(world, "heap %d is of policy %s", heap, ferry_policy_name(world->heap_policies[heap]));
    return (ferry_heap_options){.name = "property", .policy = world->heap_policies[heap]};
}

void step_advise(struct world *world, const struct step *step) {
    struct slot *slot = &world->slots[step->slot];
    if (!slot->live) {
        return;
    }
    const ferry_view view = recipe_view(step->operands[0].recipe, slot->block, slot->bytes, false);
    const ferry_advice advice = {.policy = policy_draw(&world->program->rules, SCOPE_ARRAY, step->random),
                                 .passes = step->operands[0].passes};
    if (ferry_view_size(&view) == 0) {
        return;
    }
    say(world, "a%d is advised: policy %s, %d passes", step->slot, ferry_policy_name(advice.policy), advice.passes);
    if (went_well(world, ferry_advise(&view, &advice), "ferry_advise")) {
        slot->advised = advice.policy;
    }
}

void step_thread(struct world *world, const struct step *step) {
    const ferry_policy policy = policy_draw(&world->program->rules, SCOPE_THREAD, step->random);
    say(world, "the thread's policy is %s", ferry_policy_name(policy));
    const ferry_policy before = ferry_thread_policy_set(policy);
    if (before != world->thread_policy) {
        fail(world, "the thread's policy was %s, not %s", ferry_policy_name(before),
             ferry_policy_name(world->thread_policy));
    }
    world->thread_policy = policy;
}
