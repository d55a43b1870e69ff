/*
 * The backend contract: everything that ferry asks of a device runtime. One table per platform (cuda, sim), and
 * decorators (faulty) that wrap one.
 *
 * Preconditions, said once:
 *  - `open` succeeded, and has been called once in the process;
 *  - ranges are never empty and lie in one region that `reserve` gave; those of moves begin and end on pages, and each
 *    is named once per call;
 *  - the caller holds no lock that a kernel's end could need, and never calls from a forked child;
 *  - calls are thread-safe.
 * Every function that can fails with a status and sets ferry_error_detail; it then has had no effect.
 */
#ifndef FERRY_ALLOC_BACKEND_H
#define FERRY_ALLOC_BACKEND_H

#include "ferry/kernel.h"
#include "ferry/link.h"
#include "ferry/movement.h"
#include "ferry/stats.h"

#define FERRY_PAGE_BYTES ((size_t)4096)
#define FERRY_BLOCK_BYTES ((size_t)2 << 20) /* the driver migrates and tracks in blocks of this size and alignment */

typedef struct backend_stream backend_stream; /* opaque to callers: the backend's own */
typedef struct backend_event backend_event;
typedef struct backend_kernel backend_kernel;

typedef enum backend_move_kind {
    BACKEND_PREFETCH,        /* contents travel */
    BACKEND_DISCARD_PREFETCH /* contents become undefined, nothing crosses */
} backend_move_kind;

typedef struct backend_move {
    void *address;
    size_t bytes;
    ferry_place to; /* a device or FERRY_PLACE_HOST */
    backend_move_kind kind;
} backend_move;

/* A range that a kernel loads from or stores to. */
typedef struct backend_touch {
    void *address;
    size_t bytes;
    ferry_access access;
} backend_touch;

/* What was measured since trace_start: X-list names as in ferry/stats.h. */
typedef struct backend_measure {
    uint64_t bytes_to_device, bytes_to_host;                       /* migrated, whatever the cause */
    uint64_t prefetched_bytes_to_device, prefetched_bytes_to_host; /* caused by the caller's moves */
    uint64_t bytes_between_devices;
    uint64_t gpu_faults, cpu_faults;
    uint64_t remote_bytes_to_device, remote_bytes_to_host; /* the simulator's only: CUPTI cannot see them */
    bool has_remote;                                       /* whether the two above are measured */
} backend_measure;

typedef struct backend {
    const char *name;

    /* Starts the runtime. Fails with FERRY_UNSUPPORTED, cheaply, where there is no usable device. */
    ferry_status (*open)(void);
    int (*device_count)(void);
    ferry_status (*device_get)(int device, ferry_device_info *out);

    /*
     * A region of managed memory, aligned to FERRY_BLOCK_BYTES, `bytes` a multiple of it; pages read as zero until
     * touched. With `host_homed` it carries the host as preferred location and accessed-by for every device, where
     * devices allow hints.
     */
    ferry_status (*reserve)(size_t bytes, bool host_homed, void **out);
    ferry_status (*release)(void *base, size_t bytes);

    /*
     * Moves n ranges in stream order, all to one place. To the host, `move` may return before they are there:
     * stream_sync tells. Without concurrent managed access on every device it must not be called. FERRY_UNSUPPORTED
     * while the stream is being captured.
     */
    ferry_status (*move)(const backend_move *moves, size_t n, backend_stream *stream);

    ferry_status (*stream_create)(int device, backend_stream **out);
    ferry_status (*stream_wrap)(int device, void *native, backend_stream **out);
    void (*stream_destroy)(backend_stream *stream);
    void *(*stream_native)(backend_stream *stream);
    bool (*stream_is_captured)(const backend_stream *stream); /* into a graph; NULL: never */
    ferry_status (*stream_sync)(backend_stream *stream);
    /* Waits for its work, but no longer than that: a move begins more cheaply on an idle stream. NULL: no matter. */
    void (*stream_settle)(backend_stream *stream, uint64_t at_most_ns);
    ferry_status (*stream_wait)(backend_stream *stream,
                                backend_event *event); /* later work on the stream waits for the event */

    ferry_status (*event_create)(int device, backend_event **out);
    void (*event_destroy)(backend_event *event);
    ferry_status (*event_record)(backend_event *event, backend_stream *stream);
    ferry_status (*event_query)(backend_event *event,
                                bool *done); /* a failed kernel counts as done and is reported by stream_sync */
    ferry_status (*event_sync)(backend_event *event);

    /* `image` may be NULL (host function only) and `host` too; kernel_launch says FERRY_UNSUPPORTED when its half is
     * absent. */
    ferry_status (*kernel_load)(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                                backend_kernel **out);
    ferry_status (*kernel_set_host)(backend_kernel *kernel, ferry_host_kernel host);
    void (*kernel_unload)(backend_kernel *kernel);
    ferry_status (*kernel_launch)(backend_kernel *kernel, const ferry_grid *grid, void *const *args,
                                  const size_t *sizes, size_t n, backend_stream *stream);

    /* Declares what the work just queued touches. NULL where the hardware sees for itself; the simulator moves pages by
     * it. */
    ferry_status (*touch)(const backend_touch *touches, size_t n, backend_stream *stream);

    /*
     * Tells of `n` pages from a page's first byte on which are in the host's page tables: present[i] is 1 after a touch
     * by the host or a prefetch home, 0 for a page that a device holds or that was never touched. NULL where nobody can
     * tell.
     */
    ferry_status (*observe)(const void *address, size_t n, unsigned char *present);

    /* Measures the link to a device, in well under a second; the simulator reads its table. Creates and destroys what
     * it needs. FERRY_UNSUPPORTED without concurrent managed access. */
    ferry_status (*link_measure)(int device, ferry_link_costs *out);
    /* What the measured costs depend on, for the name of a cached file: device, driver, machine. NULL where they are
     * not worth caching. */
    ferry_status (*link_identity)(int device, char *text, size_t bytes);

    /* Takes the earliest host touch, not taken yet, of a page that queued work still used; false: there is none. NULL
     * where nobody can tell. */
    bool (*take_unsynchronised)(const void **address);

    /* NULL: the address itself. */
    void *(*device_pointer)(const void *address);

    ferry_status (*trace_start)(void);
    ferry_status (*trace_read)(backend_measure *out); /* flushes; totals since trace_start */
    ferry_status (*trace_stop)(void);

    uint64_t (*now_ns)(void); /* the clock that times are told by: real on cuda, virtual on the simulator */
} backend;

extern const backend backend_cuda; /* only where the build has the CUDA toolkit (FERRY_WITH_CUDA) */
extern const backend backend_sim;

/*
 * Wraps `inner` so that the n-th call of a function that can fail does fail, with FERRY_BACKEND, when `armed`; counts
 * such calls. For tests: raise the failure point until the whole operation succeeds.
 */
const backend *backend_faulty(const backend *inner);
void backend_faulty_arm(uint64_t nth); /* 0 disarms; 1 fails the next call */
uint64_t backend_faulty_calls(void);   /* calls that could have failed since the last arm */

#endif
