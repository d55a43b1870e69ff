/* The suite `transfer`: one kernel, from host array to host array, by every way to get there and back. */
#include "clock.h"
#include "ways.h"

#define SECONDS 100

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
    {.name = "read-mostly",
     .managed = true,
     .needs_cuda = true,
     .needs_concurrent = true,
     .driver_moves = true,
     .way = &way_read_mostly},
    {.name = "none", .managed = true, .driver_moves = true, .way = &way_none},
    {.name = "prefetch", .managed = true, .once = true, .way = &way_prefetch},
    {.name = "prefetch, result kept", .managed = true, .way = &way_prefetch_kept},
    {.name = "remote", .managed = true, .once = true, .way = &way_remote},
    {.name = "auto", .managed = true, .learns = true, .once = true, .way = &way_auto},
    {.name = "auto, result kept", .managed = true, .learns = true, .way = &way_auto_kept},
};

static struct trip trips[sizeof strategies / sizeof *strategies];

static ferry_status open(size_t strategy, size_t bytes) {
    char name[64];
    snprintf(name, sizeof name, "transfer, %s", strategies[strategy].name);
    return trip_open(&trips[strategy], strategies[strategy].way, name, WAY_LOG, bytes);
}

static void close(size_t strategy) {
    trip_close(&trips[strategy]);
}

/* The host takes x and stores to each of its pages; the rest of what it fills is its own work, not timed. */
static ferry_status give(struct trip *trip, double *seconds) {
    double begin = clock_seconds();
    ferry_status status = trip->way->host_takes(trip, false, FERRY_WRITE);
    if (status)
        return status;
    *seconds = clock_seconds() - begin;
    *seconds += trip_touch(trip, false, false, true);
    content_overwrite(trip->content, trip->host_x);
    return FERRY_OK;
}

static ferry_status take(struct trip *trip, double *seconds) {
    double begin = clock_seconds();
    ferry_status status = trip->way->device_takes(trip);
    if (!status)
        status = trip->way->host_takes(trip, true, FERRY_READ);
    if (status)
        return status;
    *seconds += clock_seconds() - begin;
    *seconds += trip_touch(trip, true, true, false);
    return FERRY_OK;
}

static ferry_status one_round(size_t strategy, double *seconds, bool *right) {
    struct trip *trip = &trips[strategy];
    ferry_status status = give(trip, seconds);
    if (!status)
        status = take(trip, seconds);
    if (status)
        return status;
    trip->rounds++;
    *right = trip_right(trip, turns_spoils(&strategies[strategy]));
    return FERRY_OK;
}

static double host(size_t strategy, size_t bytes) {
    return way_host_seconds(strategies[strategy].way, bytes);
}

static ferry_status limit(const struct limits *limits, size_t bytes, struct turns_limit *limit) {
    return ways_limit(limits, WAY_LOG, bytes, limit);
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static const struct turns_suite suite = {
        .suite = &suite_transfer,
        .name = "round trip",
        .strategies = strategies,
        .n = sizeof strategies / sizeof *strategies,
        .arrays = 2,
        .times = 1,
        .largest_bytes = (size_t)1 << 30,
        .seconds = SECONDS,
        .start = ways_start,
        .finish = ways_finish,
        .limit = limit,
        .open = open,
        .close = close,
        .host = host,
        .round = one_round,
    };
    return turns_run(&suite, options, message);
}

const struct suite suite_transfer = {
    "transfer",
    "One kernel from host array to host array, by every way to get there and back: copies from pageable and from "
    "pinned memory, whole and in chunks, pinned memory that the kernel reaches into, managed memory without hints, "
    "with prefetches, across the bus, read-mostly, and as auto chooses; each beside what the bus would allow.",
    "8G",
    false,
    run,
};
