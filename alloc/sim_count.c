#include "sim_machine.h"

void sim_count_move(const struct sim_work *work) {
    backend_measure *totals = &sim.totals;
    totals->bytes_to_device += work->to_device;
    totals->prefetched_bytes_to_device += work->to_device;
    totals->bytes_to_host += work->to_host + work->evicted;
    totals->prefetched_bytes_to_host += work->to_host;
    totals->bytes_between_devices += work->between;
}

void sim_count_kernel(const struct sim_work *work) {
    backend_measure *totals = &sim.totals;
    totals->bytes_to_device += work->faulted_to_device;
    totals->bytes_to_host += work->evicted;
    totals->bytes_between_devices += work->faulted_between + work->peer;
    totals->gpu_faults += work->gpu_faults;
    totals->remote_bytes_to_device += work->remote_read;
    totals->remote_bytes_to_host += work->remote_write;
}

ferry_status sim_trace_start(void) {
    sigset_t saved;
    sim_lock(&saved);
    bool refused = sim.tracing;
    if (!refused) {
        sim.tracing = true;
        sim.traced_from = sim.totals;
    }
    sim_unlock(&saved);
    return refused ? ferry_error(FERRY_INVALID_ARGUMENT, "tracing has started already") : FERRY_OK;
}

static backend_measure difference(const backend_measure *now, const backend_measure *then) {
    return (backend_measure){
        .bytes_to_device = now->bytes_to_device - then->bytes_to_device,
        .bytes_to_host = now->bytes_to_host - then->bytes_to_host,
        .prefetched_bytes_to_device = now->prefetched_bytes_to_device - then->prefetched_bytes_to_device,
        .prefetched_bytes_to_host = now->prefetched_bytes_to_host - then->prefetched_bytes_to_host,
        .bytes_between_devices = now->bytes_between_devices - then->bytes_between_devices,
        .gpu_faults = now->gpu_faults - then->gpu_faults,
        .cpu_faults = now->cpu_faults - then->cpu_faults,
        .remote_bytes_to_device = now->remote_bytes_to_device - then->remote_bytes_to_device,
        .remote_bytes_to_host = now->remote_bytes_to_host - then->remote_bytes_to_host,
        .has_remote = true,
    };
}

ferry_status sim_trace_read(backend_measure *out) {
    sigset_t saved;
    sim_lock(&saved);
    bool tracing = sim.tracing;
    backend_measure since = difference(&sim.totals, &sim.traced_from);
    sim_unlock(&saved);
    if (!tracing)
        return ferry_error(FERRY_INVALID_ARGUMENT, "tracing has not started");
    *out = since;
    return FERRY_OK;
}

ferry_status sim_trace_stop(void) {
    sigset_t saved;
    sim_lock(&saved);
    bool tracing = sim.tracing;
    sim.tracing = false;
    sim_unlock(&saved);
    return tracing ? FERRY_OK : ferry_error(FERRY_INVALID_ARGUMENT, "tracing has not started");
}
