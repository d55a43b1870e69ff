/* Streams and events of the cuda backend. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda_call.h"

bool cuda_is_captured(const backend_stream *stream) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(stream->native, &capture);
    if (error == cudaErrorStreamCaptureImplicit) { /* the legacy stream, while a stream that waits for it is captured */
        cudaGetLastError();
        return true;
    }
    return error == cudaSuccess && capture != cudaStreamCaptureStatusNone;
}

ferry_status cuda_refuse_capture(const backend_stream *stream, const char *refused) {
    if (!cuda_is_captured(stream))
        return FERRY_OK;
    return ferry_error(FERRY_UNSUPPORTED, "the stream is being captured into a graph: %s", refused);
}

static ferry_status check_device(int device) {
    if (device >= 0 && device < cuda_device_count())
        return FERRY_OK;
    return ferry_error(FERRY_INVALID_ARGUMENT, "device %d of %d", device, cuda_device_count());
}

/* What lets a batch go before the later work of the legacy stream and after its earlier work. */
static ferry_status open_aside(backend_stream *stream) {
    ferry_status status =
        cuda_check(cudaStreamCreateWithFlags(&stream->aside, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    if (!status)
        status =
            cuda_check(cudaEventCreateWithFlags(&stream->fork, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    if (!status)
        status =
            cuda_check(cudaEventCreateWithFlags(&stream->join, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return status;
}

static ferry_status open_stream(backend_stream *stream) {
    if (stream->owned)
        return cuda_check(cudaStreamCreateWithFlags(&stream->native, cudaStreamNonBlocking),
                          "cudaStreamCreateWithFlags");
    bool legacy = !stream->native || stream->native == cudaStreamLegacy;
    return legacy ? open_aside(stream) : FERRY_OK;
}

static ferry_status make_stream(int device, cudaStream_t native, bool owned, backend_stream **out) {
    ferry_status status = check_device(device);
    if (status)
        return status;
    backend_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a stream");
    *stream = (backend_stream){.native = native, .device = device, .owned = owned};
    struct cuda_scope scope;
    status = cuda_enter(&scope, device);
    if (status) {
        free(stream);
        return status;
    }
    status = open_stream(stream);
    cuda_leave(&scope);
    if (status) {
        cuda_stream_destroy(stream);
        return status;
    }
    cuda_note_device(device);
    *out = stream;
    return FERRY_OK;
}

ferry_status cuda_stream_create(int device, backend_stream **out) {
    return make_stream(device, NULL, true, out);
}

ferry_status cuda_stream_wrap(int device, void *native, backend_stream **out) {
    return make_stream(device, native, false, out);
}

void cuda_stream_destroy(backend_stream *stream) {
    struct cuda_scope scope;
    if (!stream)
        return;
    bool entered = cuda_enter(&scope, stream->device) == FERRY_OK;
    if (stream->owned && stream->native)
        cudaStreamDestroy(stream->native);
    if (stream->join)
        cudaEventDestroy(stream->join);
    if (stream->fork)
        cudaEventDestroy(stream->fork);
    if (stream->aside)
        cudaStreamDestroy(stream->aside);
    if (entered)
        cuda_leave(&scope);
    free(stream);
}

void *cuda_stream_native(backend_stream *stream) {
    return stream->native;
}

ferry_status cuda_stream_sync(backend_stream *stream) {
    ferry_status status = cuda_refuse_capture(stream, "it cannot be waited for");
    if (status)
        return status;
    struct cuda_scope scope;
    if ((status = cuda_enter(&scope, stream->device)))
        return status;
    status = cuda_check(cudaStreamSynchronize(stream->native), "cudaStreamSynchronize");
    cuda_leave(&scope);
    return status;
}

void cuda_stream_settle(backend_stream *stream, uint64_t at_most_ns) {
    struct cuda_scope scope;
    if (cuda_is_captured(stream) || cuda_enter(&scope, stream->device))
        return;
    const uint64_t begun_ns = backend_cuda.now_ns();
    cudaError_t error;
    while ((error = cudaStreamQuery(stream->native)) == cudaErrorNotReady &&
           backend_cuda.now_ns() - begun_ns < at_most_ns)
        continue;
    if (error)
        cudaGetLastError(); /* a failed kernel is reported by who waits for it */
    cuda_leave(&scope);
}

ferry_status cuda_stream_wait(backend_stream *stream, backend_event *event) {
    if (cuda_is_captured(stream)) /* an event from outside the capture would end it: the host waits instead */
        return cuda_event_sync(event);
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, stream->device);
    if (status)
        return status;
    status = cuda_check(cudaStreamWaitEvent(stream->native, event->native, 0), "cudaStreamWaitEvent");
    cuda_leave(&scope);
    return status;
}

ferry_status cuda_event_create(int device, backend_event **out) {
    ferry_status status = check_device(device);
    if (status)
        return status;
    backend_event *event = calloc(1, sizeof *event);
    if (!event)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an event");
    event->device = device;
    struct cuda_scope scope;
    if ((status = cuda_enter(&scope, device)))
        goto free_event;
    status = cuda_check(cudaEventCreateWithFlags(&event->native, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    cuda_leave(&scope);
    if (status)
        goto free_event;
    *out = event;
    return FERRY_OK;
free_event:
    free(event);
    return status;
}

void cuda_event_destroy(backend_event *event) {
    struct cuda_scope scope;
    if (!event)
        return;
    bool entered = cuda_enter(&scope, event->device) == FERRY_OK;
    cudaEventDestroy(event->native);
    if (entered)
        cuda_leave(&scope);
    free(event);
}

/*
 * An event recorded into a capture could not be asked, and one that counted as done would say so of the stream's
 * earlier work too, which may be running still.
 */
ferry_status cuda_event_record(backend_event *event, backend_stream *stream) {
    if (event->device != stream->device)
        return ferry_error(FERRY_INVALID_ARGUMENT, "an event of device %d recorded on device %d", event->device,
                           stream->device);
    ferry_status refused = cuda_refuse_capture(stream, "its work cannot be waited for");
    if (refused)
        return refused;
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, stream->device);
    if (status)
        return status;
    status = cuda_check(cudaEventRecord(event->native, stream->native), "cudaEventRecord");
    cuda_leave(&scope);
    return status;
}

ferry_status cuda_event_query(backend_event *event, bool *done) {
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, event->device);
    if (status)
        return status;
    cudaError_t error = cudaEventQuery(event->native);
    if (error != cudaSuccess)
        cudaGetLastError();
    *done = error != cudaErrorNotReady;
    cuda_leave(&scope);
    return FERRY_OK;
}

ferry_status cuda_event_sync(backend_event *event) {
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, event->device);
    if (status)
        return status;
    status = cuda_check(cudaEventSynchronize(event->native), "cudaEventSynchronize");
    cuda_leave(&scope);
    return status;
}
