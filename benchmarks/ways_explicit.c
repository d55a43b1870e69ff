/* Ways without the library: what CUDA programs do. */
#include <string.h>

#include "explicit.h"
#include "ways.h"

#define CHUNKS 16 /* of an array that is copied in chunks, unless they would be smaller or larger than */
#define CHUNK_LEAST_BYTES ((size_t)512 << 10) /* what takes as long to cross as to ask for */
#define CHUNK_MOST_BYTES ((size_t)16 << 20)
#define PAGE_BYTES ((size_t)4096)

enum { X, Y, ARRAYS };

/* Memory of one size that the explicit ways share: each fills x anew in its round. */
static struct {
    size_t bytes;
    int users;
    double *host[2][ARRAYS]; /* pageable, pinned */
    double *device[ARRAYS];
    struct content contents[2];
} buffers;

static ferry_stream *streams[WAYS_STREAMS];

static ferry_status failed(void) {
    return ferry_error(FERRY_BACKEND, "a call of CUDA's failed");
}

ferry_status ways_explicit_start(void) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < WAYS_STREAMS && !status; i++)
        status = ferry_stream_create(0, &streams[i]);
    return status;
}

void ways_explicit_finish(void) {
    for (int i = 0; i < WAYS_STREAMS; i++) {
        ferry_stream_destroy(streams[i]);
        streams[i] = NULL;
    }
}

static void close_buffers(void) {
    for (int array = 0; array < ARRAYS; array++) {
        for (int pinned = 0; pinned < 2; pinned++)
            explicit_host_free(buffers.host[pinned][array], pinned);
        explicit_device_free(buffers.device[array]);
    }
    memset(&buffers, 0, sizeof buffers);
}

static bool open_buffers(const struct trip *trip) {
    bool worked = true;
    for (int array = 0; array < (trip->kernel == WAY_LOG ? 2 : 1) && worked; array++) {
        for (int pinned = 0; pinned < 2; pinned++)
            buffers.host[pinned][array] = explicit_host_allocate(trip->bytes, pinned);
        buffers.device[array] = explicit_device_allocate(trip->bytes);
        worked = buffers.host[0][array] && buffers.host[1][array] && buffers.device[array];
    }
    for (int pinned = 0; pinned < 2; pinned++)
        buffers.contents[pinned] = content_new(trip->n, false);
    /* The copies on the device are shared: what one way left there must not be right for another. */
    buffers.contents[1].shift = 2;
    buffers.bytes = trip->bytes;
    return worked;
}

static ferry_status open_explicit(struct trip *trip) {
    if (buffers.users++ == 0 && !open_buffers(trip))
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for explicit copies of %zu bytes", trip->bytes);
    int pinned = trip->way->pinned, last = trip->kernel == WAY_LOG ? Y : X;
    trip->host_x = buffers.host[pinned][X];
    trip->host_y = buffers.host[pinned][last];
    trip->device_x = buffers.device[X];
    trip->device_y = buffers.device[last];
    trip->content = &buffers.contents[pinned];
    return FERRY_OK;
}

static void close_explicit(struct trip *trip) {
    (void)trip;
    if (--buffers.users == 0)
        close_buffers();
}

/* It is the host's all the time, but while a round's copies and kernel last. */
static ferry_status host_has(struct trip *trip, bool y, ferry_access access) {
    (void)trip, (void)y, (void)access;
    return FERRY_OK;
}

static ferry_status enqueue(const struct trip *trip, double *x, double *y, size_t n, ferry_stream *stream) {
    return trip->kernel == WAY_LOG ? bench_enqueue_log(ways_kernels(), x, y, n, stream)
                                   : bench_enqueue_negate(ways_kernels(), x, n, stream);
}

