/*
 * The suite `alloc`: its parts. Each returns a failure of the library's; figures go into the report. An allocator that
 * fails or gives a block twice is out of what is being measured, and counted.
 */
#ifndef FERRY_BENCHMARKS_ALLOC_H
#define FERRY_BENCHMARKS_ALLOC_H

#include "allocators.h"
#include "ferry/ferry.h"
#include "report.h"
#include "suites.h"

struct alloc {
    struct report *report;
    const struct suite_options *options;
    double end;              /* by now_seconds: when the suite has to be over */
    bool absent[ALLOCATORS]; /* on this machine; what is printed and in the file says why */
    size_t wrong, failed;    /* allocators whose blocks overlapped; who had no memory or broke off, per case */
    size_t left_out;         /* cases that there was no time for */
};

/* Recorded programs, replayed: how long they take and how much memory they hold. First, while the process is fresh. */
ferry_status alloc_replays(struct alloc *alloc);

/* The first writing of fresh blocks, and of recycled ones. */
ferry_status alloc_touches(struct alloc *alloc);

/* Pairs and batches by size and number of threads. */
ferry_status alloc_threads(struct alloc *alloc);

#endif
