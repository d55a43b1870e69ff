/* The backend's own moves: long batches of both kinds, and CUDA's legacy stream, which batched calls refuse. */
#include <cuda_runtime_api.h>

#include "alloc/backend.h"
#include "tests/test.h"

#define RANGES 100
#define RANGE_BYTES (64 * FERRY_PAGE_BYTES / 4)
#define BYTES (8 * FERRY_BLOCK_BYTES)

static const backend *cuda = &backend_cuda;
static unsigned char *region;
static backend_move moves[RANGES];

/* Every other range is overwritten by somebody who needs nothing of it. */
static void make_moves(ferry_place to) {
    for (size_t i = 0; i < RANGES; i++)
        moves[i] = (backend_move){.address = region + i * RANGE_BYTES,
                                  .bytes = RANGE_BYTES,
                                  .to = to,
                                  .kind = i % 2 ? BACKEND_DISCARD_PREFETCH : BACKEND_PREFETCH};
}

static void write_all(void) {
    for (size_t i = 0; i < RANGES * RANGE_BYTES; i++)
        region[i] = (unsigned char)(i / RANGE_BYTES + 1);
}

/* Contents of the prefetched ranges are what the host wrote; the discarded ones' are nobody's business. */
static void check_prefetched(void) {
    size_t wrong = 0;
    for (size_t i = 0; i < RANGES * RANGE_BYTES; i++)
        wrong += (i / RANGE_BYTES) % 2 == 0 && region[i] != (unsigned char)(i / RANGE_BYTES + 1);
    CHECK_UINT(wrong, 0);
}

static void there_and_back(backend_stream *stream) {
    write_all();
    make_moves(0);
    REQUIRE_OK(cuda->move(moves, RANGES, stream));
    make_moves(FERRY_PLACE_HOST);
    REQUIRE_OK(cuda->move(moves, RANGES, stream));
    REQUIRE_OK(cuda->stream_sync(stream));
    check_prefetched();
    REQUIRE_OK(cuda->move(moves, 0, stream));
}

static void long_batches_keep_contents(void) {
    backend_stream *stream;
    REQUIRE_OK(cuda->stream_create(0, &stream));
    CHECK(cuda->stream_native(stream) != NULL);
    there_and_back(stream);
    cuda->stream_destroy(stream);
}

static void callers_streams_serve(void) {
    void *natives[] = {NULL, cudaStreamLegacy, cudaStreamPerThread};
    for (size_t i = 0; i < sizeof natives / sizeof *natives; i++) {
        backend_stream *stream;
        REQUIRE_OK(cuda->stream_wrap(0, natives[i], &stream));
        there_and_back(stream);
        cuda->stream_destroy(stream);
    }
}

static void events_tell_the_end(void) {
    backend_stream *stream, *other;
    backend_event *event;
    bool done = false;
    REQUIRE_OK(cuda->stream_create(0, &stream));
    REQUIRE_OK(cuda->stream_create(0, &other));
    REQUIRE_OK(cuda->event_create(0, &event));
    CHECK_OK(cuda->event_query(event, &done));
    CHECK(done);
    write_all();
    make_moves(0);
    REQUIRE_OK(cuda->move(moves, RANGES, stream));
    REQUIRE_OK(cuda->event_record(event, stream));
    REQUIRE_OK(cuda->stream_wait(other, event));
    CHECK_OK(cuda->event_query(event, &done));
    CHECK(cudaPeekAtLastError() == cudaSuccess); /* "not ready" is no error to leave behind */
    CHECK_OK(cuda->event_sync(event));
    CHECK_OK(cuda->event_query(event, &done));
    CHECK(done);
    cuda->event_destroy(event);
    cuda->stream_destroy(other);
    cuda->stream_destroy(stream);
}

static void regions_are_aligned(void) {
    for (size_t blocks = 1; blocks <= 64; blocks *= 4) {
        void *base = NULL;
        REQUIRE_OK(cuda->reserve(blocks * FERRY_BLOCK_BYTES, blocks != 4, &base));
        CHECK_UINT((uintptr_t)base % FERRY_BLOCK_BYTES, 0);
        memset(base, 1, FERRY_PAGE_BYTES);
        CHECK_OK(cuda->release(base, blocks * FERRY_BLOCK_BYTES));
    }
}

int main(void) {
    ferry_device_info info;
    if (cuda->open())
        SKIP("%s", ferry_error_detail());
    for (int i = 0; i < cuda->device_count(); i++) {
        REQUIRE_OK(cuda->device_get(i, &info));
        if (!info.concurrent_managed_access)
            SKIP("device %d takes no hints", i);
    }
    void *base = NULL;
    REQUIRE_OK(cuda->reserve(BYTES, true, &base));
    region = base;
    RUN(long_batches_keep_contents);
    RUN(callers_streams_serve);
    RUN(events_tell_the_end);
    RUN(regions_are_aligned);
    REQUIRE_OK(cuda->release(region, BYTES));
    return test_finish();
}
