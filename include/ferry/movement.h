/* Streams, and the movement of storages between host and devices. */
#ifndef FERRY_MOVEMENT_H
#define FERRY_MOVEMENT_H

#include "ferry/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where bytes are: a device's number, or one of these. */
typedef int ferry_place;
#define FERRY_PLACE_HOST (-1)
#define FERRY_PLACE_NOWHERE (-2) /* never touched, as far as the library knows */
#define FERRY_PLACE_MIXED (-3)   /* only as an answer: parts are in different places */

/*
 * A queue of work on one device, as a CUDA stream. In every call a NULL stream is the library's own stream of device 0
 * (never CUDA's legacy stream). A stream belongs to the library's bookkeeping: destroy it with ferry_stream_destroy.
 */
typedef struct ferry_stream ferry_stream;

FERRY_API ferry_status ferry_stream_create(int device, ferry_stream **out);
/* Wraps a cudaStream_t of the caller's, which must outlive the wrapper. FERRY_UNSUPPORTED on the simulator. */
FERRY_API ferry_status ferry_stream_wrap(int device, void *native, ferry_stream **out);
/* Waits for the stream's work, then frees it (a wrapped stream stays the caller's). NULL is a no-op. */
FERRY_API void ferry_stream_destroy(ferry_stream *stream);
/* The cudaStream_t for the caller's own launches; NULL on the simulator. */
FERRY_API void *ferry_stream_native(ferry_stream *stream);
FERRY_API int ferry_stream_device(const ferry_stream *stream);
/* Waits for the stream's work, NULL for the work of every stream. FERRY_BACKEND reports a failed kernel. */
FERRY_API ferry_status ferry_sync(ferry_stream *stream);
/* The same for one stream: NULL is the library's own, as elsewhere. */
FERRY_API ferry_status ferry_stream_sync(ferry_stream *stream);

typedef enum ferry_access {
    FERRY_READ = 1,
    FERRY_WRITE = 2, /* every element of the view is overwritten, what it held is worthless */
    FERRY_READWRITE = 3
} ferry_access;

/* For ferry_operand.passes and ferry_advice.passes: more than can be counted, as a matrix product or a sort makes. */
#define FERRY_PASSES_MANY 1000000

/* A view with the access that a kernel makes. */
typedef struct ferry_operand {
    const ferry_view *view;
    ferry_access access;
    int passes; /* how often this launch goes over the bytes: 1 for elementwise kernels; 0, unknown, is taken for many,
                   since a kernel that reads an array a hundred times across the bus would cross a hundred times */
    ferry_policy policy; /* of this use; FERRY_POLICY_DEFAULT: the thread's, else the array's, else the heap's */
} ferry_operand;

/*
 * Before a launch on `stream`: brings every operand where its policy wants it, in one batch, in stream order,
 * and makes the stream wait for other streams' kernels that wrote what these read or use what these write.
 *
 *  - prefetch: READ and READWRITE bytes that are elsewhere are prefetched to the stream's device; WRITE bytes are
 *    discarded and prefetched (nothing crosses) on pages that lie wholly inside the view, and prefetched on others;
 *  - remote: nothing migrates; kernels load and store across the bus what is on the host;
 *  - auto: for each run of pages the cheaper of the two, by the link's costs (ferry/link.h) and by how often devices
 * are expected to use the pages before the host does: docs/placement.md;
 *  - none: nothing; on a heap made with it the driver's faults move the pages, on others kernels use what is on the
 *    host across the bus.
 *
 * Resident operands cost no driver call. Validation comes first: on FERRY_INVALID_ARGUMENT (memory that is not ferry's,
 * a read-only view written) and FERRY_UNSUPPORTED (the stream is being captured into a graph and bytes would have to
 * move) nothing has been moved. A WRITE operand's contents are undefined from here until the kernel has written them.
 * After the launch, or instead of it when it fails, call ferry_complete with the same operands.
 */
