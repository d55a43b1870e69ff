#include "sim_link.h"

#include <stdio.h>
#include <string.h>

/*
 * Where the figures come from.
 *
 * measured: on one H200, PCIe 5 x16, driver 580, CUDA 13.0. Bandwidths and costs per GiB are of 1 GiB; starts are what
 * is left of small round trips (64 KiB to the device at 1.8 GB/s; 4 KiB there and back in 118 µs) when the bandwidth's
 * part is taken off; a group of GPU faults (2 MiB) costs 375 µs in all, one of CPU faults (64 KiB) 9.3 µs. A launch
 * takes the host 4.6 µs with the library's own work (placement.json), and an elementwise kernel on one page at home
 * 12.5 µs until the host has its result (the same); from afar it takes 1.0 to 1.6 µs longer than on the device
 * (calibrations of five machines, and 64 KiB gone over once: reuse.json). Sixteen kernels over 64 KiB from afar take
 * no longer than in place (reuse-small.json): each is over before the next is launched. Between 64 KiB and some MiB a
 * kernel from afar is slower than the row says: 47 µs for 1 MiB, 37 here.
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
    .fill_device_ms = 5.1, .discard_to_device_ms = 7.0, .settled_ms = 1.205, .call_us = 3.7, .start_to_device_us = 35, \
    .start_to_host_us = 65, .launch_us = 4.6, .kernel_us = 2.5, .seen_us = 3.9, .remote_us = 1.4, .gpu_fault_us = 150, \
    .cpu_fault_us = 5, .observe_us = 0.4

static const struct sim_link links[] = {
    /* All measured. */
    {
        .name = "h200-pcie5",
        .device = "simulated H200 (PCIe 5)",
        .concurrent = true,
        .prefetch_to_device = 50,
        .prefetch_to_host = 16,
        .between_devices = 136,
        .remote_read = 51,
        .remote_write = 53,
        .remote_both = 84,
        .device_memory = 3400,
        .fault_to_device = 9.3,
        .fault_to_host = 15,
        .fill_host_ms = 180,
        .discard_to_host_ms = 50,
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
        .prefetch_to_host = 11.9,
        .between_devices = 22,
        .remote_read = 25.1,
        .remote_write = 24.1,
        .remote_both = 36,
        .device_memory = 1355,
        .fault_to_device = 7.73,
        .fault_to_host = 11.3,
        .fill_host_ms = 180,
        .discard_to_host_ms = 50,
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
        .prefetch_to_host = 163,
        .between_devices = 136,
        .remote_read = 342,
        .remote_write = 297,
        .remote_both = 486,
        .device_memory = 3400,
        .fault_to_device = 10.9,
        .fault_to_host = 19.3,
        .fill_host_ms = 42,
        .discard_to_host_ms = 3.1,
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
        .prefetch_to_host = 2.80,
        .between_devices = 3.2,
        .remote_read = 2.97,
        .remote_write = 3.08,
        .remote_both = 4.89,
        .device_memory = 240,
        .fault_to_device = 2.49,
        .fault_to_host = 2.77,
        .fill_host_ms = 180,
        .discard_to_host_ms = 50,
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
        .fault_to_device = 7,
        .fault_to_host = 12,
        .fill_host_ms = 180,
        .discard_to_host_ms = 50,
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

struct sim_cost sim_link_move_cost(const struct sim_link *link, const struct sim_work *work) {
    double to_device = at_rate(work->to_device, link->prefetch_to_device);
    double to_host = at_rate(work->to_host + work->evicted, link->prefetch_to_host);
    double ns = to_device + to_host + at_rate(work->between, link->between_devices);
    if (work->to_device || work->between)
        ns += link->start_to_device_us * 1e3;
    if (work->to_host || work->evicted)
        ns += link->start_to_host_us * 1e3;
    ns += fill_ns(link, work) + per_gib(work->settled, link->settled_ms);
    ns += per_gib(work->discarded_to_device, link->discard_to_device_ms);
    ns += per_gib(work->discarded_to_host, link->discard_to_host_ms);
    return (struct sim_cost){whole(ns), whole(to_device), whole(to_host)};
}

/* Both directions at once are limited by each direction and by their sum. */
static double remote_ns(const struct sim_link *link, uint64_t read, uint64_t written) {
    double one = larger(at_rate(read, link->remote_read), at_rate(written, link->remote_write));
    return larger(one, at_rate(read + written, link->remote_both));
}

/* Faults, and pages that have to be made first, stop the kernel; otherwise the slowest of its paths to memory decides.
 */
struct sim_cost sim_link_kernel_cost(const struct sim_link *link, const struct sim_work *work) {
    double remote = remote_ns(link, work->remote_read, work->remote_write);
    double faulted = at_rate(work->faulted_to_device, link->fault_to_device);
    double evicted = at_rate(work->evicted, link->prefetch_to_host);
    double ns = larger(remote, at_rate(work->local, link->device_memory));
    ns = larger(ns, at_rate(work->peer, link->between_devices));
    if (remote > 0)
        ns += link->remote_us * 1e3;
    ns += fill_ns(link, work) + (double)work->gpu_faults * link->gpu_fault_us * 1e3 + faulted + evicted;
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
        .remote_read_ns_per_byte = remote_ns(link, 1, 0),
        .remote_write_ns_per_byte = remote_ns(link, 0, 1),
        .remote_both_ns_per_byte = remote_ns(link, 1, 1),
        .device_ns_per_byte = at_rate(1, link->device_memory),
    };
}
