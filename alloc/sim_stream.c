#include "sim_stream.h"

#include <stdlib.h>

ferry_status sim_device_check(int device) {
    if (device < 0 || device >= sim.config.devices)
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d, only %d of them", device,
                           sim.config.devices);
    return FERRY_OK;
}

void sim_host_reach(uint64_t ns) {
    if (sim.host_ns < ns)
        sim.host_ns = ns;
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Occupies one direction of a link, which is busy until then, at the end of work that ends at `end` or later. */
static uint64_t occupy(const uint64_t *busy_ns, uint64_t end, uint64_t link_ns) {
    return link_ns ? later(end, *busy_ns + link_ns) : end;
}

void sim_stream_extend(backend_stream *stream, const struct sim_cost *cost) {
    struct sim_busy *busy = &sim.busy[stream->device];
    uint64_t end = later(stream->line_ns, sim.host_ns) + cost->ns;
    end = occupy(&busy->to_device_ns, end, cost->to_device_ns);
    end = occupy(&busy->to_host_ns, end, cost->to_host_ns);
    if (cost->to_device_ns)
        busy->to_device_ns = end;
    if (cost->to_host_ns)
        busy->to_host_ns = end;
    stream->line_ns = end;
}

/* When the host, waiting for all that has been issued, goes on. */
static uint64_t seen(const backend_stream *stream) {
    return later(stream->line_ns, stream->seen_ns);
}

ferry_status sim_stream_create(int device, backend_stream **out) {
    ferry_status status = sim_device_check(device);
    if (status)
        return status;
    backend_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a stream");
    stream->device = device;
    stream->launched_ns = UINT64_MAX;
    sigset_t saved;
    sim_lock(&saved);
    stream->next = sim.streams;
    sim.streams = stream;
    sim_unlock(&saved);
    *out = stream;
    return FERRY_OK;
}

ferry_status sim_stream_wrap(int device, void *native, backend_stream **out) {
    (void)device, (void)native, (void)out;
    return ferry_error(FERRY_UNSUPPORTED, "the simulator has no streams of anybody else's to wrap");
}

void sim_stream_destroy(backend_stream *stream) {
    if (!stream)
        return;
    sim_queue_run(stream, UINT64_MAX);
    sigset_t saved;
    sim_lock(&saved);
    backend_stream **link = &sim.streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    sim_unlock(&saved);
    free(stream);
}

void *sim_stream_native(backend_stream *stream) {
    (void)stream;
    return NULL;
}

ferry_status sim_stream_sync(backend_stream *stream) {
    sigset_t saved;
    sim_lock(&saved);
    uint64_t number = sim_queue_number(), seen_ns = seen(stream);
    sim_unlock(&saved);
    sim_queue_run(stream, number);
    sim_lock(&saved);
    sim_host_reach(seen_ns);
    sim_unlock(&saved);
    return FERRY_OK;
}

ferry_status sim_stream_wait(backend_stream *stream, backend_event *event) {
    struct sim_operation *operation = sim_operation_create(SIM_WAIT, 0);
    if (!operation)
        return FERRY_OUT_OF_MEMORY;
    sigset_t saved;
    sim_lock(&saved);
    struct sim_record *record = event->record;
    if (record && stream->line_ns < record->time_ns)
        stream->line_ns = record->time_ns;
    bool needed = record && !record->done;
    if (needed) {
        record->references++;
        operation->record = record;
        sim_queue_push(stream, operation);
    }
    sim_unlock(&saved);
    if (!needed)
        free(operation);
    return FERRY_OK;
}

ferry_status sim_event_create(int device, backend_event **out) {
    ferry_status status = sim_device_check(device);
    if (status)
        return status;
    backend_event *event = calloc(1, sizeof *event);
    if (!event)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an event");
    *out = event;
    return FERRY_OK;
}

void sim_event_destroy(backend_event *event) {
    if (!event)
        return;
    sim_record_release(event->record);
    free(event);
}

ferry_status sim_event_record(backend_event *event, backend_stream *stream) {
    struct sim_operation *operation = sim_operation_create(SIM_RECORD, 0);
    if (!operation)
        return FERRY_OUT_OF_MEMORY;
    struct sim_record *record = malloc(sizeof *record);
    if (!record) {
        free(operation);
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to record an event");
    }
    operation->record = record;
    sigset_t saved;
    sim_lock(&saved);
    sim_stream_extend(stream, &(struct sim_cost){0});
    *record =
        (struct sim_record){.references = 2, .time_ns = stream->line_ns, .seen_ns = seen(stream), .stream = stream};
    struct sim_record *former = event->record;
    event->record = record;
    sim_queue_push(stream, operation);
    sim_unlock(&saved);
    sim_record_release(former);
    return FERRY_OK;
}

/* The event's latest record, with a reference for the caller; NULL when it was never recorded. */
static struct sim_record *latest(const backend_event *event) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_record *record = event->record;
    if (record)
        record->references++;
    sim_unlock(&saved);
    return record;
}

/* Gives the reference back; whether the record was done, in which case the host has seen it. */
static bool observe(struct sim_record *record) {
    sigset_t saved;
    sim_lock(&saved);
    bool done = record->done;
    if (done)
        sim_host_reach(record->seen_ns);
    sim_unlock(&saved);
    sim_record_release(record);
    return done;
}

ferry_status sim_event_query(backend_event *event, bool *done) {
    struct sim_record *record = latest(event);
    if (record)
        sim_queue_advance(record);
    *done = !record || observe(record);
    return FERRY_OK;
}

ferry_status sim_event_sync(backend_event *event) {
    struct sim_record *record = latest(event);
    if (!record)
        return FERRY_OK;
    sim_queue_finish(record);
    observe(record);
    return FERRY_OK;
}
