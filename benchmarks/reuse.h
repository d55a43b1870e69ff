/*
 * The suite `reuse`: kernels go over an array some times, then the host does something with it, and so on. One such
 * round is an epoch: [the host's part, with ferry_host_acquire of exactly what it touches] [passes] [wait].
 */
#ifndef FERRY_BENCHMARKS_REUSE_H
#define FERRY_BENCHMARKS_REUSE_H

#include "bench_kernels.h"
#include "content.h"
#include "ferry/ferry.h"
#include "report.h"

#define REUSE_ARRAYS 3

enum reuse_strategy {
    REUSE_NONE,
    REUSE_PREFETCH,
    REUSE_REMOTE,
    REUSE_AUTO,
    REUSE_PAGEABLE, /* from here on with explicit copies */
    REUSE_PINNED,
    REUSE_STRATEGIES
};
#define REUSE_MANAGED REUSE_PAGEABLE /* strategies before it */
#define REUSE_EXPLICIT (REUSE_STRATEGIES - REUSE_PAGEABLE)

enum reuse_action { REUSE_NOTHING, REUSE_OVERWRITE, REUSE_UPDATE, REUSE_READ, REUSE_SAMPLE, REUSE_ACTIONS };

enum reuse_kernel_index { REUSE_OUT_OF_PLACE, REUSE_IN_PLACE, REUSE_SUM, REUSE_PRODUCT, REUSE_KERNELS };

struct reuse_run;

struct reuse_kernel {
    const char *name;
    int arrays, inputs;                                /* the inputs are the first; the host writes array 0 */
    int result;                                        /* the array that the host reads */
    bool writes_result;                                /* by the device; else it is an input */
    size_t largest_bytes;                              /* of an array, beyond which a product takes too long; 0: any */
    ferry_status (*pass)(const struct reuse_run *run); /* one launch, with movement */
    ferry_status (*explicit_pass)(const struct reuse_run *run); /* the same on addresses of the device */
    double (*value)(const struct reuse_run *run, size_t i);     /* what the result has to hold */
    double (*sum)(const struct reuse_run *run);                 /* the same added up */
};

extern const struct reuse_kernel reuse_kernels[REUSE_KERNELS];
extern const char *const reuse_strategy_names[REUSE_STRATEGIES];
extern const char *const reuse_action_names[REUSE_ACTIONS];

struct reuse_cell {
    const struct reuse_kernel *kernel;
    enum reuse_action action;
    int passes;
    size_t size_bytes; /* as asked for; a product's matrices are the largest squares in it */
    size_t n;          /* elements of an array */
    int side;          /* of a product's matrices */
};

/* What all cells share. */
struct reuse_setup {
    int attempt; /* number of the attempt at a cell, over all of them */
    struct bench_kernels kernels;
    ferry_heap *heaps[REUSE_MANAGED];
    double *gathered; /* SUM_BLOCKS numbers in the library's memory, for looks at results */
    bool modelled;    /* the virtual clock; large arrays are then not computed, only moved */
    bool has_product, has_explicit;
    size_t buffer_bytes; /* of each of these, made for the size in hand */
    double *host[REUSE_EXPLICIT][REUSE_ARRAYS], *device[REUSE_EXPLICIT][REUSE_ARRAYS];
    double *device_partial;
};

/* One strategy in one cell. */
struct reuse_run {
    struct reuse_setup *setup;
    const struct reuse_cell *cell;
    enum reuse_strategy strategy;
    ferry_array arrays[REUSE_ARRAYS]; /* managed strategies only */
    ferry_array partial;
    double *host[REUSE_ARRAYS], *device[REUSE_ARRAYS]; /* addresses for each side */
    double *device_partial;
    struct content content[REUSE_ARRAYS]; /* of the inputs */
    size_t epochs;
    bool sparse; /* places are modelled, contents are not */
    bool wrong;  /* a result was not what it has to be */
};

ferry_status reuse_run_open(struct reuse_run *run, struct reuse_setup *setup, const struct reuse_cell *cell,
                            enum reuse_strategy strategy);
/* The first one fills the inputs in place of the host's part. Seconds by the suite's clock; results are checked
 * afterwards. */
ferry_status reuse_run_epoch(struct reuse_run *run, double *seconds);
/* Why the arrays are where they are, in the library's words. */
void reuse_run_explain(const struct reuse_run *run, char *text, size_t bytes);
void reuse_run_close(struct reuse_run *run);

/* Bytes that the host's part goes over, of an array of n elements. */
size_t reuse_touched_bytes(enum reuse_action action, size_t n);
/* The host's part alone on ordinary memory, for arrays of n elements: seconds, the median of some. On the virtual
 * clock, which does not count it, what it takes on the modelled machine. */
double reuse_host_alone(enum reuse_action action, size_t n);

/* Bytes, by the library's account. */
struct reuse_crossed {
    uint64_t to_device, to_host;
};

#define REUSE_EXPLANATION 2048
struct reuse_outcome {
    bool tried, wrong;
    double first, learning;              /* seconds of the two unmeasured epochs */
    struct samples samples;              /* of the measured ones */
    struct reuse_crossed learned;        /* in the unmeasured ones */
    struct reuse_crossed crossed;        /* in the measured ones */
    char learned_why[REUSE_EXPLANATION]; /* where the arrays are, after the unmeasured epochs */
    char why[REUSE_EXPLANATION];         /* and after all */
};

#define REUSE_ALL ((1u << REUSE_STRATEGIES) - 1)

/* Runs a cell under the strategies of a set of bits, epoch by epoch in turns; `allowance` seconds are there for it. The
 * outcomes of others stay. */
ferry_status reuse_cell_run(struct reuse_setup *setup, const struct reuse_cell *cell, unsigned strategies, size_t runs,
                            double allowance, struct reuse_outcome outcomes[REUSE_STRATEGIES]);

struct reuse_result {
    struct reuse_cell cell;
    double host; /* seconds of the host's part alone */
    struct reuse_outcome outcomes[REUSE_STRATEGIES];
    bool complete;                   /* all strategies were run */
    double median[REUSE_STRATEGIES]; /* seconds; 0: not run, or void */
    double regret;                   /* 0: there is none */
    double learning_extra;           /* what auto's unmeasured epochs did in vain, in crossings of the cell's arrays */
};

/* The table's lines, and what is said at its end: mean and worst regret, in all and per size, and the worst cells. The
 * first `judged` of the n results are there. */
void reuse_print_head(const struct reuse_setup *setup);
void reuse_print_cell(const struct reuse_setup *setup, const struct reuse_result *result);
void reuse_summarise(struct report *report, const struct reuse_setup *setup, const struct reuse_result *results,
                     size_t n, size_t judged);

#endif
