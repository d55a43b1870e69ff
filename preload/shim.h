/*
 * The preload library: the process's malloc family, with what is large in managed memory.
 *
 *     fast.c      malloc and free
 *     malloc.c    the rest of the family
 *     large.c     large blocks: which heap they come from
 *     device.c    whether this process gets a device, and its start
 *     callers.c   who may not have managed memory: the library itself, CUDA, the C library
 *     record.h    what is remembered of it all
 *
 * Until the constructor has run, in callers.c's callers, and while a thread is inside the library (shim_enter), memory
 * is the ordinary heap's: a jemalloc of its own, with jemalloc's defaults.
 */
#ifndef FERRY_PRELOAD_SHIM_H
#define FERRY_PRELOAD_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
/* Where the process's call returns to. */
#define CALLER() __builtin_extract_return_addr(__builtin_return_address(0))

/* Blocks of this size and more are large; SIZE_MAX until the constructor has run, and where nothing is. */
extern __attribute__((visibility("hidden"))) size_t shim_threshold_bytes;

static inline bool shim_is_large(size_t bytes) {
    return __builtin_expect(bytes >= shim_threshold_bytes, false);
}

/* Allocations of the calling thread go to the ordinary heap, unrecorded, until it leaves, and it is not cancelled: a
 * program's malloc and free are no cancellation points. False: it was inside. */
bool shim_enter(void);
void shim_leave(void);

#endif
