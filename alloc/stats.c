#include <string.h>

#include "core.h"
#include "counters.h"
#include "deferred.h"
#include "link.h"
#include "region.h"
#include "stream.h"
#include "thread.h"

struct counters counters;

static _Atomic size_t large_live_bytes, small_live_bytes; /* the second as of the last look */
static bool tracing;                                      /* movement lock */

/* What monotonic figures that are kept elsewhere were at the last reset. */
static _Atomic uint64_t allocations_before, frees_before, modelled_before_ns;

static uint64_t modelled_now_ns(void) {
    return !core_forked() && strcmp(core.backend->name, "sim") == 0 ? core.backend->now_ns() : 0;
}

static void raise_peak(uint64_t live_bytes) {
    uint64_t peak = atomic_load_explicit(&counters.peak_bytes, memory_order_relaxed);
    while (live_bytes > peak && !atomic_compare_exchange_weak(&counters.peak_bytes, &peak, live_bytes)) {
    }
}

void count_large_block(size_t bytes, bool allocated) {
    if (allocated) {
        const size_t large = atomic_fetch_add_explicit(&large_live_bytes, bytes, memory_order_relaxed) + bytes;
        raise_peak(large + atomic_load_explicit(&small_live_bytes, memory_order_relaxed));
    } else {
        atomic_fetch_sub_explicit(&large_live_bytes, bytes, memory_order_relaxed);
    }
}

size_t count_live_bytes(void) {
    uint64_t allocations, frees, sum;
    thread_counts_sum(&allocations, &frees, &sum);
    /* While threads are busy, a block may be seen freed by one that was not yet seen allocated by another. */
    const size_t small = (int64_t)sum < 0 ? 0 : (size_t)sum;
    atomic_store_explicit(&small_live_bytes, small, memory_order_relaxed);
    const size_t live = small + atomic_load_explicit(&large_live_bytes, memory_order_relaxed);
    raise_peak(live);
    return live;
}

static void take_measure(ferry_stats *stats, const backend_measure *measure) {
    const uint64_t remote_in = measure->has_remote ? measure->remote_bytes_to_device : stats->remote_bytes_to_device;
    const uint64_t remote_out = measure->has_remote ? measure->remote_bytes_to_host : stats->remote_bytes_to_host;
    stats->bytes_to_device = measure->bytes_to_device + remote_in;
    stats->bytes_to_host = measure->bytes_to_host + remote_out;
    stats->prefetched_bytes_to_device = measure->prefetched_bytes_to_device;
    stats->prefetched_bytes_to_host = measure->prefetched_bytes_to_host;
    stats->bytes_between_devices = measure->bytes_between_devices;
    stats->gpu_faults = measure->gpu_faults;
    stats->cpu_faults = measure->cpu_faults;
    stats->remote_bytes_to_device = remote_in;
    stats->remote_bytes_to_host = remote_out;
    stats->measured = 1;
}

ferry_status ferry_stats_get(ferry_stats *out) {
    const ferry_status started = core_start();
    if (started != FERRY_OK) {
        return started;
    }
    ferry_stats stats;
    const uint64_t live = count_live_bytes();
#define READ(name, text) stats.name = atomic_load_explicit(&counters.name, memory_order_relaxed);
    FERRY_STATS_LIST(READ)
#undef READ
    uint64_t small;
    thread_counts_sum(&stats.allocations, &stats.frees, &small);
    stats.allocations -= allocations_before;
    stats.frees -= frees_before;
    stats.live_bytes = live;
    stats.reserved_bytes = region_reserved_bytes();
    if (core_forked()) {
        *out = stats;
        return FERRY_OK;
    }
    stats.modelled_ns = modelled_now_ns() - modelled_before_ns;
    movement_lock();
    backend_measure measure;
    const ferry_status status = tracing ? core.backend->trace_read(&measure) : FERRY_OK;
    if (tracing && status == FERRY_OK) {
        take_measure(&stats, &measure);
    }
    movement_unlock();
    if (status == FERRY_OK) {
        *out = stats;
    }
    return status;
}

ferry_status ferry_stats_reset(void) {
    const ferry_status started = core_start();
    if (started != FERRY_OK) {
        return started;
    }
    movement_lock();
#define CLEAR(name, text) atomic_store_explicit(&counters.name, 0, memory_order_relaxed);
    FERRY_STATS_LIST(CLEAR)
#undef CLEAR
    movement_unlock();
    uint64_t allocations, frees, small;
    thread_counts_sum(&allocations, &frees, &small);
    atomic_store_explicit(&allocations_before, allocations, memory_order_relaxed);
    atomic_store_explicit(&frees_before, frees, memory_order_relaxed);
    atomic_store_explicit(&modelled_before_ns, modelled_now_ns(), memory_order_relaxed);
    count_live_bytes();
    return FERRY_OK;
}

/* A link that is first asked about while measuring would be calibrated then, and its bytes measured as the program's.
 */
static void know_links(void) {
    for (int device = 0; device < core.devices; device++) {
        (void)link_costs(device);
    }
}

ferry_status ferry_trace_start(void) {
    const ferry_status started = core_start_device();
    if (started != FERRY_OK) {
        return started;
    }
    movement_lock();
    ferry_status status = FERRY_OK;
    if (tracing) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "measuring has been started already");
    } else {
        know_links();
        status = core.backend->trace_start();
        tracing = status == FERRY_OK;
    }
    movement_unlock();
    return status;
}

ferry_status ferry_trace_stop(void) {
    const ferry_status started = core_start_device();
    if (started != FERRY_OK) {
        return started;
    }
    movement_lock();
    ferry_status status = FERRY_OK;
    if (!tracing) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "measuring has not been started");
    } else {
        (void)stream_wait_for_all();
        status = core.backend->trace_stop();
        tracing = false;
    }
    movement_unlock();
    return status;
}
