/* When things happen: kernels run when somebody waits, and the host is caught when it does not. */
#include <pthread.h>

#include "tests/backend/sim_case.h"

static void nothing_runs_until_somebody_waits(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    CHECK_UINT(backend_sim_pending(), 2); /* the kernel and the end of its use */
    CHECK_UINT(device_view(x)[0], 0);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(backend_sim_pending(), 0);
    CHECK_UINT(device_view(x)[0], 1);
}

/* Each question lets one operation happen; streams move on by themselves only so. */
static void questions_let_work_happen(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0), *other = machine_stream(0);
    backend_event *event = machine_event(0);
    bool done = false;
    CHECK_OK(machine->event_query(event, &done));
    CHECK(done);
    machine_add(x + 2 * PAGE_COUNT, x + 2 * PAGE_COUNT, 1, PAGE_COUNT, other);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    CHECK_OK(machine->event_record(event, stream));
    machine_add(x, x, 1, PAGE_COUNT, stream);
    for (int asked = 1; asked <= 5; asked++) {
        CHECK_OK(machine->event_query(event, &done));
        CHECK_INT(done, asked == 5);
    }
    CHECK_UINT(device_view(x)[0], 2);
    CHECK_UINT(device_view(x)[2 * PAGE_COUNT], 0);
    CHECK_UINT(backend_sim_pending(), 4);
}

/* A question about a stream that waits helps the stream it waits for. */
static void questions_reach_through_waits(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *first = machine_stream(0), *second = machine_stream(0);
    backend_event *made = machine_event(0), *used = machine_event(0);
    machine_add(x, x, 1, PAGE_COUNT, first);
    CHECK_OK(machine->event_record(made, first));
    CHECK_OK(machine->stream_wait(second, made));
    CHECK_OK(machine->event_record(used, second));
    bool done = false;
    int asked = 0;
    for (; !done; asked++)
        CHECK_OK(machine->event_query(used, &done));
    CHECK_INT(asked, 5); /* kernel, its end, record; wait, record */
    CHECK_UINT(device_view(x)[0], 1);
}

/* Waits of a hundred streams in a row, begun from the far end. */
static void long_chains_of_waits_unwind(void) {
    enum { STREAMS = 100 };
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *streams[STREAMS];
    backend_event *event = machine_event(0);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = machine_stream(0);
        CHECK_OK(machine->stream_wait(streams[i], event));
        machine_add(x, x, 1, PAGE_COUNT, streams[i]);
        CHECK_OK(machine->event_record(event, streams[i]));
    }
    CHECK_OK(machine->stream_sync(streams[STREAMS - 1]));
    CHECK_UINT(device_view(x)[0], STREAMS);
}

static void a_hasty_host_is_caught(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, 64 * PAGE_COUNT, 0);
    CHECK_OK(machine_move(x, 64 * PAGE, 0, BACKEND_PREFETCH, stream));
    machine_add(x, x, 1, 32 * PAGE_COUNT, stream);
    CHECK_UINT(x[40 * PAGE_COUNT], 40 * PAGE_COUNT); /* nobody writes this one */
    CHECK_UINT(backend_sim_unsynchronised(), 0);
    CHECK_UINT(x[PAGE_COUNT], PAGE_COUNT); /* too early: the old value */
    CHECK_UINT(backend_sim_unsynchronised(), 1);
    CHECK_UINT(x[PAGE_COUNT + 1], PAGE_COUNT + 1);
    CHECK_UINT(backend_sim_unsynchronised(), 1);
    CHECK_UINT(x[2 * PAGE_COUNT],
               2 * PAGE_COUNT); /* came home with its neighbour, but is not given before the kernel ends */
    CHECK_UINT(backend_sim_unsynchronised(), 2);
    CHECK_UINT(counted().cpu_faults, 2);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(x[3 * PAGE_COUNT], 3 * PAGE_COUNT + 1);
    CHECK_UINT(x[20 * PAGE_COUNT], 20 * PAGE_COUNT + 1);
    CHECK_UINT(backend_sim_unsynchronised(), 2);
}

/* Pages that kernels write from afar are watched too, and so are discards. */
static void remote_writes_and_discards_are_watched(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, 8 * PAGE_COUNT, 0);
    machine_add(x, x, 1, 2 * PAGE_COUNT, stream);
    CHECK_UINT(x[0], 0);
    CHECK_UINT(backend_sim_unsynchronised(), 1);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(x[PAGE_COUNT], PAGE_COUNT + 1);

    CHECK_OK(machine_move(x, 4 * PAGE, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine_move(x, 4 * PAGE, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream));
    x[0] = 1;
    CHECK_UINT(backend_sim_unsynchronised(), 2);
    CHECK_OK(machine->stream_sync(stream));
    x[PAGE_COUNT] = 1;
    CHECK_UINT(backend_sim_unsynchronised(), 2);
    CHECK_UINT(counted().cpu_faults, 0);
}

