/* Migration: a batch for what keeps its contents and one for what loses them, each one call to the driver. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda_call.h"
#include "cuda_compat.h"

#define INLINE_RANGES 32

/* The driver or the runtime lacks the batched calls: known after the first refusal, for good. */
static atomic_bool batches_missing;

/* `n` ranges as the driver takes them: those to prefetch, then those to discard. */
struct ranges {
    void **addresses;
    size_t *sizes;
    size_t prefetched, total;
    void *heap; /* what to free; NULL while the ranges fit into the two below */
    void *few_addresses[INLINE_RANGES];
    size_t few_sizes[INLINE_RANGES];
};

static void append_kind(struct ranges *ranges, const backend_move *moves, size_t n, backend_move_kind kind) {
    for (size_t i = 0; i < n; i++)
        if (moves[i].kind == kind) {
            ranges->addresses[ranges->total] = moves[i].address;
            ranges->sizes[ranges->total] = moves[i].bytes;
            ranges->total++;
        }
}

static ferry_status ranges_init(struct ranges *ranges, const backend_move *moves, size_t n) {
    ranges->addresses = ranges->few_addresses;
    ranges->sizes = ranges->few_sizes;
    ranges->heap = NULL;
    if (n > INLINE_RANGES) {
        ranges->heap = calloc(n, sizeof(void *) + sizeof(size_t));
        if (!ranges->heap)
            return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to list %zu ranges", n);
        ranges->addresses = ranges->heap;
        ranges->sizes = (size_t *)(ranges->addresses + n);
    }
    ranges->total = 0;
    append_kind(ranges, moves, n, BACKEND_PREFETCH);
    ranges->prefetched = ranges->total;
    append_kind(ranges, moves, n, BACKEND_DISCARD_PREFETCH);
    return FERRY_OK;
}

/* Where there are no batches there is no discard either: contents travel that nobody needs. */
static ferry_status move_singly(const struct ranges *ranges, size_t first, size_t end, ferry_place to,
                                cudaStream_t stream) {
    ferry_status status = FERRY_OK;
    for (size_t i = first; i < end && !status; i++)
        status = cuda_check(cuda_prefetch(ranges->addresses[i], ranges->sizes[i], to, stream), "cudaMemPrefetchAsync");
    return status;
}

static ferry_status move_kind(struct ranges *ranges, bool discard, ferry_place to, cudaStream_t stream) {
    size_t first = discard ? ranges->prefetched : 0, end = discard ? ranges->total : ranges->prefetched;
    if (first == end)
        return FERRY_OK;
    if (!atomic_load_explicit(&batches_missing, memory_order_relaxed)) {
        cudaError_t error =
            cuda_prefetch_batch(ranges->addresses + first, ranges->sizes + first, end - first, discard, to, stream);
        if (error != cudaErrorCallRequiresNewerDriver && error != cudaErrorNotSupported)
            return cuda_check(error, discard ? "cudaMemDiscardAndPrefetchBatchAsync" : "cudaMemPrefetchBatchAsync");
        cudaGetLastError();
        atomic_store_explicit(&batches_missing, true, memory_order_relaxed);
    }
    return move_singly(ranges, first, end, to, stream);
}

static ferry_status move_on(struct ranges *ranges, ferry_place to, cudaStream_t stream) {
    ferry_status status = move_kind(ranges, false, to, stream);
    return status ? status : move_kind(ranges, true, to, stream);
}

/* On a stream beside the legacy one, which the batched calls refuse, in its order. */
static ferry_status move_aside(struct ranges *ranges, ferry_place to, backend_stream *stream) {
    ferry_status status = cuda_check(cudaEventRecord(stream->fork, stream->native), "cudaEventRecord");
    if (!status)
        status = cuda_check(cudaStreamWaitEvent(stream->aside, stream->fork, 0), "cudaStreamWaitEvent");
    if (!status)
        status = move_on(ranges, to, stream->aside);
    if (!status)
        status = cuda_check(cudaEventRecord(stream->join, stream->aside), "cudaEventRecord");
    if (!status)
        status = cuda_check(cudaStreamWaitEvent(stream->native, stream->join, 0), "cudaStreamWaitEvent");
    return status;
}

ferry_status cuda_move(const backend_move *moves, size_t n, backend_stream *stream) {
    if (n == 0)
        return FERRY_OK;
    ferry_status status = cuda_refuse_capture(stream, "no memory can be moved in it");
    if (status)
        return status;
    struct ranges ranges;
    if ((status = ranges_init(&ranges, moves, n)))
        return status;
    struct cuda_scope scope;
    if ((status = cuda_enter(&scope, stream->device)))
        goto free_ranges;
    status = stream->aside ? move_aside(&ranges, moves[0].to, stream) : move_on(&ranges, moves[0].to, stream->native);
    cuda_leave(&scope);
free_ranges:
    free(ranges.heap);
    return status;
}
