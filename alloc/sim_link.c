#include "sim_link.h"

#include <stdio.h>
#include <string.h>

/*
 * Where the figures come from.
 *
 * measured: on H200s, PCIe 5 x16, driver 580, CUDA 13.0. Most are differences between epochs of the suite `reuse`
 * (benchmarks/results/h200/reuse.json) that differ in strategy, action or passes only:
 *
 * - prefetch_to_device, remote_…: 1 GiB. Coming home is what differs most from day to day, 62 to 128 ms per GiB; in
 *   that file it is 105 to 120 for 64 MiB, and 60 to 75 for 1 GiB. discard_to_host_ms likewise: 119, and 50 to 90.
 * - start_…: what 64 KiB take beside their bytes. further_…: sixteen elements of an array, a page each, take 95 µs each
 *   to be brought home and placed again, whether they lie in one block or in sixteen.
 * - launch_us: a launch takes the host 4.6 µs with the library's own work (placement.json); seen_us: an elementwise
 *   kernel on one page at home 12.5 µs until the host has its result (the same). remote_us: from afar it takes 1.0 to
 *   1.6 µs longer than on the device.
 * - device_memory: logarithms of 1 GiB 4.04 TB/s, negated in place 4.18, added up 4.45.
 * - second_us, gpu_few_us: the suite `transfer` (benchmarks/results/h200/transfer.json). With y discarded, a second
 *   call on the stream that brings x, 64 KiB to 4 MiB take 56 to 156 µs longer than with y brought by the same call;
 *   and 4 and 16 KiB under the policy `none` 79 and 84 µs beside the host's faults and the launch.
 * - fault_…, gpu_…_us, cpu_fault_us: 64 KiB, 1 MiB, and 64 MiB whole or sixteen pages of it, under the policy `none`.
 *   One thread that faulted 1 GiB home took 126 to 254 ms on several days, 152 and 193 in the first measurements;
 *   kernels that faulted 1 GiB in took 192 ms then, 110 in that file.
 *
 * wave_bytes: threads that a device holds at once, by its data sheet, times the 16 bytes that each loads before it
 * stores. Such a wave's loads and stores do not overlap: 1 MiB read and written takes 40 µs, the sum of both, 64 MiB
 * hardly more than the larger.
 *
 * derived: from the measured row. The time of a byte that the driver moves is the link's, which a pinned copy shows (55
 * GB/s there, each way), and the driver's own, which does not depend on the link: 1 / rate = 1 / measured - 1 / 55 + 1
 * / copy. Kernels from afar reach the same share of the copy's rate as measured: read 51/55, write 53/55, both 84/55.
 *
 * measured: fill_host_ms is what a prefetch home of never-touched pages takes (256 MiB in 45 ms); a kernel's own first
 * touches of them took 220 to 390, which is not modelled apart.
 */

/* The driver's and the host's own costs, as measured. */
#define DRIVER_COSTS                                                                                                   \
    .fill_device_ms = 5.1, .discard_to_device_ms = 7.0, .settled_ms = 1.205, .call_us = 3.7, .start_to_device_us = 22, \
    .start_to_host_us = 40, .further_to_device_us = 30, .further_to_host_us = 70, .launch_us = 4.6, .kernel_us = 2.5,  \
    .seen_us = 3.9, .remote_us = 1.4, .second_us = 80, .gpu_few_us = 80, .gpu_fault_us = 130, .gpu_replay_us = 130,    \
    .gpu_group_us = 60, .cpu_fault_us = 8, .observe_us = 0.4

/* Stores are posted: a kernel ends when the last of them have so far to go. The host learns of it after they arrive. */
#define POSTED_NS 1200
/* What a launch goes over again comes from the device's cache: a product of 64 MiB matrices in tiles of 64 by 64 does
 * at 7.2 TB/s where the memory does 4.1. */
#define CACHE_TIMES 1.75
#define REPLAY_BYTES 65536 /* pages that are faulted on together are served together */
#define FEW_BYTES 32768    /* and so few by one look at them */
#define QUEUED_BYTES 65536 /* so long is a prefetch on its way that the driver puts off the call after it */