/* Readers disturb nobody; a page that a kernel writes only in part may be a neighbour's as well. */
static void harmless_touches_are_not_reported(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, 8 * PAGE_COUNT, 0);
    CHECK_OK(machine_move(x, 2 * PAGE, 0, BACKEND_PREFETCH, stream));
    touch(x, 2 * PAGE, FERRY_READ, stream);
    touch(x + 4 * PAGE_COUNT, 64, FERRY_WRITE, stream);
    touch(x + 5 * PAGE_COUNT + 16, 2 * PAGE, FERRY_WRITE, stream); /* half a page, a page, half a page */
    CHECK_UINT(x[1], 1);
    CHECK_UINT(x[4 * PAGE_COUNT + 500], 4 * PAGE_COUNT + 500);
    CHECK_UINT(x[5 * PAGE_COUNT], 5 * PAGE_COUNT);
    CHECK_UINT(x[7 * PAGE_COUNT + 500], 7 * PAGE_COUNT + 500);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
    CHECK_UINT(x[6 * PAGE_COUNT], 6 * PAGE_COUNT);
    CHECK_UINT(backend_sim_unsynchronised(), 1);
}

/* Without concurrent access everything populated goes over at a launch, and the host waits or is caught. */
static void without_concurrent_access_all_pages_go(void) {
    uint32_t *x = machine_reserve(BLOCK, true), *bystander = machine_reserve(2 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    CHECK(!machine_concurrent());
    CHECK_STATUS(machine_move(x, PAGE, 0, BACKEND_PREFETCH, stream), FERRY_UNSUPPORTED);
    fill(x, 2 * PAGE_COUNT, 0);
    fill(bystander, 20 * PAGE_COUNT, 0);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    backend_measure got = counted();
    CHECK_UINT(got.bytes_to_device, 22 * PAGE);
    CHECK_UINT(got.gpu_faults + got.remote_bytes_to_device + got.prefetched_bytes_to_device, 0);
    CHECK_INT(place_of(bystander + 19 * PAGE_COUNT), 0);
    CHECK_INT(place_of(bystander + 20 * PAGE_COUNT), FERRY_PLACE_NOWHERE);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(x[0], 1);
    CHECK_UINT(bystander[0], 0);
    got = counted();
    CHECK_UINT(got.cpu_faults, 2);
    CHECK_UINT(got.bytes_to_host, 18 * PAGE); /* x's two pages, and sixteen of the other's */
    CHECK_UINT(backend_sim_unsynchronised(), 0);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    CHECK_UINT(counted().bytes_to_device, 18 * PAGE);
    CHECK_UINT(bystander[5], 5);
    CHECK_UINT(backend_sim_unsynchronised(), 1);
}

static uint32_t *shared;

static void *touch_all(void *stride) {
    size_t step = *(const size_t *)stride;
    for (size_t i = 0; i < BLOCK / PAGE; i += step)
        CHECK_UINT(shared[i * PAGE_COUNT], i * PAGE_COUNT);
    return NULL;
}

/* Threads that touch the same pages at once are served once. All go upwards, so that the first two groups of 64 KiB are
 * brought, and then the one with which more than half of 256 KiB, 512 KiB, 1 MiB and 2 MiB are there. */
static void threads_fault_together(void) {
    shared = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(shared, BLOCK / 4, 0);
    pthread_t threads[4];
    size_t steps[] = {1, 1, 3, 16};
    for (int round = 0; round < 5; round++) {
        CHECK_OK(machine_move(shared, BLOCK, 0, BACKEND_PREFETCH, stream));
        for (int t = 0; t < 4; t++)
            REQUIRE(pthread_create(&threads[t], NULL, touch_all, &steps[t]) == 0);
        for (int t = 0; t < 4; t++)
            pthread_join(threads[t], NULL);
        backend_measure got = counted();
        CHECK_UINT(got.cpu_faults, 6);
        CHECK_UINT(got.bytes_to_host, BLOCK);
    }
}

static void *move_to_and_fro(void *stream) {
    for (int i = 0; i < 200; i++) {
        int page = i * 37 % 300;
        ferry_place to = i % 4 ? 0 : FERRY_PLACE_HOST;
        CHECK_OK(machine_move(shared + (size_t)page * PAGE_COUNT, 200 * PAGE, to, BACKEND_PREFETCH, stream));
    }
    return NULL;
}

/* Pages are taken away while they are read: everybody gets on, and reads what is there. */
static void touches_race_with_moves(void) {
    shared = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(shared, BLOCK / 4, 0);
    pthread_t readers[2], mover;
    size_t steps[] = {1, 5};
    REQUIRE(pthread_create(&mover, NULL, move_to_and_fro, stream) == 0);
    for (int round = 0; round < 10; round++) {
        for (int t = 0; t < 2; t++)
            REQUIRE(pthread_create(&readers[t], NULL, touch_all, &steps[t]) == 0);
        for (int t = 0; t < 2; t++)
            pthread_join(readers[t], NULL);
    }
    pthread_join(mover, NULL);
    CHECK_INT(mismatch(shared, BLOCK / 4, 0), -1);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
}

int main(void) {
    STORY(nothing_runs_until_somebody_waits, "");
    STORY(questions_let_work_happen, "");
    STORY(questions_reach_through_waits, "");
    STORY(long_chains_of_waits_unwind, "");
    STORY(a_hasty_host_is_caught, "");
    STORY(remote_writes_and_discards_are_watched, "");
    STORY(harmless_touches_are_not_reported, "");
    STORY(without_concurrent_access_all_pages_go, "FERRY_SIM_CONCURRENT=0");
    STORY(threads_fault_together, "");
    STORY(touches_race_with_moves, "");
    return test_finish();
}
