/*
 * property KIND PROGRAMS STEPS [SEED]: runs that many random programs, each in a process of its own, and makes the
 * first that fails short. KIND: accounts, contents, faults, or policies: each program is run under every policy, and
 * the final bytes are compared. FERRY_TEST_SEED repeats: a program's seed is the first one's and its number.
 * FERRY_TEST_SHRINK=0 leaves a failing program as it is.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "tests/test.h"
#include "world.h"

enum { LONGEST_SECONDS = 120, ATTEMPTS = 600 };

struct outcome {
    bool failed;
    bool skipped;
    char text[1600];
};

static void silence(void) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    REQUIRE(nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
}

static void read_result(int from, struct outcome *outcome) {
    size_t at = 0;
    ssize_t got;
    while (at < sizeof outcome->text - 1 && (got = read(from, outcome->text + at, sizeof outcome->text - 1 - at)) > 0) {
        at += (size_t)got;
    }
    outcome->text[at] = '\0';
}

/* `text` of a success is the final contents' digest. */
static struct outcome run_once(const struct program *program, bool verbose, bool quiet) {
    struct outcome outcome = {0};
    int pipes[2], status;
    REQUIRE(pipe(pipes) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        close(pipes[0]);
        if (quiet) {
            silence();
        }
        alarm(LONGEST_SECONDS);
        world_run(program, verbose, pipes[1]);
    }
    close(pipes[1]);
    read_result(pipes[0], &outcome);
    close(pipes[0]);
    REQUIRE(waitpid(child, &status, 0) == child);
    outcome.failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    outcome.skipped = WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED;
    if (outcome.failed && outcome.text[0] == '\0') {
        snprintf(outcome.text, sizeof outcome.text,
                 WIFSIGNALED(status) ? "killed by signal %d" : "ended with status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return outcome;
}

/* With policies drawn for every scope, then under each one alone; the first outcome that is not as it should be. */
static struct outcome run_under_all(const struct program *program, bool verbose, bool quiet) {
    static struct program own;
    struct outcome drawn = {0};
    own = *program;
    for (int policy = FERRY_POLICY_DEFAULT; policy <= FERRY_POLICY_NONE; policy++) {
        own.rules.policy = (ferry_policy)policy;
        struct outcome outcome = run_once(&own, verbose, quiet);
        drawn = policy == FERRY_POLICY_DEFAULT ? outcome : drawn;
        if (outcome.failed || strcmp(outcome.text, drawn.text) != 0) {
            const struct outcome plain = outcome;
            snprintf(outcome.text, sizeof outcome.text, "policy %s: %s%.1400s", ferry_policy_name(own.rules.policy),
                     plain.failed ? "" : "the final bytes are others: ", plain.text);
            outcome.failed = true;
            return outcome;
        }
    }
    return drawn;
}

static bool under_all;

static struct outcome run_program(const struct program *program, bool verbose, bool quiet) {
    return (under_all ? run_under_all : run_once)(program, verbose, quiet);
}

/* A copy without `count` steps from `first` on. */
static void leave_out(const struct program *program, size_t first, size_t count, struct program *out) {
    *out = *program;
    out->nsteps = program->nsteps - count;
    for (size_t i = first; i < out->nsteps; i++) {
        out->steps[i] = program->steps[i + count];
    }
}

/* Leaves out what can be left out, in ever smaller pieces, as long as the program still fails. */
static void make_short(struct program *program) {
    static struct program shorter;
    int attempts = 0;
    for (size_t piece = program->nsteps / 2; piece > 0; piece /= 2) {
        for (size_t first = 0; first + piece <= program->nsteps && attempts < ATTEMPTS;) {
            leave_out(program, first, piece, &shorter);
            attempts++;
            if (run_program(&shorter, false, true).failed) {
                *program = shorter;
            } else {
                first += piece;
            }
        }
    }
}

static void report(struct program *program, const struct outcome *outcome) {
    const size_t nsteps = program->nsteps;
    fprintf(stderr, "FERRY_TEST_SEED=%" PRIu64 ", %zu steps: %s\n", program->seed, nsteps, outcome->text);
    const char *shrink = getenv("FERRY_TEST_SHRINK");
    if (shrink == NULL || strcmp(shrink, "0") != 0) {
        make_short(program);
    }
    fprintf(stderr, "the same with %zu steps:\n", program->nsteps);
    const struct outcome again = run_program(program, true, false);
    CHECK_THAT(false, "seed %" PRIu64 ": %s", program->seed, again.failed ? again.text : outcome->text);
}

static bool is_set(const char *name) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0';
}

static bool read_rules(const char *kind, struct rules *rules) {
    *rules = (struct rules){.accounts = strcmp(kind, "accounts") == 0,
                            .faults = strcmp(kind, "faults") == 0,
                            .limited = is_set("FERRY_LIMIT"),
                            .full = is_set("FERRY_SIM_MEMORY")};
    under_all = strcmp(kind, "policies") == 0;
    return rules->accounts || rules->faults || under_all || strcmp(kind, "contents") == 0;
}

/* A third of the programs of accounts reads nothing by turns, under prefetch, so that nothing crosses twice; another
 * has one policy in all scopes. */
static void vary_rules(struct rules *rules, uint64_t seed) {
    static const ferry_policy uniform[] = {FERRY_POLICY_AUTO, FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE};
    rules->strict = rules->accounts && seed % 3 == 0;
    rules->policy = rules->strict                      ? FERRY_POLICY_PREFETCH
                    : rules->accounts && seed % 3 == 1 ? uniform[seed / 3 % 3]
                                                       : FERRY_POLICY_DEFAULT;
}

int main(int argc, char **argv) {
    static struct program program;
    struct rules rules;
    if ((argc != 4 && argc != 5) || !read_rules(argv[1], &rules)) {
        fprintf(stderr, "usage: %s accounts|contents|faults|policies PROGRAMS STEPS [SEED]\n", argv[0]);
        return 2;
    }
    setenv("FERRY_SIM_POISON", "1", 1);
    const uint64_t seed = test_seed(argc == 5 ? strtoull(argv[4], NULL, 10) : 1000);
    const uint64_t programs = strtoull(argv[2], NULL, 10), nsteps = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; i < programs; i++) {
        vary_rules(&rules, seed + i);
        program_generate(&program, seed + i, &rules, nsteps);
        const struct outcome outcome = run_program(&program, false, false);
        if (outcome.skipped) {
            SKIP("%s", outcome.text);
        }
        if (!CHECK(!outcome.failed)) {
            report(&program, &outcome);
            break;
        }
    }
    return test_finish();
}
