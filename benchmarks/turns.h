/*
 * Suites in which strategies do the same thing in turns, round by round, size by size: whatever the machine does
 * meanwhile happens to all. A suite says what a round is; here it is repeated, timed, counted and reported.
 */
#ifndef FERRY_BENCHMARKS_TURNS_H
#define FERRY_BENCHMARKS_TURNS_H

#include "bench_limits.h"
#include "ferry/ferry.h"
#include "suite_report.h"

#define TURNS_STRATEGIES 16

struct turns_strategy {
    const char *name;
    bool managed;          /* its arrays count towards the limit on managed memory */
    bool needs_cuda;       /* itself: not on the simulator */
    bool needs_concurrent; /* access of both sides to managed memory */
    bool learns;           /* from its first rounds, which are not measured */
    bool driver_moves;     /* what crosses is the driver's doing: the library's account has nothing of it */
    bool once;             /* nothing crosses twice in one direction, which is checked */
    double in_x, out_x;    /* unless managed: bytes that it takes in and out, over those of the size */
    size_t least_bytes;    /* below this size it is the same as another */
    const void *way;       /* the suite's own */
};

/* The least time that a round could take, and what it is made of, in seconds. */
struct turns_limit {
    double whole;
    double crossing; /* of what has to cross, by the machine's limits */
    double kernel;   /* over arrays in place */
    double host;     /* its part on memory that is at home; 0 on the virtual clock */
};

/* What a suite is made of. Calls that fail say why by ferry_error. */
struct turns_suite {
    const struct suite *suite;
    const char *name; /* of its cases */
    const struct turns_strategy *strategies;
    size_t n;
    size_t arrays;        /* of the size, that one strategy has */
    size_t besides_bytes; /* of managed memory, that the suite has all the time */
    size_t times;         /* that a round goes over the size: what crosses is per time */
    size_t largest_bytes; /* of the sizes that it chooses itself */
    double seconds;       /* for all of it, unless something else is asked for */

    /* Once, before and after everything. */
    ferry_status (*start)(bool modelled);
    void (*finish)(void);
    ferry_status (*limit)(const struct limits *limits, size_t bytes, struct turns_limit *limit);
    /* A strategy's arrays. What `open` has made before it fails, `close` undoes: it is called all the same. */
    ferry_status (*open)(size_t strategy, size_t bytes);
    void (*close)(size_t strategy);
    /* For the virtual clock, which does not count the host's part: the seconds of that, on the modelled machine. NULL:
     * there is no model of it. */
    double (*host)(size_t strategy, size_t bytes);
    /* One round: the seconds that count, and whether the result is right. */
    ferry_status (*round)(size_t strategy, double *seconds, bool *right);
};

/* How one strategy did at one size. */
struct turns_outcome {
    struct samples samples;
    size_t rounds;                 /* measured or not */
    double spent;                  /* seconds by this machine's clock */
    double to_device_x, to_host_x; /* bytes that crossed each time, over those of the size */
    bool wrong, counted;
};

struct turns_size {
    size_t bytes;
    struct turns_limit limit;
    struct turns_outcome outcomes[TURNS_STRATEGIES];
};

struct turns {
    const struct turns_suite *suite;
    struct report *report;
    struct limits limits;
    bool modelled, has_explicit, concurrent;
    bool by_driver;           /* crossings were counted by the driver */
    size_t runs;              /* of a strategy, at most */
    struct turns_size *sizes; /* nsizes */
    size_t nsizes;
    double begin, seconds; /* by this machine's clock */
};

/* Whether a strategy is tried at that size. */
bool turns_takes_part(const struct turns *turns, size_t strategy, size_t bytes);

/* Times the strategies of a size, for `allowance` seconds where that is enough for a few rounds of each. */
ferry_status turns_time(struct turns *turns, struct turns_size *size, double allowance);

/*
 * Counts what crosses in a round of each managed strategy, size by size until `end` by this machine's clock. The
 * driver's own count where that can be had: CUPTI's, or the simulator's page tables'. Comes last, since CUPTI leaves
 * hooks in the driver.
 */
ferry_status turns_count(struct turns *turns, double end);

/* One round of an open strategy, warm or not; how long it took by this machine's clock is added to the outcome. */
ferry_status turns_round(struct turns *turns, size_t strategy, struct turns_outcome *outcome, double *seconds);

/* Whether FERRY_BENCH_SPOIL names the strategy, whose results are then to be made wrong: to see that it is noticed. */
bool turns_spoils(const struct turns_strategy *strategy);

/* The table's parts, and the file's cases: strategies that were measured. */
void turns_print_head(const struct turns *turns);
void turns_print_size(const struct turns *turns, struct turns_size *size);
void turns_print_crossings(const struct turns *turns);
void turns_report(const struct turns *turns);

/* The suite from beginning to end. */
enum suite_end turns_run(const struct turns_suite *suite, const struct suite_options *options,
                         char message[SUITE_MESSAGE]);

#endif
