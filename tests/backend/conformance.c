/* conformance BACKEND: what every backend does, told only through the contract. */
#include <pthread.h>

#include "tests/backend/machine.h"

#define BYTES ((size_t)4 << 20)
#define COUNT (BYTES / sizeof(uint32_t))

static bool concurrent;

static void devices_describe_themselves(void) {
    int count = machine->device_count();
    REQUIRE(count >= 1);
    ferry_device_info info;
    for (int d = 0; d < count; d++) {
        REQUIRE_OK(machine->device_get(d, &info));
        CHECK(info.name[0] != '\0');
        CHECK(info.total_bytes > 0 && info.free_bytes <= info.total_bytes);
    }
    CHECK_STATUS(machine->device_get(count, &info), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->device_get(-1, &info), FERRY_INVALID_ARGUMENT);
}

static void devices_that_do_not_exist_are_refused(void) {
    backend_stream *stream = NULL;
    backend_event *event = NULL;
    int count = machine->device_count();
    CHECK_STATUS(machine->stream_create(count, &stream), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(machine->event_create(-1, &event), FERRY_INVALID_ARGUMENT);
    CHECK(ferry_error_detail()[0] != '\0');
    CHECK(stream == NULL && event == NULL);
    machine->stream_destroy(NULL);
    machine->event_destroy(NULL);
}

static void regions_are_aligned_and_zero(void) {
    for (int homed = 0; homed < 2; homed++) {
        uint32_t *a = machine_reserve(BYTES, homed), *b = machine_reserve(FERRY_BLOCK_BYTES, homed);
        CHECK_UINT((uintptr_t)a % FERRY_BLOCK_BYTES, 0);
        CHECK_UINT((uintptr_t)b % FERRY_BLOCK_BYTES, 0);
        uint32_t any = 0;
        for (size_t i = 0; i < COUNT; i++)
            any |= a[i];
        CHECK_UINT(any, 0);
        CHECK_OK(machine->release(b, FERRY_BLOCK_BYTES));
        CHECK_OK(machine->release(a, BYTES));
    }
}

/* Address space is cheap: nothing here may touch it all. */
static void a_large_region_costs_nothing(void) {
    size_t bytes = (size_t)16 << 30;
    uint32_t *x = machine_reserve(bytes, true);
    x[bytes / 4 - 1] = 7;
    CHECK_UINT(x[bytes / 4 - 1], 7);
    CHECK_UINT(x[bytes / 8], 0);
    CHECK_OK(machine->release(x, bytes));
}

static void kernels_see_the_host_and_the_host_sees_kernels(void) {
    backend_stream *stream = machine_stream(0);
    for (int homed = 0; homed < 2; homed++) {
        uint32_t *x = machine_reserve(2 * BYTES, homed), *y = x + COUNT;
        fill(x, COUNT, 1);
        machine_add(y, x, 10, COUNT, stream);
        machine_add(y, y, 100, COUNT, stream);
        CHECK_OK(machine->stream_sync(stream));
        CHECK_INT(mismatch(y, COUNT, 111), -1);
        CHECK_INT(mismatch(x, COUNT, 1), -1);
        CHECK_OK(machine->release(x, 2 * BYTES));
    }
    machine->stream_destroy(stream);
}

/* A never-touched page that a kernel reads is zero. */
static void kernels_read_zero_from_fresh_pages(void) {
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(BYTES, true);
    machine_add(x, x, 5, COUNT, stream);
    CHECK_OK(machine->stream_sync(stream));
    bool all = true;
    for (size_t i = 0; i < COUNT; i++)
        all = all && x[i] == 5;
    CHECK(all);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, BYTES));
}

static void launches_copy_their_arguments(void) {
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(BYTES, true);
    for (uint32_t i = 0; i < 100; i++)
        machine_add(x, x, i, COUNT, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(x[0], 4950);
    CHECK_UINT(x[COUNT - 1], 4950);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, BYTES));
}

