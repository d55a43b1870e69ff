/* The suite `producer`: the host fills buffers, the device consumes them, each while the other is at the next one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_kernels.h"
#include "clock.h"
#include "content.h"
#include "explicit.h"
#include "pool.h"
#include "turns.h"

#define SECONDS 60
#define BUFFERS 16 /* that are filled in a round */
#define HELD 2     /* at a time */
#define PAGE_BYTES ((size_t)4096)
#define SUMS_BYTES ((size_t)4 << 20) /* more than the heap of the sums has */
#define FILL_RUNS 9

struct line;

/* How a buffer gets from the host to the kernel. */
struct line_way {
    ferry_status (*open)(struct line *line);
    void (*close)(struct line *line);
    ferry_status (*await)(struct line *line, size_t i); /* until the host may fill buffer i */
    ferry_status (*hand_over)(struct line *line, size_t i, size_t number);
    ferry_policy policy;
    bool pinned, one_buffer;
};

/* One strategy's buffers. */
struct line {
    const struct line_way *way;
    size_t n, bytes;
    double *host[HELD], *device[HELD];
    void *events[HELD]; /* a buffer's last copy */
    ferry_heap *heap;
    ferry_array arrays[HELD];
};

static struct {
    bool modelled, sparse;
    struct bench_kernels kernels;
    ferry_stream *streams[HELD];
    ferry_heap *heap;               /* of */
    ferry_array sums[BUFFERS];      /* what the kernel makes of each buffer of a round: 2 KiB, which never migrate */
    struct content content;         /* of the buffer filled last, whoever filled it */
    struct content filled[BUFFERS]; /* in the round in hand */
} all;

static ferry_status failed(void) {
    return ferry_error(FERRY_BACKEND, "a call of CUDA's failed");
}

static void *native(size_t i) {
    return ferry_stream_native(all.streams[i]);
}

static ferry_status open_managed(struct line *line) {
    ferry_heap_options options = {.name = "producer", .policy = line->way->policy};
    int64_t count = (int64_t)line->n;
    char label[128];
    snprintf(label, sizeof label, "producer, %s, %zu", ferry_policy_name(line->way->policy), line->bytes);
    ferry_site before = ferry_site_set(ferry_site_label(label));
    ferry_status status = ferry_heap_create(&options, &line->heap);
    for (size_t i = 0; i < HELD && !status; i++) {
        status = ferry_array_create(line->heap, FERRY_FLOAT64, 1, &count, &line->arrays[i]);
        line->host[i] = status ? NULL : line->arrays[i].view.data;
    }
    ferry_site_set(before);
    return status;
}

static void close_managed(struct line *line) {
    for (size_t i = 0; i < HELD; i++)
        ferry_array_release(&line->arrays[i]);
    ferry_heap_destroy(line->heap);
}

static ferry_status await_managed(struct line *line, size_t i) {
    return ferry_host_acquire(&line->arrays[i].view, FERRY_WRITE);
}

static ferry_status hand_over_managed(struct line *line, size_t i, size_t number) {
    long long n = (long long)line->n;
    const ferry_operand operands[] = {{.view = &line->arrays[i].view, .access = FERRY_READ, .passes = 1},
                                      {.view = &all.sums[number].view, .access = FERRY_WRITE, .passes = 1}};
    const ferry_arg args[] = {{.operand = operands[0]}, {.operand = operands[1]}, {.value = &n, .bytes = sizeof n}};
    return all.sparse ? bench_touch(&all.kernels, operands, 2, all.streams[i])
                      : ferry_launch(all.kernels.sum, bench_grid_sum(), args, 3, all.streams[i]);
}

static ferry_status open_explicit(struct line *line) {
    bool worked = true;
    for (size_t i = 0; i < HELD && worked; i++) {
        line->host[i] = explicit_host_allocate(line->bytes, line->way->pinned);
        line->device[i] = explicit_device_allocate(line->bytes);
        line->events[i] = explicit_event_create();
        worked = line->host[i] && line->device[i] && line->events[i];
    }
    return worked ? FERRY_OK : ferry_error(FERRY_OUT_OF_MEMORY, "no memory for buffers of %zu bytes", line->bytes);
}

static void close_explicit(struct line *line) {
    for (size_t i = 0; i < HELD; i++) {
        explicit_host_free(line->host[i], line->way->pinned);
        explicit_device_free(line->device[i]);
        explicit_event_destroy(line->events[i]);
    }
}

