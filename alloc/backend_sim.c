/* The simulator's table, and its start. */
#include "backend_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim_stream.h"

struct sim_machine sim;

/* Without a choice: the tracker that system calls do not notice, where it is permitted. */
static ferry_status start_tracker(struct sim_config *config) {
    if (config->tracker)
        return config->tracker->start();
    config->tracker = &sim_tracker_userfaultfd;
    if (config->tracker->start() == FERRY_OK)
        return FERRY_OK;
    config->tracker = &sim_tracker_mprotect;
    return config->tracker->start();
}

static ferry_status open_machine(void) {
    if (atomic_load(&sim.open))
        return FERRY_OK;
    struct sim_config config;
    ferry_status status = sim_config_read(&config);
    if (!status)
        status = start_tracker(&config);
    if (status)
        return status;
    sim.config = config;
    atomic_store(&sim.open, true);
    return FERRY_OK;
}

static int device_count(void) {
    return atomic_load(&sim.open) ? sim.config.devices : 0;
}

static ferry_status device_get(int device, ferry_device_info *out) {
    ferry_status status = sim_device_check(device);
    if (status)
        return status;
    sigset_t saved;
    sim_lock(&saved);
    size_t used = sim.resident_pages[device] * FERRY_PAGE_BYTES;
    sim_unlock(&saved);
    *out = (ferry_device_info){
        .total_bytes = sim.config.device_bytes,
        .free_bytes = sim.config.device_bytes > used ? sim.config.device_bytes - used : 0,
        .concurrent_managed_access = sim.config.concurrent,
        .host_page_tables = sim.config.link->host_page_tables,
    };
    snprintf(out->name, sizeof out->name, "%s", sim.config.link->device);
    return FERRY_OK;
}

/* Kernels that are queued may still use the memory; the driver, too, waits for them. */
static ferry_status release(void *base, size_t bytes) {
    sim_queue_run_all();
    return sim_region_release(base, bytes);
}

/* A page that a device or nobody holds is not mapped for the host; one on the host is, whoever put it there. */
static ferry_status observe(const void *address, size_t n, unsigned char *present) {
    struct sim_span span;
    ferry_status status = sim_span_find(address, n * FERRY_PAGE_BYTES, &span);
    if (status)
        return status;
    if ((uintptr_t)address % FERRY_PAGE_BYTES)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%p is not the first byte of a page", address);
    sigset_t saved;
    sim_lock(&saved);
    sim_span_settle(&span);
    for (size_t i = 0; i < n; i++)
        present[i] = sim_page_place(&span.region->pages[span.first + i]) == FERRY_PLACE_HOST;
    sim.host_ns += sim_us_ns(sim.config.link->observe_us);
    sim_unlock(&saved);
    return FERRY_OK;
}

static ferry_status link_measure(int device, ferry_link_costs *out) {
    ferry_status status = sim_device_check(device);
    if (status)
        return status;
    if (!sim.config.concurrent)
        return ferry_error(FERRY_UNSUPPORTED, "without concurrent managed access there is no link to choose on");
    *out = sim_link_costs(sim.config.link);
    return FERRY_OK;
}

static bool take_unsynchronised(const void **address) {
    sigset_t saved;
    sim_lock(&saved);
    bool found = sim.hasty_count != 0;
    uintptr_t earliest = sim.hasty[sim.hasty_first];
    if (found) {
        sim.hasty_first = (sim.hasty_first + 1) % SIM_HASTY;
        sim.hasty_count--;
    }
    sim_unlock(&saved);
    if (found)
        *address = (const void *)earliest;
    return found;
}

static void *device_pointer(const void *address) {
    return sim_region_alias(address);
}

static uint64_t now_ns(void) {
    sigset_t saved;
    sim_lock(&saved);
    uint64_t ns = sim.host_ns;
    sim_unlock(&saved);
    return ns;
}

const backend backend_sim = {
    .name = "sim",
    .open = open_machine,
    .device_count = device_count,
    .device_get = device_get,
    .reserve = sim_region_reserve,
    .release = release,
    .move = sim_move,
    .stream_create = sim_stream_create,
    .stream_wrap = sim_stream_wrap,
    .stream_destroy = sim_stream_destroy,
    .stream_native = sim_stream_native,
    .stream_sync = sim_stream_sync,
    .stream_wait = sim_stream_wait,
    .event_create = sim_event_create,
    .event_destroy = sim_event_destroy,
    .event_record = sim_event_record,
    .event_query = sim_event_query,
    .event_sync = sim_event_sync,
    .kernel_load = sim_kernel_load,
    .kernel_set_host = sim_kernel_set_host,
    .kernel_unload = sim_kernel_unload,
    .kernel_launch = sim_kernel_launch,
    .touch = sim_touch,
    .observe = observe,
    .link_measure = link_measure,
    .take_unsynchronised = take_unsynchronised,
    .device_pointer = device_pointer,
    .trace_start = sim_trace_start,
    .trace_read = sim_trace_read,
    .trace_stop = sim_trace_stop,
    .now_ns = now_ns,
};

ferry_place backend_sim_page_place(const void *address) {
    struct sim_span span;
    if (!sim_region_find(address) || sim_span_find(address, 1, &span))
        return FERRY_PLACE_HOST;
    sigset_t saved;
    sim_lock(&saved);
    sim_span_settle(&span);
    ferry_place place = sim_page_place(&span.region->pages[span.first]);
    sim_unlock(&saved);
    return place;
}

static uint64_t read_locked(const uint64_t *value) {
    sigset_t saved;
    sim_lock(&saved);
    uint64_t copy = *value;
    sim_unlock(&saved);
    return copy;
}

uint64_t backend_sim_unsynchronised(void) {
    return read_locked(&sim.unsynchronised);
}

bool backend_sim_tells_stores(void) {
    return sim.tells_stores;
}

uint64_t backend_sim_pending(void) {
    return read_locked(&sim.pending);
}

backend_measure backend_sim_totals(void) {
    sigset_t saved;
    sim_lock(&saved);
    backend_measure totals = sim.totals;
    sim_unlock(&saved);
    totals.has_remote = true;
    return totals;
}

const char *backend_sim_touch_tracking(void) {
    return sim.config.tracker->name;
}
