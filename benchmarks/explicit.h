/* Memory and copies as a program without managed memory has them. Failures are told on standard error. */
#ifndef FERRY_BENCHMARKS_EXPLICIT_H
#define FERRY_BENCHMARKS_EXPLICIT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this build has CUDA. Without it the rest fails. */
bool explicit_available(void);

/* Ordinary memory, or pinned. NULL when there is none; freeing NULL is a no-op. */
void *explicit_host_allocate(size_t bytes, bool pinned);
void explicit_host_free(void *host, bool pinned);
/* Where kernels find pinned memory. */
void *explicit_mapped(void *pinned);

void *explicit_device_allocate(size_t bytes);
void explicit_device_free(void *device);

/* `stream` is a cudaStream_t. */
bool explicit_copy(void *to, const void *from, size_t bytes, void *stream);
bool explicit_wait(void *stream);

/* A cudaEvent_t, NULL when there is none; destroying NULL is a no-op. Waiting for one that was never recorded returns.
 */
void *explicit_event_create(void);
void explicit_event_destroy(void *event);
bool explicit_event_record(void *event, void *stream);
bool explicit_event_wait(void *event);

/*
 * Managed memory with no library: every page begins nowhere. `read_mostly`: pages that the host writes and a prefetch
 * takes to the device stay on both sides while nobody writes them.
 */
void *explicit_managed_allocate(size_t bytes, bool read_mostly);
void explicit_managed_free(void *managed);
bool explicit_prefetch(void *managed, size_t bytes, bool to_device, void *stream);

#endif
