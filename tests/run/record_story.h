/* For tests of who writes a process's record: each story is told in a child, with a folder of its own. */
#ifndef FERRY_TESTS_RUN_RECORD_STORY_H
#define FERRY_TESTS_RUN_RECORD_STORY_H

#include "preload/record.h"
#include "tests/alloc/forks.h"
#include "tests/scratch.h"

#define MIB ((size_t)1 << 20)

static char story_folder[SCRATCH_BYTES];

/* What the records' folder holds. */
static inline int count_files(void) {
    char command[2 * SCRATCH_BYTES], text[64] = "";
    snprintf(command, sizeof command, "ls '%s' | wc -l", story_folder);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe != NULL && fgets(text, sizeof text, pipe) != NULL);
    pclose(pipe);
    return atoi(text);
}

/* Addresses at which nothing lies: the record only remembers them. */
static inline void *page(size_t number) {
    return (void *)(UINT64_C(0x100000000000) + number * 4096);
}

static inline void *site(size_t number) {
    return (void *)(uintptr_t)(0x1000 + number);
}

static inline void allocate(size_t number, size_t bytes, void *where) {
    record_allocation(page(number), bytes, FERRY_RUN_PLAIN, record_now(), where);
}

static inline bool release(size_t number) {
    const uint64_t began_ns = record_now();
    const bool known = record_free(page(number));
    if (known)
        record_free_end(FERRY_RUN_PLAIN, began_ns);
    return known;
}

static inline void tell(void (*story)(void)) {
    scratch_make(story_folder);
    in_child(story);
    scratch_remove(story_folder);
}

#define TELL(story) (fprintf(stderr, "%s\n", #story), tell(story))

#endif
