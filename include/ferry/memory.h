/* Managed memory: the library's start, heaps, and the malloc family. */
#ifndef FERRY_MEMORY_H
#define FERRY_MEMORY_H

#include <stdbool.h>

#include "ferry/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(CONSTANT, "name"). What the policies do: ferry/movement.h. */
#define FERRY_POLICY_LIST(X)                                                                                           \
    X(AUTO, "auto")                                                                                                    \
    X(PREFETCH, "prefetch")                                                                                            \
    X(REMOTE, "remote")                                                                                                \
    X(NONE, "none")

typedef enum ferry_policy {
    FERRY_POLICY_DEFAULT, /* what the next wider scope says; the library's is FERRY_POLICY, else auto */
#define FERRY_POLICY_ENUM(constant, name) FERRY_POLICY_##constant,
    FERRY_POLICY_LIST(FERRY_POLICY_ENUM)
#undef FERRY_POLICY_ENUM
} ferry_policy;

/* "auto", "prefetch", "remote", "none"; "default" for FERRY_POLICY_DEFAULT. Never NULL. */
FERRY_API const char *ferry_policy_name(ferry_policy policy);

/* Finds a policy by name. FERRY_NOT_FOUND names the known ones; *out is then unchanged. */
FERRY_API ferry_status ferry_policy_find(const char *name, ferry_policy *out);

/* Parses a size in bytes with an optional suffix K, M, G, T (powers of 1024, also KiB, MB, …). FERRY_INVALID_ARGUMENT.
 */
FERRY_API ferry_status ferry_size_parse(const char *text, size_t *bytes);

/* Zero everywhere means: what the environment says, else the default. */
typedef struct ferry_options {
    const char *backend; /* "auto", "cuda", "sim" (FERRY_BACKEND; default auto) */
    ferry_policy policy; /* of the default heap (FERRY_POLICY; default auto) */
    size_t limit_bytes;  /* bound on live managed bytes (FERRY_LIMIT; default: 80 % of RAM, at most what the smallest
                            device has free) */
    bool oversubscribe;  /* let limit_bytes exceed what the devices have free (FERRY_OVERSUBSCRIBE=1) */
    bool strict;         /* report redundant crossings and unsynchronised touches: ferry/strict.h (FERRY_STRICT=1) */
} ferry_options;

/*
 * Starts the library. Optional: without it the first call that needs the library starts it with the
 * environment's options. `options` may be NULL. A second call, or a call after such a start, succeeds when
 * its options are NULL and fails with FERRY_INVALID_ARGUMENT otherwise. Thread-safe.
 * FERRY_BACKEND when the named backend cannot start; with "auto" the simulator serves then.
 */
FERRY_API ferry_status ferry_init(const ferry_options *options);

/* "cuda" or "sim"; NULL when the library cannot start. */
FERRY_API const char *ferry_backend_name(void);

/* Number of devices of the backend in use, 0 when the library cannot start. Devices are numbered from 0. */
FERRY_API int ferry_device_count(void);

typedef struct ferry_device_info {
    char name[128];
    int compute_major, compute_minor; /* 0 on the simulator */
    size_t total_bytes, free_bytes;   /* of the device's own memory */
    bool concurrent_managed_access;   /* host and device may touch managed memory at the same time; else no hints are
                                         given */
    bool host_page_tables;            /* pageableMemoryAccessUsesHostPageTables */
} ferry_device_info;

/* FERRY_INVALID_ARGUMENT for a device that does not exist. */
FERRY_API ferry_status ferry_device_get(int device, ferry_device_info *out);

/* The limit in force, in bytes. */
FERRY_API size_t ferry_limit(void);

/*
 * A heap: jemalloc arenas whose extents lie in managed regions of its own, with one policy. Any thread may
 * use any heap. Storages of 4 KiB and more never share a page; smaller ones share pages of a part that never migrates.
 */
