/* Several devices, and devices without concurrent access (with the argument "separate"). */
#include "alloc/core.h"
#include "tests/alloc/story.h"

static bool all_bytes(const ferry_view *view, unsigned char value) {
    const unsigned char *data = view->data;
    return data[0] == value && memcmp(data, data + 1, (size_t)view->shape[0] - 1) == 0;
}

static ferry_stream *streams[3];

static void array_goes_from_device_to_device(void) {
    const ferry_view x = story_array(NULL, 3 * BLOCK, 1);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READ, 0, streams[1]));
    CHECK_INT(ferry_view_place(&x), 1);
    STORY_MOVED(3 * BLOCK, 0);
    CHECK_OK(story_use(&x, FERRY_READWRITE, 5, streams[2]));
    ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_between_devices, 3 * BLOCK);
    CHECK_UINT(counts.bytes_to_device, 0);
    CHECK_INT(ferry_view_place(&x), 2);
    CHECK_INT(backend_sim_page_place(x.data), 2);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_WRITE, 6, streams[0]));
    counts = story_counts();
    CHECK_UINT(counts.bytes_between_devices, 0);
    CHECK_UINT(counts.discarded_bytes, 3 * BLOCK);
    CHECK_INT(ferry_view_place(&x), 0);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK(all_bytes(&x, 6));
    ferry_free(x.data);
}

static void parts_live_on_several_devices(void) {
    const ferry_view x = story_array(NULL, 3 * BLOCK, 1);
    for (int i = 0; i < 3; i++) {
        const ferry_view part = story_slice(&x, (size_t)i * BLOCK + 10, ((size_t)i + 1) * BLOCK - 10);
        CHECK_OK(story_use(&part, FERRY_READWRITE, (unsigned char)(i + 10), streams[i]));
    }
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_MIXED);
    story_reset();
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    STORY_MOVED(0, 3 * BLOCK);
    const unsigned char *data = x.data;
    for (size_t i = 0; i < 3; i++) {
        CHECK(data[i * BLOCK + 9] == 1 && data[i * BLOCK + 10] == i + 10);
        CHECK(data[(i + 1) * BLOCK - 11] == i + 10 && data[(i + 1) * BLOCK - 10] == 1);
    }
    ferry_free(x.data);
}

static void streams_know_their_device(void) {
    ferry_stream *none = NULL;
    CHECK_INT(ferry_stream_device(streams[2]), 2);
    CHECK_INT(ferry_stream_device(NULL), 0);
    CHECK_STATUS(ferry_stream_create(3, &none), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_stream_create(-1, &none), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_stream_wrap(0, NULL, &none), FERRY_UNSUPPORTED);
    CHECK(none == NULL);
    ferry_stream_destroy(NULL);
    CHECK_INT(ferry_device_count(), 3);
    const ferry_view x = story_array(NULL, BLOCK, 1);
    CHECK_STATUS(ferry_prefetch(&x, 1, streams[2]), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_prefetch(&x, 1, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_OK(ferry_prefetch(&x, 1, streams[1]));
    CHECK_INT(ferry_view_place(&x), 1);
    ferry_free(x.data);
}

/* A writer on one device, readers on the others, a writer again: contents say whether all waited. */
static void kernels_wait_for_other_devices(void) {
    const ferry_view x = story_array(NULL, BLOCK, 1);
    for (unsigned char round = 1; round < 60; round++) {
        CHECK_OK(story_use(&x, FERRY_WRITE, round, streams[round % 3]));
        CHECK_OK(story_use(&x, FERRY_READ, 0, streams[(round + 1) % 3]));
        CHECK_OK(story_use(&x, FERRY_READ, 0, streams[(round + 2) % 3]));
        if (round % 7 == 0) {
            CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
            CHECK(all_bytes(&x, round));
        }
    }
    ferry_free(x.data);
    CHECK_OK(ferry_sync(NULL));
    CHECK_UINT(backend_sim_pending(), 0);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
}

/* Without concurrent access nothing is hinted, and the host waits for every kernel, its array's or not. */
static void separate_devices_get_no_hints(void) {
    const ferry_view x = story_array(NULL, BLOCK, 1), y = story_array(NULL, BLOCK, 2);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READWRITE, 5, NULL));
    CHECK_OK(ferry_host_acquire(&y, FERRY_READ));
    CHECK_UINT(backend_sim_pending(), 0);
    CHECK(all_bytes(&y, 2));
    CHECK_OK(ferry_host_acquire(&x, FERRY_READWRITE));
    CHECK(all_bytes(&x, 5));
    CHECK_OK(ferry_prefetch(&x, 0, NULL));
    const ferry_stats counts = story_counts();
    CHECK_UINT(counts.prefetches_issued, 0);
    CHECK_UINT(counts.discarded_bytes, 0);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
    CHECK_OK(story_use(&x, FERRY_WRITE, 6, NULL));
    ferry_free(x.data);
    ferry_free(y.data);
}

int main(int argc, char **argv) {
    const bool separate = argc > 1 && strcmp(argv[1], "separate") == 0;
    setenv("FERRY_BACKEND", "sim", 1);
    setenv("FERRY_SIM_DEVICES", "3", 1);
    if (separate) {
        setenv("FERRY_SIM_CONCURRENT", "0", 1);
        REQUIRE_OK(ferry_init(NULL));
        RUN(separate_devices_get_no_hints);
        return test_finish();
    }
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(ferry_stream_create(i, &streams[i]));
    }
    RUN(streams_know_their_device);
    RUN(array_goes_from_device_to_device);
    RUN(parts_live_on_several_devices);
    RUN(kernels_wait_for_other_devices);
    return test_finish();
}