/* Elements [first, first + n) in, over, and out. */
static ferry_status copy_and_go_over(const struct trip *trip, size_t first, size_t n, ferry_stream *stream) {
    void *native = ferry_stream_native(stream);
    if (!explicit_copy(trip->device_x + first, trip->host_x + first, n * sizeof(double), native))
        return failed();
    ferry_status status = enqueue(trip, trip->device_x + first, trip->device_y + first, n, stream);
    if (status)
        return status;
    return explicit_copy(trip->host_y + first, trip->device_y + first, n * sizeof(double), native) ? FERRY_OK
                                                                                                   : failed();
}

static ferry_status copy_whole(struct trip *trip) {
    ferry_status status = copy_and_go_over(trip, 0, trip->n, NULL);
    return status || explicit_wait(ferry_stream_native(NULL)) ? status : failed();
}

static size_t chunk_elements(const struct trip *trip) {
    size_t bytes = (trip->bytes / CHUNKS + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    bytes = bytes < CHUNK_LEAST_BYTES ? CHUNK_LEAST_BYTES : bytes;
    return (bytes < CHUNK_MOST_BYTES ? bytes : CHUNK_MOST_BYTES) / sizeof(double);
}

/* One chunk's way out goes on beside the next one's way in. */
static ferry_status copy_in_chunks(struct trip *trip) {
    size_t chunk = chunk_elements(trip), number = 0;
    ferry_status status = FERRY_OK;
    for (size_t first = 0; first < trip->n && !status; first += chunk, number++)
        status = copy_and_go_over(trip, first, first + chunk < trip->n ? chunk : trip->n - first,
                                  streams[number % WAYS_STREAMS]);
    for (int i = 0; i < WAYS_STREAMS && !status; i++)
        status = explicit_wait(ferry_stream_native(streams[i])) ? FERRY_OK : failed();
    return status;
}

static ferry_status open_zero_copy(struct trip *trip) {
    ferry_status status = open_explicit(trip);
    if (status)
        return status;
    trip->device_x = explicit_mapped(trip->host_x);
    trip->device_y = explicit_mapped(trip->host_y);
    return trip->device_x && trip->device_y ? FERRY_OK : failed();
}

static ferry_status reach_across(struct trip *trip) {
    ferry_status status = enqueue(trip, trip->device_x, trip->device_y, trip->n, NULL);
    return status || explicit_wait(ferry_stream_native(NULL)) ? status : failed();
}

static ferry_status open_read_mostly(struct trip *trip) {
    trip->host_x = trip->device_x = explicit_managed_allocate(trip->bytes, true);
    trip->host_y = trip->device_y = explicit_managed_allocate(trip->bytes, false);
    return trip->host_x && trip->host_y ? FERRY_OK : failed();
}

static void close_read_mostly(struct trip *trip) {
    explicit_managed_free(trip->host_x);
    explicit_managed_free(trip->host_y);
}

static ferry_status prefetch_by_hand(struct trip *trip) {
    void *stream = ferry_stream_native(NULL);
    if (!explicit_prefetch(trip->host_x, trip->bytes, true, stream) ||
        !explicit_prefetch(trip->host_y, trip->bytes, true, stream))
        return failed();
    ferry_status status = enqueue(trip, trip->device_x, trip->device_y, trip->n, NULL);
    if (status)
        return status;
    bool worked = explicit_prefetch(trip->host_y, trip->bytes, false, stream) && explicit_wait(stream);
    return worked ? FERRY_OK : failed();
}

#define EXPLICIT_WAY .host_takes = host_has, .open = open_explicit, .close = close_explicit
const struct way way_pageable = {EXPLICIT_WAY, .device_takes = copy_whole};
const struct way way_pinned = {EXPLICIT_WAY, .device_takes = copy_whole, .pinned = true};
const struct way way_pipelined = {EXPLICIT_WAY, .device_takes = copy_in_chunks, .pinned = true};
const struct way way_zero_copy = {.host_takes = host_has,
                                  .open = open_zero_copy,
                                  .close = close_explicit,
                                  .device_takes = reach_across,
                                  .pinned = true};
const struct way way_read_mostly = {
    .host_takes = host_has, .open = open_read_mostly, .close = close_read_mostly, .device_takes = prefetch_by_hand};