/* The copy alone: the kernel has one of its own. */
static ferry_status await_copy(struct line *line, size_t i) {
    return explicit_event_wait(line->events[i]) ? FERRY_OK : failed();
}

static ferry_status enqueue_sum(const struct line *line, const double *from, size_t i, size_t number) {
    double *sums = ferry_device_pointer(all.sums[number].view.data);
    return bench_enqueue_sum(&all.kernels, from, sums, line->n, all.streams[i]);
}

static ferry_status copy_and_sum(struct line *line, size_t i, size_t number) {
    if (!explicit_copy(line->device[i], line->host[i], line->bytes, native(i)) ||
        !explicit_event_record(line->events[i], native(i)))
        return failed();
    ferry_status status = enqueue_sum(line, line->device[i], i, number);
    return status || !line->way->one_buffer || explicit_wait(native(i)) ? status : failed();
}

static ferry_status open_zero_copy(struct line *line) {
    for (size_t i = 0; i < HELD; i++) {
        line->host[i] = explicit_host_allocate(line->bytes, true);
        line->events[i] = explicit_event_create();
        if (!line->host[i] || !line->events[i])
            return ferry_error(FERRY_OUT_OF_MEMORY, "no pinned memory for buffers of %zu bytes", line->bytes);
    }
    return FERRY_OK;
}

static ferry_status reach_and_sum(struct line *line, size_t i, size_t number) {
    ferry_status status = enqueue_sum(line, explicit_mapped(line->host[i]), i, number);
    return status || explicit_event_record(line->events[i], native(i)) ? status : failed();
}

#define EXPLICIT .open = open_explicit, .close = close_explicit, .await = await_copy, .hand_over = copy_and_sum
#define MANAGED .open = open_managed, .close = close_managed, .await = await_managed, .hand_over = hand_over_managed
static const struct line_way way_pageable = {EXPLICIT}, way_pinned_one = {EXPLICIT, .pinned = true, .one_buffer = true},
                             way_pinned = {EXPLICIT, .pinned = true},
                             way_zero_copy = {.open = open_zero_copy,
                                              .close = close_explicit,
                                              .await = await_copy,
                                              .hand_over = reach_and_sum,
                                              .pinned = true},
                             way_none = {MANAGED, .policy = FERRY_POLICY_NONE},
                             way_prefetch = {MANAGED, .policy = FERRY_POLICY_PREFETCH},
                             way_remote = {MANAGED, .policy = FERRY_POLICY_REMOTE},
                             way_auto = {MANAGED, .policy = FERRY_POLICY_AUTO};

static const struct turns_strategy strategies[] = {
    {.name = "pageable", .needs_cuda = true, .in_x = 1, .way = &way_pageable},
    {.name = "pinned, one buffer", .needs_cuda = true, .in_x = 1, .way = &way_pinned_one},
    {.name = "pinned", .needs_cuda = true, .in_x = 1, .way = &way_pinned},
    {.name = "pinned, zero-copy", .needs_cuda = true, .in_x = 1, .way = &way_zero_copy},
    {.name = "none", .managed = true, .needs_concurrent = true, .driver_moves = true, .way = &way_none},
    {.name = "prefetch", .managed = true, .needs_concurrent = true, .once = true, .way = &way_prefetch},
    {.name = "remote", .managed = true, .needs_concurrent = true, .once = true, .way = &way_remote},
    {.name = "auto", .managed = true, .needs_concurrent = true, .learns = true, .once = true, .way = &way_auto},
};

static struct line lines[sizeof strategies / sizeof *strategies];

static ferry_status start(bool modelled) {
    const ferry_heap_options options = {.name = "sums", .policy = FERRY_POLICY_REMOTE};
    const int64_t count = SUM_BLOCKS;
    memset(&all, 0, sizeof all);
    all.modelled = modelled;
    ferry_status status = bench_kernels_open(&all.kernels);
    if (!status)
        status = ferry_heap_create(&options, &all.heap);
    for (size_t i = 0; i < HELD && !status; i++)
        status = ferry_stream_create(0, &all.streams[i]);
    for (size_t i = 0; i < BUFFERS && !status; i++)
        status = ferry_array_create(all.heap, FERRY_FLOAT64, 1, &count, &all.sums[i]);
    return status;
}

