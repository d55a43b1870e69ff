/* The suites of `ferry bench`. */
#ifndef FERRY_BENCHMARKS_SUITES_H
#define FERRY_BENCHMARKS_SUITES_H

#include <stdbool.h>
#include <stddef.h>

#define SUITE_SIZES_MAX 16
#define SUITE_MESSAGE 512

/* What the command line says; zero everywhere is the suite's own choice. */
struct suite_options {
    size_t sizes[SUITE_SIZES_MAX]; /* bytes of one array */
    size_t nsizes;
    size_t runs;      /* measured ones of a case, at most */
    double seconds;   /* for all of it, by this machine's clock */
    const char *json; /* a file */
    bool quick;       /* small sizes, few runs */
    bool check;       /* figures that are not what they have to be make it fail */
    /* Told what is in hand, as report_progress tells it. May be NULL. */
    void (*progress)(void *context, const char *what, double done);
    void *progress_context;
    const char *kernels, *passes, *actions; /* names, separated by commas; NULL: all. The suite `reuse` has them */
    const char *trace;                      /* a file; the suite `alloc` replays it instead of its own */
};

enum suite_end { SUITE_DONE, SUITE_FAILED, SUITE_USAGE };

struct suite {
    const char *name, *text;
    const char *limit;  /* of managed memory that its largest size needs, as FERRY_LIMIT takes it */
    bool machine_clock; /* times are this machine's on the simulator, too: what is measured is the host's own work */
    /* Runs it, the library having started, and prints what it finds. `message` says what was wrong unless it is done.
     */
    enum suite_end (*run)(const struct suite_options *options, char message[SUITE_MESSAGE]);
};

extern const struct suite *const suites[];
extern const size_t suite_count;

#endif