FERRY_API ferry_status ferry_acquire(const ferry_operand *operands, size_t n, ferry_stream *stream);

/* After the launch: notes that work queued on the stream so far uses the operands, so that frees, the host and other
 * streams wait for it. Of a view it looks only at where it begins and whether it is empty: the acquire has checked the
 * rest. FERRY_INVALID_ARGUMENT for memory that is not ferry's (any more); the other operands are noted all the same. */
FERRY_API ferry_status ferry_complete(const ferry_operand *operands, size_t n, ferry_stream *stream);

/*
 * Before the host reads or writes an array that kernels use: waits for the kernels concerned (readers only matter to a
 * writer), then brings what the host will read home; what it will overwrite (WRITE) comes home without its contents.
 * Returns when the host may touch the view. Views of memory that is not ferry's, and of nothing, succeed at once.
 * FERRY_BACKEND.
 */
FERRY_API ferry_status ferry_host_acquire(const ferry_view *view, ferry_access access);

/*
 * What the caller knows of an array, for as long as its storage lives. `passes`: how often devices go over the bytes
 * between two touches by the host; 0: the library learns it. `policy`: of the array; FERRY_POLICY_DEFAULT is the
 * heap's.
 */
typedef struct ferry_advice {
    ferry_policy policy;
    int passes;
} ferry_advice;

/* Of the whole storage that the view lies in. FERRY_INVALID_ARGUMENT when that is not ferry's. Moves nothing. */
FERRY_API ferry_status ferry_advise(const ferry_view *view, const ferry_advice *advice);

/*
 * The policy of the calling thread's uses, over those of arrays and heaps, until set back; FERRY_POLICY_DEFAULT lifts
 * it, and what is no policy changes nothing. Returns the one before. For calls that take no operands, such as
 * ferry_apply.
 */
FERRY_API ferry_policy ferry_thread_policy_set(ferry_policy policy);

/*
 * Says in a sentence where the view's bytes are and why: "on device 0: 16 passes of devices were expected before the
 * host reads it (as last time); going there and back costs 5.66 ms, crossing the bus each time 21.2 ms". Writes at most
 * `bytes`, with the terminating zero. FERRY_INVALID_ARGUMENT for a view beyond its storage, or of no elements.
 */
FERRY_API ferry_status ferry_explain(const ferry_view *view, char *text, size_t bytes);

/* Moves the view's bytes by hand, whatever the policy; in stream order (to the host: returns when they are there). */
FERRY_API ferry_status ferry_prefetch(const ferry_view *view, ferry_place to, ferry_stream *stream);

/* Where the library believes the view's bytes are; FERRY_PLACE_HOST for memory that is not ferry's. */
FERRY_API ferry_place ferry_view_place(const ferry_view *view);

/*
 * Hands the storage that the view lies in to somebody who uses it without saying so, such as another library's kernels:
 * waits for the work that uses it, and from here to ferry_export_end lets it count as possibly written at any time, on
 * either side. Then no crossing of it is redundant, none of its pages loses its contents to a discard, and whether the
 * host has touched it is asked at every use. Calls nest. What the other has queued is the caller's to wait for before
 * the next use by ferry or the host. Memory that is not ferry's, a view of no elements, and blocks under 4 KiB, which
 * never migrate, need none of it: success. FERRY_INVALID_ARGUMENT (a view beyond its block), FERRY_BACKEND.
 */
FERRY_API ferry_status ferry_export_begin(const ferry_view *view);
/* The other is done. Freeing the block ends every export of it. */
FERRY_API void ferry_export_end(const ferry_view *view);

/*
 * The address through which device code reaches managed memory: `address` itself on CUDA, an alias on the simulator,
 * whose host kernels must use it (touching the address itself counts as the host's touch).
 */
FERRY_API void *ferry_device_pointer(const void *address);

#ifdef __cplusplus
}
#endif
#endif
