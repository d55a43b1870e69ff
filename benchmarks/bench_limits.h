/*
 * What the machine can do at most between the host and the device, measured in the run whose figures are held against
 * it. With CUDA: copies of pinned memory and on the device, medians. On the simulator, which has no explicit copies:
 * the link's own figures, the better of migrating and crossing the bus.
 */
#ifndef FERRY_BENCHMARKS_BENCH_LIMITS_H
#define FERRY_BENCHMARKS_BENCH_LIMITS_H

#include <stdbool.h>

#include "ferry/ferry.h"
#include "report.h"

struct limits {
    bool measured;             /* with CUDA; else they are the simulator's link */
    double to_device, to_host; /* bytes a second, one direction at a time */
    double both;               /* of both directions together, at the same time */
    double device_copy;        /* bytes copied a second in the device's memory: each is loaded and stored */
};

/* Measured by the first call and remembered, half a second of work. `out` is set on success only. */
ferry_status limits_get(struct limits *out);

/* Into the file, and as a line of the table. */
void limits_report(const struct limits *limits, struct report *report);

/* The least time in which so many bytes cross in each direction, whatever overlaps. */
double limits_crossing_seconds(const struct limits *limits, double to_device_bytes, double to_host_bytes);

#endif
