/*
 * The simulated machine: its state and the pieces that work on it.
 *
 * Contents lie in one memory file per region, mapped twice: the primary mapping is what the program sees, and there
 * absent or protected pages let the host's touches be noticed; simulated devices use the alias. So nothing is ever
 * copied: a page's place is a fact in a table. Places change when a call is issued; what kernels compute happens later
 * (sim_queue.h).
 *
 * All state is guarded by one lock. Under it nothing may touch a primary mapping or call malloc or free: the thread
 * that serves a touch, or the handler that interrupted somebody's malloc, waits for the same lock.
 */
#ifndef FERRY_ALLOC_SIM_MACHINE_H
#define FERRY_ALLOC_SIM_MACHINE_H

#include <signal.h>
#include <stdatomic.h>

#include "backend.h"
#include "sim_link.h"

#define SIM_DEVICES 64
#define SIM_REGIONS 1024
#define SIM_BLOCK_PAGES (FERRY_BLOCK_BYTES / FERRY_PAGE_BYTES)
#define SIM_FAULT_PAGES 16 /* a host touch brings the pages of an aligned group of this size home */
#define SIM_HASTY 64       /* unsynchronised touches that are kept until somebody takes them */

/* Which of the host's next touches of a page are noticed. */
enum sim_guard { SIM_NOTHING, SIM_STORES, SIM_TOUCHES };

struct sim_page {
    uint32_t writers; /* queued operations that will overwrite the page */
    uint32_t readers; /* queued operations that load from it and leave it alone */
    uint8_t code;     /* its ferry_place less FERRY_PLACE_NOWHERE, so that zeroed tables say nowhere */
    uint8_t guard;    /* enum sim_guard; all touches on a device */
};

struct sim_block {
    uint64_t used;     /* tick of the latest migration to a device */
    uint32_t resident; /* pages on any device */
};

/* A slot of the table. Slots are reused, never freed, so that addresses can be looked up without the lock. */
struct sim_region {
    _Atomic uintptr_t base; /* 0: free; stored last when the slot is filled, first when it is emptied */
    _Atomic size_t bytes;
    _Atomic uintptr_t alias; /* alias mapping of the same bytes */
    int file;
    bool homed; /* host-homed */
    struct sim_page *pages;
    struct sim_block *blocks;
};

/* `count` pages from page `first` of a region. */
struct sim_span {
    struct sim_region *region;
    size_t first, count;
    bool only_read; /* by the operation that it is queued with */
};

/* How the host's touches are noticed. Called with the lock held; `start` without. */
struct sim_tracker {
    const char *name;
    ferry_status (*start)(void);
    ferry_status (*adopt)(const struct sim_region *region); /* a new region */
    bool (*take)(const struct sim_span *span); /* the next touch of each page is noticed; false and errno: failed */
    bool (*take_stores)(const struct sim_span *span); /* the next store to each page is, loads pass. Where it tells */
    bool (*give)(const struct sim_span *span);        /* touches of these pages pass */
};

extern const struct sim_tracker sim_tracker_off, sim_tracker_mprotect, sim_tracker_userfaultfd;

struct sim_config {
    int devices;
    bool concurrent; /* concurrent managed access */
    bool poison;     /* discarded contents are overwritten with SIM_POISON */
    size_t device_bytes;
    const struct sim_link *link;
    const struct sim_tracker *tracker; /* NULL: the best that is permitted */
};

#define SIM_POISON 0xdb

/* Until when on the virtual clock a device's link is taken, each way. */
struct sim_busy {
    uint64_t to_device_ns, to_host_ns;
};

struct sim_machine {
    atomic_bool open;
    struct sim_config config;
    struct sim_region regions[SIM_REGIONS];
    atomic_int region_slots; /* slots ever used */
    uint64_t resident_pages[SIM_DEVICES];
    uint64_t tick;    /* one more per call that moves pages */
    uint64_t host_ns; /* the host's time line */
    struct sim_busy busy[SIM_DEVICES];
    backend_measure totals, traced_from;
    bool tracing;
    bool tells_stores; /* the tracker can notice stores alone; it says so when it starts */
    uint64_t unsynchronised;
    uintptr_t hasty[SIM_HASTY]; /* addresses of the earliest of them that nobody has taken: a ring */
    size_t hasty_first, hasty_count;
    uint64_t pending; /* operations queued on all streams */
    backend_stream *streams;
};

extern struct sim_machine sim;

/* sim_config.c: reads FERRY_SIM_…; *out is written on success only. */
ferry_status sim_config_read(struct sim_config *out);

/* sim_lock.c: a spin lock that blocks the thread's signals while it is held, since their handlers may touch managed
 * memory. */
void sim_lock(sigset_t *saved);
void sim_unlock(const sigset_t *saved);

/* sim_region.c */
ferry_status sim_region_reserve(size_t bytes, bool host_homed, void **out);
ferry_status sim_region_release(void *base, size_t bytes);
struct sim_region *sim_region_find(const void *address); /* NULL: no region holds it. Takes no lock */
void *sim_region_alias(const void *address);
/* The pages that the range touches, rounded outward. FERRY_INVALID_ARGUMENT unless it lies in one region. */
ferry_status sim_span_find(const void *address, size_t bytes, struct sim_span *out);
char *sim_span_primary(const struct sim_span *span);
char *sim_span_alias(const struct sim_span *span);
/* First touches of pages that nobody guards pass unseen; this finds them in the memory file and marks the pages as the
 * host's. */
void sim_span_settle(const struct sim_span *span);

static inline size_t sim_span_bytes(const struct sim_span *span) {
    return span->count * FERRY_PAGE_BYTES;
}

static inline size_t sim_region_page(const struct sim_region *region, uintptr_t address) {
    return (address - atomic_load(&region->base)) / FERRY_PAGE_BYTES;
}

static inline ferry_place sim_page_place(const struct sim_page *page) {
    return (ferry_place)page->code + FERRY_PLACE_NOWHERE;
}

/* sim_pages.c: with the lock held */
void sim_page_put(struct sim_region *region, size_t page, ferry_place to);
bool sim_span_guard(const struct sim_span *span); /* all touches are noticed */
/* Stores are noticed, where they can be. */
void sim_span_guard_stores(const struct sim_span *span);
/* Lets the host do what needs no notice any more: touch pages that are not on a device and that nothing queued uses,
 * load from those that nothing queued will overwrite. */
void sim_span_unguard(const struct sim_span *span);
void sim_span_move(const struct sim_span *span, const backend_move *move, struct sim_work *work);
void sim_span_pend(const struct sim_span *span);
void sim_span_unpend(const struct sim_span *span);

/* sim_evict.c: makes room on `device` for `pages` pages of a block, by sending the least recently migrated other blocks
 * home. */
void sim_evict(const struct sim_region *region, size_t block, int device, uint64_t pages, struct sim_work *work);

/* sim_access.c: what touches do, with the lock held */
void sim_kernel_touch(const struct sim_span *span, const backend_touch *touch, int device, struct sim_work *work);
void sim_launch_all(int device,
                    struct sim_work *work); /* without concurrent access: every populated page goes to the device */
void sim_host_touch(struct sim_region *region, uintptr_t address); /* one that was noticed */

/* sim_count.c */
void sim_count_move(const struct sim_work *work);
void sim_count_kernel(const struct sim_work *work);
ferry_status sim_trace_start(void);
ferry_status sim_trace_read(backend_measure *out);
ferry_status sim_trace_stop(void);

#endif
