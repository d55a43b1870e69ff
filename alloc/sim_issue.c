/* Moves, launches and touches: what they do to places and clocks at once, and what they queue. */
#include <stdlib.h>
#include <string.h>

#include "sim_stream.h"

struct backend_kernel {
    _Atomic(ferry_host_kernel) host; /* NULL: a machine code image only */
};

static ferry_status check_move(const backend_move *move, ferry_place to) {
    if (((uintptr_t)move->address | move->bytes) % FERRY_PAGE_BYTES)
        return ferry_error(FERRY_INVALID_ARGUMENT, "a move of %zu bytes at %p does not begin and end on pages",
                           move->bytes, move->address);
    if (move->to != to)
        return ferry_error(FERRY_INVALID_ARGUMENT, "one call moves to %d and to %d", to, move->to);
    return to == FERRY_PLACE_HOST ? FERRY_OK : sim_device_check(to);
}

static ferry_status find_moves(const backend_move *moves, size_t n, struct sim_span *spans) {
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < n && !status; i++) {
        status = check_move(&moves[i], moves[0].to);
        if (!status)
            status = sim_span_find(moves[i].address, moves[i].bytes, &spans[i]);
    }
    return status;
}

/* Whether the host's touches of the range have to be noticed from now on. */
static bool guards(const backend_move *move) {
    return move->to != FERRY_PLACE_HOST || move->kind == BACKEND_DISCARD_PREFETCH;
}

static bool guard_moves(const backend_move *moves, size_t n, const struct sim_span *spans) {
    for (size_t i = 0; i < n; i++)
        if (guards(&moves[i]) && !sim_span_guard(&spans[i])) {
            for (size_t j = 0; j < i; j++)
                sim_span_unguard(&spans[j]);
            return false;
        }
    return true;
}

static void place_moves(const backend_move *moves, size_t n, const struct sim_span *spans, struct sim_work *work) {
    sim.tick++;
    for (size_t i = 0; i < n; i++) {
        uint64_t settled = work->settled;
        sim_span_settle(&spans[i]);
        sim_span_move(&spans[i], &moves[i], work);
        work->ranges += work->settled - settled < sim_span_bytes(&spans[i]);
        if (moves[i].kind == BACKEND_DISCARD_PREFETCH)
            sim_span_pend(&spans[i]);
        sim_span_unguard(&spans[i]);
    }
}

/* A call that prefetches home returns when the pages are mapped. */
static void time_move(const struct sim_work *work, ferry_place to, backend_stream *stream) {
    sim.host_ns += sim_us_ns(sim.config.link->call_us);
    struct sim_cost cost = sim_link_move_cost(sim.config.link, work);
    sim_stream_extend(stream, &cost);
    if (to == FERRY_PLACE_HOST)
        sim_host_reach(stream->line_ns);
}

/* Keeps the spans that something has to happen to later; pushes the operation unless there are none. */
static bool push_discards(const backend_move *moves, size_t n, struct sim_operation *operation,
                          backend_stream *stream) {
    for (size_t i = 0; i < n; i++)
        if (moves[i].kind == BACKEND_DISCARD_PREFETCH)
            operation->spans[operation->span_count++] = operation->spans[i];
    if (operation->span_count)
        sim_queue_push(stream, operation);
    return operation->span_count != 0;
}

static ferry_status move_spans(const backend_move *moves, size_t n, struct sim_operation *operation,
                               backend_stream *stream, bool *kept) {
    struct sim_work work = {0};
    sigset_t saved;
    sim_lock(&saved);
    bool guarded = guard_moves(moves, n, operation->spans);
    if (guarded) {
        place_moves(moves, n, operation->spans, &work);
        sim_count_move(&work);
        time_move(&work, moves[0].to, stream);
        *kept = push_discards(moves, n, operation, stream);
    }
    sim_unlock(&saved);
    if (!guarded)
        return ferry_error(FERRY_BACKEND,
                           "the system refuses to guard the pages of a move; vm.max_map_count limits it");
    return FERRY_OK;
}

ferry_status sim_move(const backend_move *moves, size_t n, backend_stream *stream) {
    if (!sim.config.concurrent)
        return ferry_error(FERRY_UNSUPPORTED, "without concurrent managed access nothing is prefetched");
    if (n == 0)
        return FERRY_OK;
    struct sim_operation *operation = sim_operation_spans(SIM_DISCARD, n);
    if (!operation)
        return FERRY_OUT_OF_MEMORY;
    bool kept = false;
    ferry_status status = find_moves(moves, n, operation->spans);
    if (!status)
        status = move_spans(moves, n, operation, stream, &kept);
    if (!kept)
        free(operation);
    return status;
}

static ferry_status find_touches(const backend_touch *touches, size_t n, struct sim_span *spans) {
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = sim_span_find(touches[i].address, touches[i].bytes, &spans[i]);
    return status;
}

/* The pages that the touch uses entirely: a page may be shared with a neighbour, which the host may use meanwhile. */
static struct sim_span whole_pages(const struct sim_span *span, const backend_touch *touch) {
    uintptr_t from = (uintptr_t)touch->address, to = from + touch->bytes;
    struct sim_span whole = *span;
    if (from % FERRY_PAGE_BYTES) {
        whole.first++;
        whole.count--;
    }
    if (to % FERRY_PAGE_BYTES && whole.count)
        whole.count--;
    return whole;
}