static void finish(void) {
    for (size_t i = 0; i < BUFFERS; i++)
        ferry_array_release(&all.sums[i]);
    for (size_t i = 0; i < HELD; i++)
        ferry_stream_destroy(all.streams[i]);
    ferry_heap_destroy(all.heap);
    bench_kernels_close(&all.kernels);
}

/* Contents go on from strategy to strategy, so that no sum that another left is right. */
static void take_size(size_t bytes) {
    size_t n = bytes / sizeof(double);
    all.sparse = all.modelled && bytes >= POOL_LEAST_BYTES;
    if (all.content.n != n)
        all.content = content_new(n, all.sparse);
}

static ferry_status open(size_t strategy, size_t bytes) {
    struct line *line = &lines[strategy];
    take_size(bytes);
    *line = (struct line){.way = strategies[strategy].way, .n = bytes / sizeof(double), .bytes = bytes};
    return line->way->open(line);
}

static void close(size_t strategy) {
    if (lines[strategy].way)
        lines[strategy].way->close(&lines[strategy]);
    lines[strategy] = (struct line){.way = NULL};
}

static ferry_status await_streams(void) {
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < HELD && !status; i++)
        status = ferry_stream_sync(all.streams[i]);
    return status;
}

static ferry_status fill_and_consume(struct line *line) {
    ferry_status status = FERRY_OK;
    for (size_t number = 0; number < BUFFERS && !status; number++) {
        size_t i = number % HELD;
        status = line->way->await(line, i);
        if (status)
            break;
        content_overwrite(&all.content, line->host[i]);
        all.filled[number] = all.content;
        status = line->way->hand_over(line, i, number);
    }
    return status ? status : await_streams();
}

/* What the kernels added up is what was filled in. */
static ferry_status check(bool spoil, bool *right) {
    ferry_status status = FERRY_OK;
    for (size_t number = 0; number < BUFFERS && !status; number++) {
        status = ferry_host_acquire(&all.sums[number].view, FERRY_READ);
        const double *sums = all.sums[number].view.data, want = content_sum(&all.filled[number]);
        double sum = spoil;
        for (size_t i = 0; i < SUM_BLOCKS && !status; i++)
            sum += sums[i];
        *right &= all.sparse || fabs(sum - want) <= 1e-12 * fabs(want);
    }
    return status;
}

static ferry_status one_round(size_t strategy, double *seconds, bool *right) {
    double begin = clock_seconds();
    ferry_status status = fill_and_consume(&lines[strategy]);
    if (status)
        return status;
    *seconds = clock_seconds() - begin;
    return check(turns_spoils(&strategies[strategy]), right);
}

/* The host's part alone, in memory that is there. */
static double fill_seconds(size_t bytes) {
    static struct samples samples;
    double *array = aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    samples.n = 0;
    for (int i = 0; i <= FILL_RUNS && array; i++) {
        double begin = now_seconds();
        content_overwrite(&all.content, array);
        if (i > 0) /* the first finds no pages */
            samples_add(&samples, now_seconds() - begin);
    }
    free(array);
    return samples_median(&samples);
}

/* All buffers filled without a pause, or all copied; each kernel is over before the next copy is. */
static ferry_status limit(const struct limits *limits, size_t bytes, struct turns_limit *limit) {
    take_size(bytes);
    *limit = (struct turns_limit){.crossing = BUFFERS * limits_crossing_seconds(limits, (double)bytes, 0)};
    limit->host = all.modelled ? 0 : BUFFERS * fill_seconds(bytes);
    limit->whole = fmax(limit->host, limit->crossing);
    return FERRY_OK;
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static const struct turns_suite suite = {
        .suite = &suite_producer,
        .name = "16 buffers",
        .strategies = strategies,
        .n = sizeof strategies / sizeof *strategies,
        .arrays = HELD,
        .besides_bytes = SUMS_BYTES,
        .times = BUFFERS,
        .largest_bytes = (size_t)256 << 20,
        .seconds = SECONDS,
        .start = start,
        .finish = finish,
        .limit = limit,
        .open = open,
        .close = close,
        .round = one_round,
    };
    return turns_run(&suite, options, message);
}

const struct suite suite_producer = {
    "producer",
    "The host fills sixteen buffers, of which there are two, and a kernel adds each up while the host is at the other: "
    "by copies from pageable and pinned memory, by pinned memory that the kernel reaches into, and under every policy; "
    "beside the longer of filling them and copying them.",
    "8G",
    false,
    run,
};
