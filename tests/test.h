/*
 * What a test program needs: checks that count, random numbers that repeat, and an exit status. A program is
 *
 *     static void slices_clip(void) { CHECK_INT(…, …); }
 *     int main(void) { RUN(slices_clip); return test_finish(); }
 *
 * CHECK… reports a failure and goes on; REQUIRE… reports it and ends the program. All may be used from any thread.
 * Exit status: 0 passed, 1 failed, 77 skipped.
 */
#ifndef FERRY_TESTS_TEST_H
#define FERRY_TESTS_TEST_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/status.h"

#define TEST_SKIPPED 77
#define TEST_REPORTED_FAILURES 20 /* more are counted, not printed */

static atomic_long test_checks;
static atomic_long test_failures;

__attribute__((format(printf, 4, 5))) static inline bool test_note(bool passed, const char *file, int line,
                                                                   const char *format, ...) {
    atomic_fetch_add(&test_checks, 1);
    if (passed || atomic_fetch_add(&test_failures, 1) >= TEST_REPORTED_FAILURES)
        return passed;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    return passed;
}

static inline bool test_note_int(intmax_t got, intmax_t want, const char *expression, const char *file, int line) {
    return test_note(got == want, file, line, "%s is %jd, not %jd", expression, got, want);
}

static inline bool test_note_uint(uintmax_t got, uintmax_t want, const char *expression, const char *file, int line) {
    return test_note(got == want, file, line, "%s is %ju, not %ju", expression, got, want);
}

static inline bool test_note_string(const char *got, const char *want, const char *expression, const char *file,
                                    int line) {
    return test_note(got && strcmp(got, want) == 0, file, line, "%s is \"%s\", not \"%s\"", expression,
                     got ? got : "(null)", want);
}

static inline bool test_note_memory(const void *got, const void *want, size_t bytes, const char *expression,
                                    const char *file, int line) {
    const unsigned char *a = got, *b = want;
    size_t i = 0;
    while (i < bytes && a[i] == b[i])
        i++;
    return test_note(i == bytes, file, line, "%s: byte %zu of %zu differs", expression, i, bytes);
}

static inline bool test_note_status(ferry_status got, ferry_status want, const char *expression, const char *file,
                                    int line) {
    return test_note(got == want, file, line, "%s is %d, not %d; the latest error: %s", expression, (int)got, (int)want,
                     ferry_error_detail());
}

static inline int test_finish(void) {
    long failures = atomic_load(&test_failures);
    fprintf(stderr, "%ld checks, %ld failed\n", atomic_load(&test_checks), failures);
    return failures ? 1 : 0;
}

#define TEST_REQUIRED(passed)                                                                                          \
    do {                                                                                                               \
        if (!(passed))                                                                                                 \
            exit(test_finish());                                                                                       \
    } while (0)

/* Each CHECK is an expression: true when it holds. */
#define CHECK(condition) test_note((condition), __FILE__, __LINE__, "%s does not hold", #condition)
/* CHECK_THAT(condition, format, …) says more: the values that the expression hides. */
#define CHECK_THAT(condition, ...) test_note((condition), __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_INT(got, want) test_note_int((intmax_t)(got), (intmax_t)(want), #got, __FILE__, __LINE__)
#define CHECK_UINT(got, want) test_note_uint((uintmax_t)(got), (uintmax_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STRING(got, want) test_note_string((got), (want), #got, __FILE__, __LINE__)
#define CHECK_MEMORY(got, want, bytes) test_note_memory((got), (want), (bytes), #got, __FILE__, __LINE__)
#define CHECK_STATUS(call, want) test_note_status((call), (want), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(call, FERRY_OK)

#define REQUIRE(condition) TEST_REQUIRED(CHECK(condition))
#define REQUIRE_OK(call) TEST_REQUIRED(CHECK_OK(call))

/* Runs one test function; its name appears when a check in it fails. */
#define RUN(function) test_run((function), #function)

static inline void test_run(void (*function)(void), const char *name) {
    long failures = atomic_load(&test_failures);
    function();
    if (atomic_load(&test_failures) != failures)
        fprintf(stderr, "  in %s\n", name);
}

#define SKIP(...)                                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "skipped: " __VA_ARGS__);                                                                      \
        fputc('\n', stderr);                                                                                           \
        exit(atomic_load(&test_failures) ? 1 : TEST_SKIPPED);                                                          \
    } while (0)

/* FERRY_TEST_SEED, else `standard`; printed, so that a failure can be repeated. */
static inline uint64_t test_seed(uint64_t standard) {
    const char *text = getenv("FERRY_TEST_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 0) : standard;
    fprintf(stderr, "FERRY_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
typedef struct test_random {
    uint64_t state;
} test_random;

static inline uint64_t test_random_next(test_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in low … high, both included, to within 2^-64 times the range. */
static inline int64_t test_random_int(test_random *random, int64_t low, int64_t high) {
    uint64_t range = (uint64_t)high - (uint64_t)low + 1;
    uint64_t value = test_random_next(random);
    return (int64_t)((uint64_t)low + (range ? value % range : value));
}

/* Uniform in [0, 1). */
static inline double test_random_unit(test_random *random) {
    return (double)(test_random_next(random) >> 11) * 0x1p-53;
}

#endif