static void kernels_without_their_half_are_refused(void) {
    backend_stream *stream = machine_stream(0);
    backend_kernel *nothing = NULL;
    ferry_grid grid = {.blocks = {1}, .threads = {1}};
    if (machine->kernel_load(NULL, 0, "nothing", NULL, &nothing) == FERRY_OK) {
        CHECK_STATUS(machine->kernel_launch(nothing, &grid, NULL, NULL, 0, stream), FERRY_UNSUPPORTED);
        machine->kernel_unload(nothing);
    }
    CHECK_OK(machine->stream_sync(stream));
    machine->stream_destroy(stream);
}

static void moves_keep_contents(void) {
    if (!concurrent)
        return;
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(2 * BYTES, true);
    fill(x, COUNT, 3);
    CHECK_OK(machine_move(x, BYTES, 0, BACKEND_PREFETCH, stream));
    machine_add(x, x, 1, COUNT, stream);
    CHECK_OK(machine_move(x, BYTES, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_INT(mismatch(x, COUNT, 4), -1);

    CHECK_OK(machine_move(x, FERRY_PAGE_BYTES, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_INT(mismatch(x, COUNT, 4), -1);
    x[0] = 40;
    machine_add(x, x, 1, COUNT, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(x[0], 41);
    CHECK_UINT(x[1], 6);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, 2 * BYTES));
}

/* What is written after a discard is what counts, on either side. */
static void discarded_pages_can_be_written(void) {
    if (!concurrent)
        return;
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(2 * BYTES, true), *y = x + COUNT;
    fill(x, COUNT, 0);
    fill(y, COUNT, 0);
    backend_move moves[] = {{x, BYTES, 0, BACKEND_PREFETCH}, {y, BYTES, 0, BACKEND_DISCARD_PREFETCH}};
    CHECK_OK(machine->move(moves, 2, stream));
    machine_add(y, x, 9, COUNT, stream);
    CHECK_OK(machine_move(x, BYTES, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_INT(mismatch(y, COUNT, 9), -1);
    fill(x, COUNT, 77);
    CHECK_INT(mismatch(x, COUNT, 77), -1);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, 2 * BYTES));
}

static void await(backend_event *event) {
    bool done = false;
    while (!done)
        REQUIRE_OK(machine->event_query(event, &done));
}

static void events_tell_when_work_is_done(void) {
    backend_stream *stream = machine_stream(0);
    backend_event *event = machine_event(0);
    uint32_t *x = machine_reserve(BYTES, true);
    await(event);
    CHECK_OK(machine->event_sync(event));
    CHECK_OK(machine->stream_wait(stream, event));

    machine_add(x, x, 1, COUNT, stream);
    CHECK_OK(machine->event_record(event, stream));
    await(event);
    if (concurrent)
        CHECK_UINT(x[COUNT - 1], 1);
    machine_add(x, x, 1, COUNT, stream);
    CHECK_OK(machine->event_record(event, stream));
    CHECK_OK(machine->event_sync(event));
    CHECK_UINT(x[COUNT - 1], 2);
    await(event);
    machine->event_destroy(event);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, BYTES));
}

/* Two streams hand one array to and fro: each waits for the other's latest record, which is recorded anew every time.
 */
static void streams_wait_for_each_other(void) {
    backend_stream *streams[] = {machine_stream(0), machine_stream(machine->device_count() - 1)};
    backend_event *events[] = {machine_event(0), machine_event(machine->device_count() - 1)};
    uint32_t *x = machine_reserve(2 * BYTES, true), *y = x + COUNT;
    for (int i = 0; i < 20; i++) {
        int me = i % 2;
        CHECK_OK(machine->stream_wait(streams[me], events[1 - me]));
        machine_add(me ? x : y, me ? y : x, 1, COUNT, streams[me]);
        CHECK_OK(machine->event_record(events[me], streams[me]));
    }
    CHECK_OK(machine->stream_sync(streams[1]));
    CHECK_UINT(x[0], 20);
    CHECK_UINT(y[COUNT - 1], 19);
    for (int s = 0; s < 2; s++) {
        machine->event_destroy(events[s]);
        machine->stream_destroy(streams[s]);
    }
    CHECK_OK(machine->release(x, 2 * BYTES));
}

/* A wait means the record that was the latest when it was called. */
static void waits_bind_when_called(void) {
    backend_stream *first = machine_stream(0), *second = machine_stream(0);
    backend_event *event = machine_event(0);
    uint32_t *x = machine_reserve(BYTES, true);
    machine_add(x, x, 1, COUNT, first);
    CHECK_OK(machine->event_record(event, first));
    CHECK_OK(machine->stream_wait(second, event));
    CHECK_OK(machine->event_record(event, second));
    CHECK_OK(machine->event_sync(event));
    machine->event_destroy(event);
    CHECK_OK(machine->stream_sync(second));
    CHECK_UINT(x[7], 1);
    machine->stream_destroy(second);
    machine->stream_destroy(first);
    CHECK_OK(machine->release(x, BYTES));
}

static bool near(uint64_t got, uint64_t want) {
    return got >= want && got - want <= FERRY_BLOCK_BYTES;
}

static void traces_count_each_way_once(void) {
    if (!concurrent)
        return;
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(2 * BYTES, true);
    /* Before the trace: CUPTI counts the host's first touch of a fresh block among its faults. */
    fill(x, 2 * COUNT, 1);
    if (machine->trace_start() != FERRY_OK) {
        fprintf(stderr, "not traced: %s\n", ferry_error_detail());
        machine->stream_destroy(stream);
        CHECK_OK(machine->release(x, 2 * BYTES));
        return;
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(machine_move(x, 2 * BYTES, 0, BACKEND_PREFETCH, stream));
    machine_add(x, x, 1, 2 * COUNT, stream);
    for (int i = 0; i < 2; i++)
        CHECK_OK(machine_move(x, 2 * BYTES, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_INT(mismatch(x, 2 * COUNT, 2), -1);

    backend_measure got = {0};
    CHECK_OK(machine->trace_read(&got));
    CHECK(near(got.bytes_to_device, 2 * BYTES));
    CHECK(near(got.bytes_to_host, 2 * BYTES));
    CHECK(near(got.prefetched_bytes_to_device, 2 * BYTES));
    CHECK(near(got.prefetched_bytes_to_host, 2 * BYTES));
    CHECK_UINT(got.gpu_faults, 0);
    CHECK_UINT(got.cpu_faults, 0);
    CHECK_OK(machine->trace_stop());
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, 2 * BYTES));
}

static void traces_refuse_what_makes_no_sense(void) {
    backend_measure got = {0};
    CHECK(machine->trace_stop() != FERRY_OK);
    CHECK(machine->trace_read(&got) != FERRY_OK);
    if (machine->trace_start() != FERRY_OK)
        return;
    CHECK(machine->trace_start() != FERRY_OK);
    CHECK_OK(machine->trace_stop());
    CHECK(machine->trace_stop() != FERRY_OK);
}

static void devices_hand_pages_to_each_other(void) {
    int count = machine->device_count();
    if (count < 2 || !concurrent)
        return;
    uint32_t *x = machine_reserve(BYTES, true);
    fill(x, COUNT, 0);
    for (int d = 0; d < count; d++) {
        backend_stream *stream = machine_stream(d);
        CHECK_OK(machine_move(x, BYTES, d, BACKEND_PREFETCH, stream));
        machine_add(x, x, 1, COUNT, stream);
        CHECK_OK(machine->stream_sync(stream));
        machine->stream_destroy(stream);
    }
    CHECK_INT(mismatch(x, COUNT, (uint32_t)count), -1);
    CHECK_OK(machine->release(x, BYTES));
}

static bool pages_are(const unsigned char *present, size_t n, int want) {
    for (size_t i = 0; i < n; i++)
        if (present[i] != want)
            return false;
    return true;
}

/* Fresh pages, touched pages, pages on a device, and pages that came home, all in one question. */
static void the_page_tables_can_be_asked(void) {
    if (!machine->observe || !concurrent)
        return;
    enum { PAGES = 4 * FERRY_BLOCK_BYTES / FERRY_PAGE_BYTES, PART = PAGES / 4 };
    unsigned char present[PAGES];
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(PAGES * FERRY_PAGE_BYTES, true);
    CHECK_OK(machine->observe(x, PAGES, present));
    CHECK(pages_are(present, PAGES, 0));

    fill(x, 3 * FERRY_BLOCK_BYTES / 4, 0);
    CHECK_OK(machine_move(x, 2 * FERRY_BLOCK_BYTES, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(x, FERRY_BLOCK_BYTES, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    memset(present, 77, sizeof present);
    CHECK_OK(machine->observe(x, PAGES, present));
    CHECK(pages_are(present, PART, 1));
    CHECK(pages_are(present + PART, PART, 0));
    CHECK(pages_are(present + 2 * PART, PART, 1));
    CHECK(pages_are(present + 3 * PART, PART, 0));
    CHECK_OK(machine->observe(x + FERRY_BLOCK_BYTES / 4, 1, present));
    CHECK_INT(present[0], 0);
    CHECK_INT(mismatch(x, 3 * FERRY_BLOCK_BYTES / 4, 0), -1);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, PAGES * FERRY_PAGE_BYTES));
}

static void links_can_be_measured(void) {
    ferry_link_costs costs = {.remote_ns = -1};
    if (!machine->link_measure)
        return;
    CHECK_STATUS(machine->link_measure(0, &costs), concurrent ? FERRY_OK : FERRY_UNSUPPORTED);
    if (concurrent) {
#define NOT_NEGATIVE(name, text) CHECK_THAT(costs.name >= 0, #name " is %g", costs.name);
        FERRY_LINK_LIST(NOT_NEGATIVE)
#undef NOT_NEGATIVE
        CHECK(costs.to_device_ns_per_byte > 0 && costs.to_host_ns_per_byte > 0 && costs.remote_both_ns_per_byte > 0);
        CHECK(costs.device_ns_per_byte > 0 && costs.device_ns_per_byte < costs.to_device_ns_per_byte);
    } else {
        CHECK(costs.remote_ns == -1);
    }
}

/* Costs that are worth caching have a name, and always the same. */
static void links_may_have_an_identity(void) {
    char first[256], second[256];
    if (!machine->link_identity)
        return;
    CHECK_OK(machine->link_identity(0, first, sizeof first));
    CHECK_OK(machine->link_identity(0, second, sizeof second));
    CHECK_STRING(first, second);
    CHECK(first[0] != '\0');
}

/* Work on a stream of the library's own, and waiting for it, is no capture. */
static void streams_are_not_captured_by_themselves(void) {
    if (!machine->stream_is_captured)
        return;
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(BYTES, true);
    CHECK(!machine->stream_is_captured(stream));
    machine_add(x, x, 1, COUNT, stream);
    CHECK(!machine->stream_is_captured(stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK(!machine->stream_is_captured(stream));
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, BYTES));
}

static void the_clock_does_not_go_back(void) {
    uint64_t before = machine->now_ns();
    backend_stream *stream = machine_stream(0);
    uint32_t *x = machine_reserve(BYTES, true);
    machine_add(x, x, 1, COUNT, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK(machine->now_ns() > before);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, BYTES));
}

/* What is still queued when a stream or its memory goes is done first. */
static void nothing_queued_is_lost(void) {
    uint32_t *x = machine_reserve(BYTES, true);
    backend_stream *stream = machine_stream(0);
    backend_event *event = machine_event(0);
    machine_add(x, x, 3, COUNT, stream);
    CHECK_OK(machine->event_record(event, stream));
    machine->stream_destroy(stream);
    CHECK_OK(machine->event_sync(event));
    CHECK_UINT(x[0], 3);
    machine->event_destroy(event);
    CHECK_OK(machine->release(x, BYTES));
}

static void *work_alone(void *argument) {
    backend_stream *stream = machine_stream(0);
    backend_event *event = machine_event(0);
    uint32_t *x = machine_reserve(FERRY_BLOCK_BYTES, true);
    size_t n = FERRY_BLOCK_BYTES / 4;
    for (uint32_t i = 0; i < 20; i++) {
        if (concurrent && i % 3 == 0)
            CHECK_OK(machine_move(x, FERRY_BLOCK_BYTES, 0, BACKEND_PREFETCH, stream));
        machine_add(x, x, 1, n, stream);
        CHECK_OK(machine->event_record(event, stream));
        i % 2 ? await(event) : (void)CHECK_OK(machine->event_sync(event));
        if (concurrent)
            CHECK_UINT(x[n - 1], i + 1);
    }
    machine->event_destroy(event);
    machine->stream_destroy(stream);
    CHECK_OK(machine->release(x, FERRY_BLOCK_BYTES));
    return argument;
}

static void threads_work_side_by_side(void) {
    pthread_t threads[4];
    for (int t = 0; t < 4; t++)
        REQUIRE(pthread_create(&threads[t], NULL, work_alone, NULL) == 0);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
}

static backend_stream *shared_stream;
static backend_event *shared_event;

static void *wait_along(void *argument) {
    CHECK_OK(machine->event_sync(shared_event));
    CHECK_OK(machine->stream_sync(shared_stream));
    return argument;
}

/* Several threads wait for one queue; each kernel runs once. */
static void threads_wait_for_one_stream(void) {
    uint32_t *x = machine_reserve(BYTES, true);
    shared_stream = machine_stream(0);
    shared_event = machine_event(0);
    pthread_t threads[3];
    for (int i = 0; i < 10; i++)
        machine_add(x, x, 1, COUNT, shared_stream);
    CHECK_OK(machine->event_record(shared_event, shared_stream));
    for (int i = 0; i < 10; i++)
        machine_add(x, x, 1, COUNT, shared_stream);
    for (int t = 0; t < 3; t++)
        REQUIRE(pthread_create(&threads[t], NULL, wait_along, NULL) == 0);
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    CHECK_UINT(x[0], 20);
    CHECK_UINT(x[COUNT - 1], 20);
    machine->event_destroy(shared_event);
    machine->stream_destroy(shared_stream);
    CHECK_OK(machine->release(x, BYTES));
}

int main(int count, char **arguments) {
    machine_open(count > 1 ? arguments[1] : "sim");
    concurrent = machine_concurrent();
    RUN(devices_describe_themselves);
    RUN(devices_that_do_not_exist_are_refused);
    RUN(regions_are_aligned_and_zero);
    RUN(a_large_region_costs_nothing);
    RUN(kernels_see_the_host_and_the_host_sees_kernels);
    RUN(kernels_read_zero_from_fresh_pages);
    RUN(launches_copy_their_arguments);
    RUN(kernels_without_their_half_are_refused);
    RUN(moves_keep_contents);
    RUN(discarded_pages_can_be_written);
    RUN(events_tell_when_work_is_done);
    RUN(streams_wait_for_each_other);
    RUN(waits_bind_when_called);
    RUN(traces_count_each_way_once);
    RUN(traces_refuse_what_makes_no_sense);
    RUN(devices_hand_pages_to_each_other);
    RUN(the_page_tables_can_be_asked);
    RUN(links_can_be_measured);
    RUN(links_may_have_an_identity);
    RUN(streams_are_not_captured_by_themselves);
    RUN(the_clock_does_not_go_back);
    RUN(nothing_queued_is_lost);
    if (concurrent)
        RUN(threads_work_side_by_side);
    RUN(threads_wait_for_one_stream);
    return test_finish();
}
