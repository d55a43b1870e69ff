/* For tests that fork. jemalloc then holds all its locks at once, more than thread sanitizer's deadlock detector
 * counts.
 */
#ifndef FERRY_TESTS_ALLOC_FORKS_H
#define FERRY_TESTS_ALLOC_FORKS_H

#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

__attribute__((visibility("default"))) const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *__tsan_default_options(void) {
    return "detect_deadlocks=0";
}

/* What a thread that the child does not have was just making is lost, and no leak. */
static bool test_is_child;

__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return test_is_child;
}

/* Runs `story` in a child, which must end by itself within a minute, and its checks pass. */
static inline void in_child(void (*story)(void)) {
    fflush(stderr);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        test_is_child = true;
        atomic_store(&test_failures, 0);
        alarm(60);
        story();
        exit(atomic_load(&test_failures) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status 0x%x", (unsigned)status);
}

#endif