static const struct sim_link links[] = {
    /* All measured. */
    {
        .name = "h200-pcie5",
        .device = "simulated H200 (PCIe 5)",
        .concurrent = true,
        .prefetch_to_device = 50,
        .prefetch_to_host = 10.2,
        .between_devices = 136,
        .remote_read = 51,
        .remote_write = 53,
        .remote_both = 84,
        .device_memory = 4100,
        .wave_bytes = 132 * 2048 * 16,
        .fault_to_device = 14,
        .fault_to_host = 9,
        .fill_host_ms = 180,
        .discard_to_host_ms = 110,
        DRIVER_COSTS,
    },
    /*
     * Published for A100s by PCIe 4 x16: copies 25 GB/s each way (NVIDIA/nvbandwidth, issues 11 and 53) and 24 + 12 at
     * once (the same), which bounds remote_both; kernels loading from pinned memory 25.1 (issue 42); between cards
     * without NVLink 22 to 26 (issue 50, A6000); copying in the memory of the 40 GB card 1,355, of 1,555 in the data
     * sheet (PTsolvers/gpu-workshop-JuliaCon23, issue 7). The rest is derived.
     */
    {
        .name = "a100-pcie4",
        .device = "simulated A100 (PCIe 4)",
        .concurrent = true,
        .prefetch_to_device = 23.9,
        .prefetch_to_host = 8.34,
        .between_devices = 22,
        .remote_read = 25.1,
        .remote_write = 24.1,
        .remote_both = 36,
        .device_memory = 1355,
        .wave_bytes = 108 * 2048 * 16,
        .fault_to_device = 10.7,
        .fault_to_host = 7.52,
        .fill_host_ms = 180,
        .discard_to_host_ms = 110,
        DRIVER_COSTS,
    },
    /*
     * Published for GH200: NVLink-C2C copies 375 GB/s to the device and 297 to the host, STREAM 3,400 in HBM3 and 486
     * in LPDDR5X, which bounds remote_both (Schieffer and others, arXiv 2407.07850); kernels loading from host memory
     * 342 (NVIDIA/nvbandwidth, issue 23); stores are taken to be as fast as copies to the host. The rest is derived,
     * with the host's system on pages of 64 KiB: a sixteenth of the cost of mapping 4 KiB ones in prefetch_to_host and
     * discard_to_host_ms; and in fill_host_ms the gain that larger pages have in first touches of anonymous memory
     * (measured: 1.5 GB/s with 4 KiB, 6.4 with huge ones). between_devices as measured by NVLink between two H200s.
     */
    {
        .name = "gh200",
        .device = "simulated GH200 (NVLink-C2C)",
        .concurrent = true,
        .host_page_tables = true,
        .prefetch_to_device = 223,
        .prefetch_to_host = 120,
        .between_devices = 136,
        .remote_read = 342,
        .remote_write = 297,
        .remote_both = 486,
        .device_memory = 3400,
        .wave_bytes = 132 * 2048 * 16,
        .fault_to_device = 17.9,
        .fault_to_host = 10.4,
        .fill_host_ms = 42,
        .discard_to_host_ms = 6.9,
        DRIVER_COSTS,
    },
    /*
     * A T4 in a slot of four PCIe 3 lanes. Published: copies by sixteen lanes 13.1 GB/s (usadellab/Helixer, issue 22,
     * RTX 2080 Ti), a quarter of which is 3.2 by four; copying in a T4's memory 240, of 320 in the data sheet
     * (router-gao/cuda-demo, bandwidthTest). The rest is derived; between cards at the copy's rate.
     */
    {
        .name = "slow",
        .device = "simulated T4 (PCIe 3 x4)",
        .concurrent = true,
        .prefetch_to_device = 3.18,
        .prefetch_to_host = 2.55,
        .between_devices = 3.2,
        .remote_read = 2.97,
        .remote_write = 3.08,
        .remote_both = 4.89,
        .device_memory = 240,
        .wave_bytes = 40 * 1024 * 16,
        .fault_to_device = 2.73,
        .fault_to_host = 2.47,
        .fill_host_ms = 180,
        .discard_to_host_ms = 110,
        DRIVER_COSTS,
    },
    /* Not measured: everything goes over at a launch, as fast as pageable memory is copied on the measured machine (7
       and 12 GB/s). */
    {
        .name = "no-concurrent",
        .device = "simulated device without concurrent managed access",
        .concurrent = false,
        .prefetch_to_device = 7,
        .prefetch_to_host = 12,
        .between_devices = 12,
        .remote_read = 7,
        .remote_write = 7,
        .remote_both = 12,
        .device_memory = 3400,
        .wave_bytes = 132 * 2048 * 16,
        .fault_to_device = 7,
        .fault_to_host = 12,
        .fill_host_ms = 180,
        .discard_to_host_ms = 110,
        DRIVER_COSTS,
    },
};

#define LINKS (sizeof links / sizeof links[0])

const struct sim_link *sim_link_find(const char *name) {
    for (size_t i = 0; i < LINKS; i++)
        if (strcmp(links[i].name, name) == 0)
            return &links[i];
    return NULL;
}

const struct sim_link *sim_link_default(bool concurrent) {
    size_t i = 0;
    while (links[i].concurrent != concurrent)
        i++;
    return &links[i];
}

