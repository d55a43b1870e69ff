/*
 * property KIND PROGRAMS STEPS [SEED]: runs that many random programs, each in a process of its own, and makes the
 * first that fails short. KIND: accounts, contents, faults. FERRY_TEST_SEED repeats: a program's seed is the first
 * one's and its number. FERRY_TEST_SHRINK=0 leaves a failing program as it is.
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

static struct outcome run_program(const struct program *program, bool verbose, bool quiet) {
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

static bool read_rules(const char *kind, struct rules *rules) {
    const char *devices = getenv("FERRY_SIM_DEVICES"), *limit = getenv("FERRY_LIMIT");
    rules->limited = limit != NULL && *limit != '\0';
    rules->devices = devices != NULL && *devices != '\0' ? atoi(devices) : 1;
    rules->accounts = strcmp(kind, "accounts") == 0;
    rules->faults = strcmp(kind, "faults") == 0;
    rules->mixed = !rules->accounts;
    return rules->accounts || rules->faults || strcmp(kind, "contents") == 0;
}

int main(int argc, char **argv) {
    static struct program program;
    struct rules rules = {0};
    if ((argc != 4 && argc != 5) || !read_rules(argv[1], &rules)) {
        fprintf(stderr, "usage: %s accounts|contents|faults PROGRAMS STEPS [SEED]\n", argv[0]);
        return 2;
    }
    setenv("FERRY_SIM_POISON", "1", 1);
    const uint64_t seed = test_seed(argc == 5 ? strtoull(argv[4], NULL, 10) : 1000);
    const uint64_t programs = strtoull(argv[2], NULL, 10), nsteps = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; i < programs; i++) {
        rules.strict = rules.accounts && (seed + i) % 3 == 0;
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
