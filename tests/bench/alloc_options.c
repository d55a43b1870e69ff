/* The bare arena's jemalloc is told what the library tells its own: else they could not be compared. */
#define ferry_je_malloc_conf bare_conf
#include "benchmarks/bare_jemalloc_options.c"
#undef ferry_je_malloc_conf

#include "tests/test.h"

extern const char *ferry_je_malloc_conf;

static void options_are_the_librarys(void) {
    CHECK_STRING(bare_conf, ferry_je_malloc_conf);
}

int main(void) {
    RUN(options_are_the_librarys);
    return test_finish();
}
