/*
 * Ways for arrays to get from the host to a kernel and back: explicit copies, pinned memory that kernels reach into,
 * managed memory with no library, and the library's policies. The host takes an array, a kernel goes over it, the host
 * takes the result.
 */
#ifndef FERRY_BENCHMARKS_WAYS_H
#define FERRY_BENCHMARKS_WAYS_H

#include "bench_kernels.h"
#include "content.h"
#include "turns.h"

#define WAYS_STREAMS 3 /* of the pipelined copies: one each for the way in, the kernel and the way out */
#define WAYS_CHUNKED_BYTES ((size_t)4 << 20) /* smaller arrays are copied faster whole */

enum way_kernel {
    WAY_LOG,   /* y = log x */
    WAY_NEGATE /* x = -x: there is no y */
};

struct trip;

struct way {
    /* Before the host loads or stores every element of x or y. */
    ferry_status (*host_takes)(struct trip *trip, bool y, ferry_access access);
    /* The kernel, with whatever movement has to be asked for, until the result is there. */
    ferry_status (*device_takes)(struct trip *trip);
    ferry_status (*open)(struct trip *trip);
    void (*close)(struct trip *trip);
    ferry_policy policy; /* of the library's ways */
    bool keeps;          /* the old result is not declared worthless */
    bool pinned;         /* of the explicit ones */
};

/* One way's arrays, of one size. */
struct trip {
    const struct way *way;
    const char *name; /* of the suite and the strategy: what the library remembers of the arrays goes by it */
    enum way_kernel kernel;
    size_t n, bytes;
    bool sparse;                 /* on the virtual clock, places are modelled, contents are not */
    ferry_heap *heap;            /* the library's ways' */
    ferry_array x, y;            /* theirs; in place only x */
    double *host_x, *host_y;     /* where the host finds them; in place the same */
    double *device_x, *device_y; /* where kernels do, or their copies on the device */
    struct content own_content;  /* of x, */
    struct content *content;     /* this one or that of the buffers which explicit ways share */
    size_t rounds;
};

extern const struct way way_pageable, way_pinned, way_pipelined, way_zero_copy, way_read_mostly;
extern const struct way way_none, way_prefetch, way_prefetch_kept, way_remote, way_auto, way_auto_kept;

/* What all trips share; `modelled`: on the virtual clock. */
ferry_status ways_start(bool modelled);
void ways_finish(void);
bool ways_modelled(void);
const struct bench_kernels *ways_kernels(void);

ferry_status trip_open(struct trip *trip, const struct way *way, const char *name, enum way_kernel kernel,
                       size_t bytes);
void trip_close(struct trip *trip);

/* What a round takes at least whichever way: the host's touches of every page on both sides of the kernel, and between
 * them the longer of the crossing there and back and the kernel over arrays in place. Medians of some. */
ferry_status ways_limit(const struct limits *limits, enum way_kernel kernel, size_t bytes, struct turns_limit *limit);

/* The host's touches of every page of x or y: seconds by the suite's clock. Large arrays are all cores' work, whose
 * faults the driver serves side by side; the virtual clock charges them one after the other. */
double trip_touch(const struct trip *trip, bool y, bool loads, bool stores);

/* What the host's part of a round takes on the modelled machine, in which it stores to all of x, and touches y: its
 * touches, and what its stores keep the device waiting. */
double way_host_seconds(const struct way *way, size_t bytes);

/* Whether what the host finds in the result is what it has to be: elements all over the array, others each time. With
 * `spoil` one of them is made wrong first. */
bool trip_right(const struct trip *trip, bool spoil);

/* The explicit ways' part of the start and the end. */
ferry_status ways_explicit_start(void);
void ways_explicit_finish(void);

#endif
