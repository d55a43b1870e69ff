/* property [PROGRAMS STEPS]: random programs on the device, under each policy: the final bytes are the same. */
#include <unistd.h>

#include "tests/gpu/gpu.h"
#include "tests/property/world.h"

static uint64_t play(struct program *program, ferry_policy policy) {
    program->rules.policy = policy;
    return world_play(program, getenv("FERRY_TEST_VERBOSE") != NULL, STDERR_FILENO);
}

/* FERRY_POLICY_DEFAULT: every scope draws its own. */
static void run_under_all(uint64_t seed, size_t nsteps) {
    static struct program program;
    program_generate(&program, seed, &(struct rules){.cuda = true}, nsteps);
    const uint64_t drawn = play(&program, FERRY_POLICY_DEFAULT);
    for (int policy = FERRY_POLICY_AUTO; policy <= FERRY_POLICY_NONE; policy++) {
        const uint64_t contents = play(&program, (ferry_policy)policy);
        CHECK_THAT(contents == drawn, "FERRY_TEST_SEED=%ju: under %s the final bytes are %016jx, not %016jx",
                   (uintmax_t)seed, ferry_policy_name((ferry_policy)policy), (uintmax_t)contents, (uintmax_t)drawn);
    }
}

int main(int argc, char **argv) {
    const ferry_options options = {.backend = "cuda", .limit_bytes = 128 * MIB};
    const uint64_t programs = argc == 3 ? strtoull(argv[1], NULL, 10) : 6;
    const size_t nsteps = argc == 3 ? (size_t)strtoull(argv[2], NULL, 10) : 60;
    if (ferry_init(&options))
        SKIP("%s", ferry_error_detail());
    const uint64_t seed = test_seed(1000);
    for (uint64_t i = 0; i < programs; i++)
        run_under_all(seed + i, nsteps);
    return test_finish();
}
