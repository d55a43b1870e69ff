/* The streams, events and movements of backend_sim. */
#ifndef FERRY_ALLOC_SIM_STREAM_H
#define FERRY_ALLOC_SIM_STREAM_H

#include "sim_queue.h"

ferry_status sim_stream_create(int device, backend_stream **out);
ferry_status sim_stream_wrap(int device, void *native, backend_stream **out);
void sim_stream_destroy(backend_stream *stream);
void *sim_stream_native(backend_stream *stream);
ferry_status sim_stream_sync(backend_stream *stream);
ferry_status sim_stream_wait(backend_stream *stream, backend_event *event);

ferry_status sim_event_create(int device, backend_event **out);
void sim_event_destroy(backend_event *event);
ferry_status sim_event_record(backend_event *event, backend_stream *stream);
ferry_status sim_event_query(backend_event *event, bool *done);
ferry_status sim_event_sync(backend_event *event);

ferry_status sim_move(const backend_move *moves, size_t n, backend_stream *stream);
ferry_status sim_touch(const backend_touch *touches, size_t n, backend_stream *stream);
ferry_status sim_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                             backend_kernel **out);
ferry_status sim_kernel_set_host(backend_kernel *kernel, ferry_host_kernel host);
void sim_kernel_unload(backend_kernel *kernel);
ferry_status sim_kernel_launch(backend_kernel *kernel, const ferry_grid *grid, void *const *args, const size_t *sizes,
                               size_t n, backend_stream *stream);

ferry_status sim_device_check(int device);

/* With the lock held: work on the stream's line, begun no sooner than now on the host's. The device's link serves one
 * piece of work after another in each direction, in the order of issue. */
void sim_stream_extend(backend_stream *stream, const struct sim_cost *cost);
/* With the lock held: the host has waited until then. */
void sim_host_reach(uint64_t ns);

#endif
