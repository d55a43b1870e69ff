/*
 * Stories about the simulator. A machine is opened once in a process, so each story runs in a forked child with an
 * environment of its own, and once for each way of noticing the host's touches.
 */
#ifndef FERRY_TESTS_BACKEND_SIM_CASE_H
#define FERRY_TESTS_BACKEND_SIM_CASE_H

#include "alloc/backend_sim.h"
#include "tests/backend/machine.h"

#define PAGE FERRY_PAGE_BYTES
#define BLOCK FERRY_BLOCK_BYTES
#define PAGE_COUNT (PAGE / sizeof(uint32_t))

/*
 * Runs the story under both ways; `environment` is "NAME=value NAME=value" or "". Failed checks are counted per file,
 * so the file's own count goes along.
 */
#define STORY(function, environment)                                                                                   \
    CHECK_THAT(sim_story((function), &test_failures, (environment)), "%s fails", #function)
bool sim_story(void (*function)(void), atomic_long *failures, const char *environment);
/* One child, with FERRY_SIM_TOUCH as the environment says. Returns its wait status. */
int sim_child(void (*function)(void), atomic_long *failures, const char *environment);

/* A page's place, given any element. */
ferry_place place_of(const void *address);
/* The same bytes as the devices see them; reading them is nobody's touch. */
uint32_t *device_view(uint32_t *address);
/* Declares an access without a kernel. */
void touch(void *address, size_t bytes, ferry_access access, backend_stream *stream);

/* Since the latest call: totals, and nanoseconds of the virtual clock. */
backend_measure counted(void);
uint64_t elapsed(void);

/* `got` is `want` but for `tolerance` times it. */
#define CHECK_CLOSE(got, want, tolerance) note_close((got), (want), (tolerance), #got, __FILE__, __LINE__)

static inline bool note_close(double got, double want, double tolerance, const char *expression, const char *file,
                              int line) {
    bool close = got >= want * (1 - tolerance) && got <= want * (1 + tolerance);
    return test_note(close, file, line, "%s is %g, not %g but for %g %%", expression, got, want, tolerance * 100);
}

#endif
