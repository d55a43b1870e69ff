/* Counters, and their measurement. */
#ifndef FERRY_STATS_H
#define FERRY_STATS_H

#include "ferry/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(name, "what it counts"). Monotonic since the start or ferry_stats_reset, but for the three marked (gauge). Bytes
 * that crossed are the library's own account; while tracing, the first block is what was measured instead (CUPTI on
 * CUDA, the page tables on the simulator), less the remote part, which CUPTI cannot see and the library adds.
 */
#define FERRY_STATS_LIST(X)                                                                                            \
    X(bytes_to_device, "bytes that crossed from host to devices, migrated and remote")                                 \
    X(bytes_to_host, "bytes that crossed from devices to the host, migrated and remote")                               \
    X(prefetched_bytes_to_device, "the part of bytes_to_device moved by the library's prefetches")                     \
    X(prefetched_bytes_to_host, "the part of bytes_to_host moved by the library's prefetches")                         \
    X(bytes_between_devices, "bytes that moved from one device to another")                                            \
    X(gpu_faults, "groups of faults raised by kernels (measured only)")                                                \
    X(cpu_faults,                                                                                                      \
      "faults raised by the host on managed pages (measured only; CUPTI counts first touches of fresh blocks too)")    \
    X(measured, "1 while the figures above are measured, else 0 (gauge)")                                              \
    X(remote_bytes_to_device, "the part of bytes_to_device that kernels loaded across the bus")                        \
    X(remote_bytes_to_host, "the part of bytes_to_host that kernels stored across the bus")                            \
    X(discarded_bytes, "bytes placed without their contents because nobody needed them")                               \
    X(redundant_bytes, "bytes that crossed again in the same direction with no write in between, migrated or remote")  \
    X(prefetches_issued, "ranges given to the driver to prefetch")                                                     \
    X(prefetches_skipped, "operands that needed no prefetch because they were in place")                               \
    X(observations, "questions to the page tables about what the host touched by itself")                              \
    X(observed_bytes, "bytes that these found to have come home by the host's own touches")                            \
    X(launches, "kernels launched by the library or completed by its users")                                           \
    X(allocations, "blocks allocated")                                                                                 \
    X(frees, "blocks freed")                                                                                           \
    X(live_bytes, "bytes in live blocks (gauge)")                                                                      \
    X(peak_bytes, "the most that live_bytes has been")                                                                 \
    X(reserved_bytes, "address space in managed regions (gauge)")                                                      \
    X(modelled_ns, "the simulator's clock: nanoseconds that the modelled machine would have taken")

typedef struct ferry_stats {
#define FERRY_STATS_FIELD(name, text) uint64_t name;
    FERRY_STATS_LIST(FERRY_STATS_FIELD)
#undef FERRY_STATS_FIELD
} ferry_stats;

/* A consistent enough copy: each counter is exact once all threads are quiet. Fields are not synchronised with one
 * another. */
FERRY_API ferry_status ferry_stats_get(ferry_stats *out);
/* Sets the monotonic counters to 0 and the peak to what is live. */
FERRY_API ferry_status ferry_stats_reset(void);

/*
 * Starts measuring: CUPTI's unified-memory counters on CUDA (FERRY_UNSUPPORTED, with the reason, where CUPTI is absent
 * or refuses), the simulator's page tables there. The measured counters start at 0. Start before the work to be
 * measured; the first start costs tens of milliseconds. A second start is an error.
 */
FERRY_API ferry_status ferry_trace_start(void);
/* Waits for all devices, collects, stops. Figures go back to the library's own account. A stop without a start is an
 * error. */
FERRY_API ferry_status ferry_trace_stop(void);

#ifdef __cplusplus
}
#endif
#endif
