/* The simulator's descriptors leave the low numbers to the program. */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/backend/sim_case.h"

/* Whether the descriptor is one that the simulator opened. */
static bool is_the_simulators(int file) {
    char path[64], target[128];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = '\0';
    return strstr(target, "ferry-sim") != NULL || strstr(target, "userfaultfd") != NULL;
}

static int simulators_within(int first, int end) {
    int count = 0;
    for (int file = first; file < end; file++) {
        count += is_the_simulators(file);
    }
    return count;
}

static void low_numbers_stay_free(void) {
    const int lowest = dup(STDERR_FILENO);
    machine_reserve(BLOCK, false);
    machine_reserve(BLOCK, true);
    const int next = dup(STDERR_FILENO);
    CHECK_INT(next, lowest + 1);
    CHECK_INT(simulators_within(0, 512), 0);
    CHECK(simulators_within(512, 4096) >= 2);
}

/* With standard input closed, a file in its place would be taken for it. */
static void a_closed_stream_stays_closed_where_numbers_are_few(void) {
    const struct rlimit few = {8, 8};
    close(STDIN_FILENO);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    machine_reserve(BLOCK, false);
    machine_reserve(BLOCK, false);
    CHECK(!is_the_simulators(STDIN_FILENO));
}

int main(void) {
    STORY(low_numbers_stay_free, "");
    STORY(a_closed_stream_stays_closed_where_numbers_are_few, "");
    return test_finish();
}