typedef struct ferry_heap ferry_heap;

typedef struct ferry_heap_options {
    const char *name;    /* for reports; copied; NULL is "heap" */
    ferry_policy policy; /* FERRY_POLICY_DEFAULT is the library's */
} ferry_heap_options;

/* Creates a heap, `options` may be NULL. *out is set on success only. */
FERRY_API ferry_status ferry_heap_create(const ferry_heap_options *options, ferry_heap **out);

/*
 * Waits for every kernel that uses the heap's storages, then gives all its memory back, live storages
 * included. No other thread may be using the heap. NULL is a no-op; the default heap is not destroyed.
 */
FERRY_API void ferry_heap_destroy(ferry_heap *heap);

/* The heap behind ferry_malloc. NULL when the library cannot start. */
FERRY_API ferry_heap *ferry_heap_default(void);

FERRY_API ferry_policy ferry_heap_policy(const ferry_heap *heap);

/*
 * The malloc family on managed memory, with C's semantics: NULL and errno = ENOMEM (or EINVAL for a bad
 * alignment) on failure, with ferry_error_detail set; n = 0 gives a unique pointer. Pointers are valid on the
 * host and on every device. Contents of malloc are undefined; calloc zeroes wherever the recycled block was.
 * `heap` NULL is the default heap. Thread-safe.
 */
FERRY_API void *ferry_heap_malloc(ferry_heap *heap, size_t bytes);
FERRY_API void *ferry_heap_calloc(ferry_heap *heap, size_t count, size_t bytes);
FERRY_API void *ferry_heap_aligned_alloc(ferry_heap *heap, size_t alignment,
                                         size_t bytes); /* alignment: a power of two, at most 2 MiB */
FERRY_API void *ferry_malloc(size_t bytes);
FERRY_API void *ferry_calloc(size_t count, size_t bytes);
FERRY_API void *ferry_aligned_alloc(size_t alignment, size_t bytes);

/* Keeps the block's heap; the contents move with it wherever they are. On failure the old block is untouched. */
FERRY_API void *ferry_realloc(void *block, size_t bytes);

/*
 * Frees a block of any heap. Legal while kernels still use it: the block is recycled when they have ended.
 * NULL is a no-op. In a forked child frees are bookkeeping only. Never fails, keeps errno.
 */
FERRY_API void ferry_free(void *block);

/* Bytes usable at `block`, at least what was asked for; 0 for NULL. */
FERRY_API size_t ferry_usable_size(const void *block);

/* Whether the address lies in a managed region of the library. A few nanoseconds, lock-free. */
FERRY_API bool ferry_owns(const void *address);

/*
 * The live storage around `address`: its first byte and its usable length. FERRY_NOT_FOUND where there is none.
 * For a storage under 4 KiB *base is the start of its page and *bytes the page's length.
 */
FERRY_API ferry_status ferry_storage_find(const void *address, void **base, size_t *bytes);

/* Gives back what is kept for reuse: thread caches of the calling thread, recycled blocks, and regions that are wholly
 * free. */
FERRY_API ferry_status ferry_trim(void);

/*
 * A forked child has plain memory and never calls the device; its parent's managed blocks it may free, but their
 * contents are not there: touching them is a fault. From this call on a fork copies what live blocks hold, where they
 * come to `most_bytes` together or less, and the child has the copies at the same addresses, to read and to write; 0
 * ends that. The copy takes as long as the host's reading of them all, wherever they are, and the parent waits.
 */
FERRY_API void ferry_fork_keep(size_t most_bytes);

/* In a forked child: what it has of its parent's managed memory, and what not. Zeros elsewhere. */
typedef struct ferry_fork_account {
    uint64_t lost_blocks, lost_bytes, kept_bytes;
} ferry_fork_account;

FERRY_API void ferry_fork_account_get(ferry_fork_account *out);

#ifdef __cplusplus
}
#endif
#endif
