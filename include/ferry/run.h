/*
 * What `ferry run` knows of a process: a file that libferry-preload.so maps when the process begins and keeps up to
 * date as it allocates, so that it is there however the process ends. One per program image: a process that execs
 * begins another. Its name is the time it began and the process's number: "123456789-4321.ferry-run".
 *
 * Counters are written with atomic operations while the process runs, each by itself. The file is as long as the
 * structure, but sparse: what no block was allocated for lies in holes, which read as zeros. It is in the byte order of
 * the machine, and of this version only: `bytes` tells another's.
 */
#ifndef FERRY_RUN_H
#define FERRY_RUN_H

#include "ferry/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_RUN_MAGIC UINT64_C(0x31306e7572666572) /* "refrun01" */
#define FERRY_RUN_SUFFIX ".ferry-run"

enum {
    FERRY_RUN_CLASSES = 48, /* powers of two: class i holds sizes or times from 2^(i-1), exclusive, to 2^i */
    FERRY_RUN_SITES = 1024,
    FERRY_RUN_FRAMES = 12,
    FERRY_RUN_SITE_TEXT = 384,
    FERRY_RUN_SAMPLES = 1088 /* at least 512 of them in use, once there have been as many events */
};

/* The class of a size or a time. */
static inline unsigned ferry_run_class_of(uint64_t value) {
    const unsigned index = value <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(value - 1);
    return index < FERRY_RUN_CLASSES ? index : FERRY_RUN_CLASSES - 1;
}

/* Where large blocks, of the threshold and more, live. */
typedef enum ferry_run_home { FERRY_RUN_PLAIN, FERRY_RUN_MANAGED, FERRY_RUN_HOMES } ferry_run_home;

/* What became of the device in a process. */
typedef enum ferry_run_device {
    FERRY_RUN_DEVICE_UNUSED,  /* no large block was allocated */
    FERRY_RUN_DEVICE_NO_CUDA, /* neither CUDA's driver nor its runtime was there when one was */
    FERRY_RUN_DEVICE_NEVER,   /* not wanted */
    FERRY_RUN_DEVICE_FAILED,  /* device_text says why */
    FERRY_RUN_DEVICE_STARTED, /* device_text: the backend's name */
    FERRY_RUN_DEVICE_FORKED   /* its parent's, which a child cannot use */
} ferry_run_device;

typedef enum ferry_run_end {
    FERRY_RUN_RUNNING, /* or killed, or replaced by exec: whoever reads this long after the end, or the next, knows */
    FERRY_RUN_EXITED,  /* by exit or by returning from main */
    FERRY_RUN_LEFT     /* by _exit or the like */
} ferry_run_end;

typedef struct ferry_run_class {
    uint64_t allocations, bytes;
} ferry_run_class;

typedef struct ferry_run_heap {
    uint64_t allocations, frees;
    uint64_t allocated_bytes, live_bytes, peak_bytes;
    uint64_t warm_blocks, warm_bytes;         /* allocated where a block had lain before */
    uint64_t allocation_ns, free_ns;          /* spent in the calls */
    ferry_run_class sizes[FERRY_RUN_CLASSES]; /* of what was allocated */
    uint64_t lifetimes[FERRY_RUN_CLASSES];    /* in microseconds, of blocks that were freed */
} ferry_run_heap;

/* A place that allocates large blocks; unused where there are no allocations. */
typedef struct ferry_run_site {
    uint64_t allocations, bytes, live_bytes, peak_bytes;
    uint64_t frames[FERRY_RUN_FRAMES]; /* return addresses, innermost first; 0 ends them */
    /* "inner+0x1f < outer+0x2a in file < main+0x10 in program": from the innermost outwards, "in" what the functions up
     * to there are in. "": not known yet. */
    char text[FERRY_RUN_SITE_TEXT];
} ferry_run_site;

/* Large blocks from a moment on, until the next sample's. */
typedef struct ferry_run_sample {
    uint64_t time_ns;                     /* since the process began */
    uint64_t live_bytes[FERRY_RUN_HOMES]; /* as of the last change */
    uint64_t peak_bytes;                  /* the most that all homes held together */
} ferry_run_sample;

typedef struct ferry_run_record {
    uint64_t magic, bytes; /* of the record */
    int32_t pid, parent;
    int32_t forked_from;         /* the process whose memory it began with; 0: none, it is a new program */
    uint32_t end;                /* ferry_run_end */
    uint64_t began_ns, ended_ns; /* CLOCK_MONOTONIC; 0: it has not ended */
    char program[256];           /* its file */
    char command[1024];          /* arguments, separated by spaces, cut off where it is full */

    uint64_t threshold_bytes;
    uint32_t device; /* ferry_run_device */
    char device_text[256];

    ferry_run_heap heaps[FERRY_RUN_HOMES];
    /* That managed memory had no room for: they are in the plain heap. */
    uint64_t beyond_limit_blocks, beyond_limit_bytes;

    /* As of the end; 0 for a process that was killed. */
    ferry_run_heap small; /* under the threshold: allocations, frees, allocated and live bytes, and sizes */
    uint64_t resident_peak_bytes;
    ferry_stats stats;    /* of a started device */
    char unmeasured[256]; /* why stats are not measured; "" */

    uint64_t lost_blocks, lost_bytes; /* managed ones of a parent, whose contents a child does not have */
    uint64_t kept_bytes;              /* of them, copied for it */

    uint32_t nsites, nsamples;
    uint64_t unsited; /* allocations of sites beyond the table */
    uint64_t sample_every_ns;
    ferry_run_sample samples[FERRY_RUN_SAMPLES]; /* in order of time */
    ferry_run_site sites[FERRY_RUN_SITES];
} ferry_run_record;

#ifdef __cplusplus
}
#endif
#endif
