/* The suite `pingpong`: host and device change the same array in turns. */
#include "clock.h"
#include "ways.h"

#define SECONDS 80

static const struct turns_strategy strategies[] = {
    {.name = "pageable", .needs_cuda = true, .in_x = 1, .out_x = 1, .way = &way_pageable},
    {.name = "pinned", .needs_cuda = true, .in_x = 1, .out_x = 1, .way = &way_pinned},
    {.name = "pinned, pipelined",
     .needs_cuda = true,
     .in_x = 1,
     .out_x = 1,
     .least_bytes = WAYS_CHUNKED_BYTES,
     .way = &way_pipelined},
    {.name = "pinned, zero-copy", .needs_cuda = true, .in_x = 1, .out_x = 1, .way = &way_zero_copy},
    {.name = "none", .managed = true, .driver_moves = true, .way = &way_none},
    {.name = "prefetch", .managed = true, .once = true, .way = &way_prefetch},
    {.name = "remote", .managed = true, .once = true, .way = &way_remote},
    {.name = "auto", .managed = true, .learns = true, .once = true, .way = &way_auto},
};

static struct trip trips[sizeof strategies / sizeof *strategies];

static ferry_status open(size_t strategy, size_t bytes) {
    char name[64];
    snprintf(name, sizeof name, "pingpong, %s", strategies[strategy].name);
    return trip_open(&trips[strategy], strategies[strategy].way, name, WAY_NEGATE, bytes);
}

static void close(size_t strategy) {
    trip_close(&trips[strategy]);
}

/* The first round's, not timed: the array gets its contents. */
static ferry_status fill(struct trip *trip) {
    ferry_status status = trip->way->host_takes(trip, false, FERRY_WRITE);
    if (!status)
        content_overwrite(trip->content, trip->host_x);
    return status;
}

/* The kernel, then the host, which loads and stores something in each page; the rest of its work is not timed. */
static ferry_status exchange(struct trip *trip, double *seconds) {
    double begin = clock_seconds();
    ferry_status status = trip->way->device_takes(trip);
    if (!status)
        status = trip->way->host_takes(trip, false, FERRY_READWRITE);
    if (status)
        return status;
    *seconds = clock_seconds() - begin;
    *seconds += trip_touch(trip, false, true, true);
    content_negate(trip->content);
    return FERRY_OK;
}

static ferry_status one_round(size_t strategy, double *seconds, bool *right) {
    struct trip *trip = &trips[strategy];
    ferry_status status = trip->rounds == 0 ? fill(trip) : FERRY_OK;
    if (!status)
        status = exchange(trip, seconds);
    if (status)
        return status;
    trip->rounds++;
    *right = trip_right(trip, turns_spoils(&strategies[strategy]));
    content_add(trip->content, trip->host_x);
    return FERRY_OK;
}

static ferry_status limit(const struct limits *limits, size_t bytes, struct turns_limit *limit) {
    return ways_limit(limits, WAY_NEGATE, bytes, limit);
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static const struct turns_suite suite = {
        .suite = &suite_pingpong,
        .name = "exchange",
        .strategies = strategies,
        .n = sizeof strategies / sizeof *strategies,
        .arrays = 1,
        .times = 1,
        .largest_bytes = (size_t)1 << 30,
        .seconds = SECONDS,
        .start = ways_start,
        .finish = ways_finish,
        .limit = limit,
        .open = open,
        .close = close,
        .round = one_round,
    };
    return turns_run(&suite, options, message);
}

const struct suite suite_pingpong = {
    "pingpong",
    "A kernel changes an array in place, then the host changes all of it, and so on: what every exchange of the array "
    "takes, by copies, by pinned memory that the kernel reaches into, and under every policy, beside what the bus "
    "would allow.",
    "8G",
    false,
    run,
};
