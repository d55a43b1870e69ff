/* The parts of the foundation benchmark. Each returns false after a failure that the caller reports by
 * ferry_error_detail. */
#ifndef FERRY_BENCHMARKS_FOUNDATION_H
#define FERRY_BENCHMARKS_FOUNDATION_H

#include "ferry/ferry.h"
#include "report.h"

struct settings {
    size_t bytes; /* of one array */
    size_t runs;
    bool cuda; /* else the simulator: its counts are true, its times are its own */
};

/* One kernel with nothing in it, for the costs around a launch: its PTX, and its name there. */
extern const char empty_ptx[];
#define EMPTY_NAME "empty"

/* What crosses the bus for a logarithm, under policies prefetch and none. */
bool measure_crossings(struct report *report, const struct settings *settings);

/* How fast a prefetch is beside a pinned copy, and what acquiring, completing and launching cost. */
bool measure_speed(struct report *report, const struct settings *settings);

/* An allocation and its free, beside those of a bare jemalloc arena: by processes of this program that are started with
 * the option below alone, and then do nothing but malloc_pairs_main. */
#define MALLOC_PAIRS_OPTION "--malloc-pairs"
bool measure_malloc_pairs(struct report *report, const struct settings *settings);
int malloc_pairs_main(void);

#endif
