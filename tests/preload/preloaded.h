/*
 * For programs that run under libferry-preload.so and know nothing of it but this: what they are told by the library's
 * own functions, where it is there. Without it the same programs run on the C library's malloc, and must not notice.
 */
#ifndef FERRY_TESTS_PRELOADED_H
#define FERRY_TESTS_PRELOADED_H

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ferry/memory.h"
#include "ferry/movement.h"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)

/* Of a program's stories the one that its argument names, or all. */
#define RUN_CHOSEN(function)                                                                                           \
    do {                                                                                                               \
        if (argc < 2 || strcmp(argv[1], #function) == 0)                                                               \
            RUN(function);                                                                                             \
    } while (0)

/* A compiler knows what malloc returns and what nobody looks at. */
static inline void *opaque(void *block) {
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static inline size_t opaque_size(size_t bytes) {
    __asm__ volatile("" : "+r"(bytes));
    return bytes;
}

/* A function of the library's; NULL where it is not loaded. */
static inline void *preloaded(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

static inline bool is_managed(const void *block) {
    bool (*owns)(const void *) = NULL;
    *(void **)&owns = preloaded("ferry_owns");
    return owns != NULL && owns(block);
}

/* What FERRY_THRESHOLD says here. */
static inline size_t threshold_bytes(void) {
    const char *text = getenv("FERRY_THRESHOLD");
    return text == NULL ? MIB : strtoull(text, NULL, 10);
}

/* Whether blocks of this size are to be managed in this process. */
static inline bool expect_managed(size_t bytes) {
    const char *expected = getenv("TEST_MANAGED");
    return expected != NULL && expected[0] == '1' && bytes >= threshold_bytes();
}

/* Whether each fork is to have its parent's contents. */
static inline bool expect_snapshot(void) {
    const char *mode = getenv("FERRY_FORK");
    return mode != NULL && strcmp(mode, "snapshot") == 0;
}

static inline void fill(void *block, size_t bytes, unsigned seed) {
    unsigned char *p = block;
    for (size_t i = 0; i < bytes; i++) {
        p[i] = (unsigned char)(seed + i * 7 + i / 251);
    }
}

static inline bool is_filled(const void *block, size_t bytes, unsigned seed) {
    const unsigned char *p = block;
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != (unsigned char)(seed + i * 7 + i / 251)) {
            return false;
        }
    }
    return true;
}

static inline bool is_zero(const void *block, size_t bytes) {
    const unsigned char *p = block;
    return bytes == 0 || (p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0);
}

/* The status of a child that must be there. */
static inline int status_of(pid_t child) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static inline bool exited_well(pid_t child) {
    const int status = status_of(child);
    return CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status 0x%x",
                      (unsigned)status);
}

/* Runs `story` in a child, whose checks must pass within a minute. */
static inline pid_t start_child(void (*story)(void)) {
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        atomic_store(&test_failures, 0);
        alarm(60);
        story();
        _exit(atomic_load(&test_failures) == 0 ? 0 : 1);
    }
    return child;
}

static inline bool in_child(void (*story)(void)) {
    return exited_well(start_child(story));
}

#endif
