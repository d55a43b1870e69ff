/* What things cost on the simulated machine: rows of figures, and the arithmetic on them. Pure. */
#ifndef FERRY_ALLOC_SIM_LINK_H
#define FERRY_ALLOC_SIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/link.h"

/* One kind of machine. Rates in GB/s (10^9 bytes), times in µs or in ms for one GiB. */
struct sim_link {
    const char *name;      /* for FERRY_SIM_LINK */
    const char *device;    /* what the device calls itself */
    bool concurrent;       /* the default of FERRY_SIM_CONCURRENT */
    bool host_page_tables; /* the device works by the CPU's page tables */

    double prefetch_to_device, prefetch_to_host, between_devices; /* GB/s, populated pages */
    double remote_read, remote_write, remote_both;                /* GB/s; both: the sum of the two directions */
    double device_memory;                                         /* GB/s */
    double wave_bytes;                     /* what a kernel's threads that run at once load before they store */
    double fault_to_device, fault_to_host; /* GB/s beside the cost of the faults themselves */

    double fill_device_ms, fill_host_ms;             /* per GiB: never-touched pages that appear there */
    double discard_to_device_ms, discard_to_host_ms; /* per GiB: pages placed without their contents */
    double settled_ms;                               /* per GiB: pages that a move finds in place */

    double call_us;                                  /* a move call, on the host's line */
    double start_to_device_us, start_to_host_us;     /* a move of which bytes cross, on the stream's line */
    double further_to_device_us, further_to_host_us; /* each range of the same call after the first */
    double launch_us, kernel_us, seen_us; /* a launch: on the host's line; on the stream's; until the host, which
                                             waits for it, knows that it has ended */
    double remote_us;                     /* what a kernel that crosses the bus takes longer, however little */
    double second_us;                     /* of a move that keeps some contents and loses others: its second call */
    double gpu_few_us;                    /* all faults of a kernel that faults on 32 KiB or less */
    double gpu_fault_us;                  /* a kernel that faults, until the driver has begun to serve it */
    double gpu_replay_us;                 /* the same once more, where it faults on more than 64 KiB */
    double gpu_group_us;                  /* each block of which pages are brought */
    double cpu_fault_us;                  /* a fault of the host's */
    double observe_us;                    /* a question about the host's page tables, on the host's line */
};

/* What one call makes the machine do: bytes by cause, and groups of faults. */
struct sim_work {
    uint64_t to_device, to_host, between; /* moved by a prefetch */
    uint64_t evicted;                     /* moved home because the device was full */
    uint64_t filled_device, filled_host;  /* never touched, zero-filled by the driver */
    uint64_t discarded_to_device, discarded_to_host;
    uint64_t settled;                            /* in place already */
    uint64_t faulted_to_device, faulted_between; /* moved by a kernel's faults */
    uint64_t remote_read, remote_write;          /* crossed the bus under a kernel's loads and stores */
    uint64_t peer;                               /* the same between two devices */
    uint64_t local;                              /* device memory that a kernel goes over */
    uint64_t cached;                             /* and goes over again within the same launch */
    uint64_t gpu_faults;
    uint64_t ranges; /* of a move, that are not in place */
};

/* The row of that name; NULL when there is none. */
const struct sim_link *sim_link_find(const char *name);
/* The first row for machines with, or without, concurrent managed access. */
const struct sim_link *sim_link_default(bool concurrent);
/* Writes the rows' names, separated by ", ". */
void sim_link_names(char *text, size_t bytes);

/* Nanoseconds on the stream's line, the last of which, so many, the link is busy in a direction. */
struct sim_cost {
    uint64_t ns, to_device_ns, to_host_ns;
};

struct sim_cost sim_link_move_cost(const struct sim_link *link, const struct sim_work *work);
struct sim_cost sim_link_kernel_cost(const struct sim_link *link, const struct sim_work *work);
/* The same arithmetic as rates: what one call of a kind costs, on both lines, per byte and beside. */
ferry_link_costs sim_link_costs(const struct sim_link *link);
/* Nanoseconds on the host's line for one fault that brings `bytes` home. */
uint64_t sim_link_cpu_fault_ns(const struct sim_link *link, uint64_t bytes);

static inline uint64_t sim_us_ns(double us) {
    return (uint64_t)(us * 1e3 + 0.5);
}

#endif
