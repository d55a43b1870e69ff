/*
 * What the files of the cuda backend share. Include cuda_runtime_api.h first: only those files may see CUDA's headers.
 */
#ifndef FERRY_ALLOC_CUDA_CALL_H
#define FERRY_ALLOC_CUDA_CALL_H

#include <stdatomic.h>

#include "backend.h"

struct backend_stream {
    cudaStream_t native;
    int device;
    bool owned; /* made by us: destroyed with the wrapper */
    /* Batches refuse CUDA's legacy stream. Where that is wrapped, they go to `aside`, between `fork` and `join`; else
     * NULL. */
    cudaStream_t aside;
    cudaEvent_t fork, join;
};

struct backend_event {
    cudaEvent_t native;
    int device;
};

/* The thread's state that a call changes and gives back: its current device, and how strictly CUDA watches for calls
 * that a stream capture elsewhere in the process forbids. */
struct cuda_scope {
    int device; /* the caller's */
    bool switched;
    enum cudaStreamCaptureMode mode; /* the caller's */
};

#define CUDA_SAME_DEVICE (-1)

/* Makes `device` current (CUDA_SAME_DEVICE: leaves it). On success cuda_leave must follow. */
ferry_status cuda_enter(struct cuda_scope *scope, int device);
void cuda_leave(struct cuda_scope *scope);

/* At exit the runtime may be gone before us: what it no longer has needs no more work. */
static inline bool cuda_succeeded(cudaError_t error) {
    return error == cudaSuccess || error == cudaErrorCudartUnloading;
}

/* FERRY_OK, or FERRY_BACKEND with a detail that names the call; the runtime's own record of the error is cleared. */
ferry_status cuda_check(cudaError_t error, const char *call);

/* The runtime's name and text for an error, after clearing its record of it. */
const char *cuda_text(cudaError_t error);

bool cuda_is_captured(const backend_stream *stream);

/* FERRY_UNSUPPORTED, saying what was `refused`, while the stream is being captured. */
ferry_status cuda_refuse_capture(const backend_stream *stream, const char *refused);

int cuda_device_count(void);

/* Notes that a device has work of ours; waits for all such devices. */
void cuda_note_device(int device);
ferry_status cuda_wait_devices(void);

ferry_status cuda_move(const backend_move *moves, size_t n, backend_stream *stream);

ferry_status cuda_stream_create(int device, backend_stream **out);
ferry_status cuda_stream_wrap(int device, void *native, backend_stream **out);
void cuda_stream_destroy(backend_stream *stream);
void *cuda_stream_native(backend_stream *stream);
ferry_status cuda_stream_sync(backend_stream *stream);
void cuda_stream_settle(backend_stream *stream, uint64_t at_most_ns);
ferry_status cuda_stream_wait(backend_stream *stream, backend_event *event);

ferry_status cuda_event_create(int device, backend_event **out);
void cuda_event_destroy(backend_event *event);
ferry_status cuda_event_record(backend_event *event, backend_stream *stream);
ferry_status cuda_event_query(backend_event *event, bool *done);
ferry_status cuda_event_sync(backend_event *event);

ferry_status cuda_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                              backend_kernel **out);
ferry_status cuda_kernel_set_host(backend_kernel *kernel, ferry_host_kernel host);
void cuda_kernel_unload(backend_kernel *kernel);
ferry_status cuda_kernel_launch(backend_kernel *kernel, const ferry_grid *grid, void *const *args, const size_t *sizes,
                                size_t n, backend_stream *stream);

ferry_status cuda_observe(const void *address, size_t n, unsigned char *present);
ferry_status cuda_link_measure(int device, ferry_link_costs *out);
ferry_status cuda_link_identity(int device, char *text, size_t bytes);

ferry_status cuda_trace_start(void);
ferry_status cuda_trace_read(backend_measure *out);
ferry_status cuda_trace_stop(void);

#endif