/* Used pages are guarded until the kernel has run. A refusal to guard makes touches go unnoticed. */
static void pend_use(const struct sim_span *span, const backend_touch *touch, struct sim_operation *operation) {
    struct sim_span whole = whole_pages(span, touch);
    whole.only_read = touch->access == FERRY_READ;
    if (!whole.count || (whole.only_read && !sim.config.concurrent))
        return;
    if (whole.only_read)
        sim_span_guard_stores(&whole);
    else if (span->region->homed)
        sim_span_guard(&whole);
    sim_span_pend(&whole);
    operation->spans[operation->span_count++] = whole;
}

/* Kernels' faults take their pages to the device; host-homed pages stay where they are. */
static void touch_spans(const backend_touch *touches, size_t n, struct sim_operation *operation, backend_stream *stream,
                        struct sim_work *work) {
    sim.tick++;
    for (size_t i = 0; i < n; i++) {
        struct sim_span span = operation->spans[i];
        sim_span_settle(&span);
        if (!span.region->homed)
            sim_span_guard(&span);
        sim_kernel_touch(&span, &touches[i], stream->device, work);
        pend_use(&span, &touches[i], operation);
    }
}

/* With the lock held. */
static void account_kernel(struct sim_work *work, backend_stream *stream) {
    if (!sim.config.concurrent)
        work->gpu_faults = 0;
    sim_count_kernel(work);
    struct sim_cost cost = sim_link_kernel_cost(sim.config.link, work);
    sim_stream_extend(stream, &cost);
    if (stream->launched_ns == sim.host_ns)
        stream->seen_ns = stream->line_ns + sim_us_ns(sim.config.link->seen_us);
}

/* With the lock held: the call, and the kernel but for what it uses, which is issued next. */
static void time_launch(backend_stream *stream) {
    const struct sim_link *link = sim.config.link;
    sim.host_ns += sim_us_ns(link->launch_us);
    sim_stream_extend(stream, &(struct sim_cost){.ns = sim_us_ns(link->kernel_us)});
    stream->launched_ns = sim.host_ns;
    stream->gone_over = false;
    stream->seen_ns = stream->line_ns + sim_us_ns(link->seen_us);
}

/* With the lock held. */
static void go_over(struct sim_work *work, backend_stream *stream) {
    if (stream->launched_ns == sim.host_ns && stream->gone_over) {
        work->cached = work->local;
        work->local = 0;
    }
    stream->gone_over = true;
}

static bool touch_and_push(const backend_touch *touches, size_t n, struct sim_operation *operation,
                           backend_stream *stream) {
    struct sim_work work = {0};
    sigset_t saved;
    sim_lock(&saved);
    touch_spans(touches, n, operation, stream, &work);
    go_over(&work, stream);
    account_kernel(&work, stream);
    bool kept = operation->span_count != 0;
    if (kept)
        sim_queue_push(stream, operation);
    sim_unlock(&saved);
    return kept;
}

ferry_status sim_touch(const backend_touch *touches, size_t n, backend_stream *stream) {
    struct sim_operation *operation = sim_operation_spans(SIM_USE, n);
    if (!operation)
        return FERRY_OUT_OF_MEMORY;
    ferry_status status = find_touches(touches, n, operation->spans);
    if (status || !touch_and_push(touches, n, operation, stream))
        free(operation);
    return status;
}

ferry_status sim_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                             backend_kernel **out) {
    (void)image, (void)bytes, (void)name;
    backend_kernel *kernel = malloc(sizeof *kernel);
    if (!kernel)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel");
    atomic_init(&kernel->host, host);
    *out = kernel;
    return FERRY_OK;
}

ferry_status sim_kernel_set_host(backend_kernel *kernel, ferry_host_kernel host) {
    atomic_store(&kernel->host, host);
    return FERRY_OK;
}

void sim_kernel_unload(backend_kernel *kernel) {
    free(kernel);
}

static size_t padded(size_t bytes) {
    return (bytes + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

/* The values, and before them the pointers to them. */
static struct sim_operation *copy_launch(const ferry_grid *grid, void *const *args, const size_t *sizes, size_t n) {
    size_t pointers = padded(n * sizeof(void *)), bytes = pointers;
    for (size_t i = 0; i < n; i++)
        bytes += padded(sizes[i]);
    struct sim_operation *operation = sim_operation_create(SIM_KERNEL, bytes);
    if (!operation)
        return NULL;
    operation->grid = *grid;
    operation->args = (void **)(void *)operation->extra;
    unsigned char *value = operation->extra + pointers;
    for (size_t i = 0; i < n; i++) {
        operation->args[i] = memcpy(value, args[i], sizes[i]);
        value += padded(sizes[i]);
    }
    return operation;
}

ferry_status sim_kernel_launch(backend_kernel *kernel, const ferry_grid *grid, void *const *args, const size_t *sizes,
                               size_t n, backend_stream *stream) {
    ferry_host_kernel host = atomic_load(&kernel->host);
    if (!host)
        return ferry_error(FERRY_UNSUPPORTED, "the kernel has no host function for the simulator to run");
    struct sim_operation *operation = copy_launch(grid, args, sizes, n);
    if (!operation)
        return FERRY_OUT_OF_MEMORY;
    operation->host = host;
    struct sim_work work = {0};
    sigset_t saved;
    sim_lock(&saved);
    if (!sim.config.concurrent)
        sim_launch_all(stream->device, &work);
    time_launch(stream);
    account_kernel(&work, stream);
    sim_queue_push(stream, operation);
    sim_unlock(&saved);
    return FERRY_OK;
}