void sim_link_names(char *text, size_t bytes) {
    size_t used = 0;
    for (size_t i = 0; i < LINKS && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", links[i].name);
}

/* 1 GB/s is one byte per nanosecond. */
static double at_rate(uint64_t bytes, double gb_per_s) {
    return (double)bytes / gb_per_s;
}

static double per_gib(uint64_t bytes, double ms) {
    return (double)bytes * ms * 1e6 / 1073741824.0;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static uint64_t whole(double ns) {
    return (uint64_t)(ns + 0.5);
}

static double fill_ns(const struct sim_link *link, const struct sim_work *work) {
    return per_gib(work->filled_device, link->fill_device_ms) + per_gib(work->filled_host, link->fill_host_ms);
}

/* What a call takes before the first byte crosses: its first range, and each further one. A call moves one way. */
static double start_ns(const struct sim_link *link, const struct sim_work *work) {
    bool home = work->to_host || work->discarded_to_host, in = work->to_device || work->between;
    double further = work->ranges > 1 ? (double)(work->ranges - 1) : 0;
    double ns = in ? link->start_to_device_us * 1e3 : 0;
    if (home || work->evicted)
        ns += link->start_to_host_us * 1e3;
    if (work->to_device >= QUEUED_BYTES && work->discarded_to_device)
        ns += link->second_us * 1e3;
    return ns + further * (home ? link->further_to_host_us : link->further_to_device_us) * 1e3;
}

struct sim_cost sim_link_move_cost(const struct sim_link *link, const struct sim_work *work) {
    double to_device = at_rate(work->to_device, link->prefetch_to_device);
    double to_host = at_rate(work->to_host + work->evicted, link->prefetch_to_host);
    double ns = to_device + to_host + at_rate(work->between, link->between_devices) + start_ns(link, work);
    ns += fill_ns(link, work) + per_gib(work->settled, link->settled_ms);
    ns += per_gib(work->discarded_to_device, link->discard_to_device_ms);
    ns += per_gib(work->discarded_to_host, link->discard_to_host_ms);
    return (struct sim_cost){whole(ns), whole(to_device), whole(to_host)};
}

/* Both directions at once are limited by each direction and by their sum. */
static double together_ns(const struct sim_link *link, double read, double written) {
    double one = larger(read / link->remote_read, written / link->remote_write);
    return larger(one, (read + written) / link->remote_both);
}

/* The first wave loads before anything is stored; from then on loads and stores go side by side. */
static double remote_ns(const struct sim_link *link, const struct sim_work *work) {
    double posted = POSTED_NS * link->remote_write, read = (double)work->remote_read;
    double written = larger((double)work->remote_write - posted, 0);
    double first = written > 0 && read > link->wave_bytes ? link->wave_bytes : read;
    return first / link->remote_read + together_ns(link, read - first, written);
}

/* Faults as such, without what they move. */
static double faults_ns(const struct sim_link *link, const struct sim_work *work) {
    if (!work->gpu_faults)
        return 0;
    uint64_t bytes = work->faulted_to_device + work->faulted_between + work->filled_device;
    if (bytes <= FEW_BYTES)
        return link->gpu_few_us * 1e3;
    double us = link->gpu_fault_us + (double)work->gpu_faults * link->gpu_group_us;
    return (bytes > REPLAY_BYTES ? us + link->gpu_replay_us : us) * 1e3;
}

/* Faults, and pages that have to be made first, stop the kernel; otherwise the slowest of its paths to memory decides.
 */
struct sim_cost sim_link_kernel_cost(const struct sim_link *link, const struct sim_work *work) {
    double remote = remote_ns(link, work);
    double faulted = at_rate(work->faulted_to_device, link->fault_to_device);
    double evicted = at_rate(work->evicted, link->prefetch_to_host);
    double local = at_rate(work->local, link->device_memory);
    double ns = larger(remote, local + at_rate(work->cached, CACHE_TIMES * link->device_memory));
    ns = larger(ns, at_rate(work->peer, link->between_devices));
    if (work->remote_read || work->remote_write)
        ns += link->remote_us * 1e3;
    ns += fill_ns(link, work) + faults_ns(link, work) + faulted + evicted;
    ns += at_rate(work->faulted_between, link->between_devices);
    return (struct sim_cost){
        .ns = whole(ns),
        .to_device_ns = whole((work->remote_read ? remote : 0) + faulted),
        .to_host_ns = whole((work->remote_write ? remote : 0) + evicted),
    };
}

uint64_t sim_link_cpu_fault_ns(const struct sim_link *link, uint64_t bytes) {
    return whole(link->cpu_fault_us * 1e3 + at_rate(bytes, link->fault_to_host));
}

ferry_link_costs sim_link_costs(const struct sim_link *link) {
    return (ferry_link_costs){
        .to_device_ns = (link->call_us + link->start_to_device_us) * 1e3,
        .to_device_ns_per_byte = at_rate(1, link->prefetch_to_device),
        .to_host_ns = (link->call_us + link->start_to_host_us) * 1e3,
        .to_host_ns_per_byte = at_rate(1, link->prefetch_to_host),
        .discard_to_device_ns_per_byte = per_gib(1, link->discard_to_device_ms),
        .discard_to_host_ns_per_byte = per_gib(1, link->discard_to_host_ms),
        .fill_device_ns_per_byte = per_gib(1, link->fill_device_ms),
        .fill_host_ns_per_byte = per_gib(1, link->fill_host_ms),
        .remote_ns = link->remote_us * 1e3,
        .hidden_ns = larger(link->launch_us - link->kernel_us, 0) * 1e3,
        .remote_read_ns_per_byte = together_ns(link, 1, 0),
        .remote_write_ns_per_byte = together_ns(link, 0, 1),
        .remote_both_ns_per_byte = together_ns(link, 1, 1),
        .device_ns_per_byte = at_rate(1, link->device_memory),
    };
}
