#include "program.h"

#include "tests/test.h"

static const int weights[STEP_KINDS] = {
#define WEIGHT(name, weight) weight,
    STEP_LIST(WEIGHT)
#undef WEIGHT
};

const char *step_name(enum step_kind kind) {
    static const char *const names[STEP_KINDS] = {
#define NAME(name, weight) #name,
        STEP_LIST(NAME)
#undef NAME
    };
    return names[kind];
}

static int weight_of(enum step_kind kind, const struct rules *rules) {
    return kind == STEP_FAULT && rules->faults ? 12 : weights[kind];
}

static enum step_kind choose_kind(test_random *random, const struct rules *rules) {
    int total = 0;
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        total += weight_of((enum step_kind)kind, rules);
    }
    int64_t left = test_random_int(random, 0, total - 1);
    int kind = 0;
    while (left >= weight_of((enum step_kind)kind, rules)) {
        left -= weight_of((enum step_kind)kind++, rules);
    }
    return (enum step_kind)kind;
}

/* Bytes to a few MiB: most of them a few pages, in whole pages half of the time. */
static size_t choose_bytes(test_random *random) {
    static const int64_t limits[] = {64,        4095,      4095,       5 * 4096,   5 * 4096,
                                     40 * 4096, 40 * 4096, 200 * 4096, 200 * 4096, 1100 * 4096};
    const int64_t limit = limits[test_random_int(random, 0, sizeof limits / sizeof limits[0] - 1)];
    const int64_t bytes = test_random_int(random, 0, limit);
    return (size_t)(bytes > 4096 && test_random_int(random, 0, 1) ? bytes / 4096 * 4096 : bytes);
}

/* A few slots are used more than others, so that steps meet on one storage. */
static int choose_slot(test_random *random) {
    return (int)(test_random_int(random, 0, 2) ? test_random_int(random, 0, 2) : test_random_int(random, 0, SLOTS - 1));
}

static ferry_access choose_write(test_random *random) {
    return test_random_int(random, 0, 2) ? FERRY_WRITE : FERRY_READWRITE;
}

/* In place, or overlapping another operand, more often than chance would have it. */
static struct operand_pick choose_operand(test_random *random, const struct step *step, int at) {
    static const int passes[] = {0, 0, 1, 1, 2, 16, FERRY_PASSES_MANY};
    struct operand_pick pick = {.slot = choose_slot(random),
                                .access = FERRY_READ,
                                .recipe = test_random_next(random),
                                .policy = test_random_next(random),
                                .passes = passes[test_random_int(random, 0, sizeof passes / sizeof *passes - 1)]};
    const int64_t relation = at == 0 ? 0 : test_random_int(random, 0, 5);
    if (relation >= 4) {
        const struct operand_pick *other = &step->operands[test_random_int(random, 0, at - 1)];
        pick.slot = other->slot;
        pick.recipe = relation == 5 ? other->recipe : pick.recipe;
    }
    return pick;
}

static void choose_operands(test_random *random, struct step *step) {
    static const int counts[] = {1, 2, 2, 2, 3, 3, 4};
    step->noperands = counts[test_random_int(random, 0, sizeof counts / sizeof counts[0] - 1)];
    for (int i = 0; i < step->noperands; i++) {
        step->operands[i] = choose_operand(random, step, i);
    }
    step->operands[test_random_int(random, 0, step->noperands - 1)].access = choose_write(random);
    if (test_random_int(random, 0, 4) == 0) {
        step->operands[test_random_int(random, 0, step->noperands - 1)].access = choose_write(random);
    }
}

static struct step choose_step(test_random *random, const struct rules *rules) {
    struct step step = {.kind = choose_kind(random, rules)};
    step.slot = step.kind == STEP_ALLOCATE ? (int)test_random_int(random, 0, SLOTS - 1) : choose_slot(random);
    step.stream = (int)test_random_int(random, 0, STREAMS - 1);
    step.heap = (int)test_random_int(random, 0, HEAPS - 1);
    step.allocation = (enum allocation)test_random_int(random, 0, ALLOCATIONS - 1);
    step.bytes = choose_bytes(random);
    choose_operands(random, &step);
    step.random = test_random_next(random);
    return step;
}

void program_generate(struct program *program, uint64_t seed, const struct rules *rules, size_t nsteps) {
    test_random random = {seed};
    program->seed = seed;
    program->rules = *rules;
    program->nsteps = nsteps < STEPS_MAX ? nsteps : STEPS_MAX;
    for (size_t i = 0; i < program->nsteps; i++) {
        program->steps[i] = choose_step(&random, rules);
        if (i < 5) {
            program->steps[i].kind = STEP_ALLOCATE;
            program->steps[i].slot = (int)i;
        }
    }
}
