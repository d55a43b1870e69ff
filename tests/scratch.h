/* A folder of a test's own, and whole files in it. */
#ifndef FERRY_TESTS_SCRATCH_H
#define FERRY_TESTS_SCRATCH_H

#include <stdlib.h>

#include "tests/test.h"

#define SCRATCH_BYTES 256

/* Makes it under $TMPDIR, or where the system keeps such. */
static inline void scratch_make(char folder[SCRATCH_BYTES]) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, SCRATCH_BYTES, "%s/ferry-test-XXXXXX", parent ? parent : P_tmpdir);
    REQUIRE(mkdtemp(folder) != NULL);
}

/* With all that is in it. */
static inline void scratch_remove(const char *folder) {
    char command[SCRATCH_BYTES + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_INT(system(command), 0);
}

/* The first `capacity` bytes at most; how many there were. */
static inline size_t scratch_read(const char *path, char *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    const size_t n = fread(bytes, 1, capacity, file);
    fclose(file);
    return n;
}

static inline void scratch_write(const char *path, const char *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    CHECK_UINT(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

#endif
