/* The virtual clock against figures worked out by hand from the row h200-pcie5. Bytes divided by GB/s are nanoseconds.
 */
#include "alloc/sim_link.h"
#include "tests/backend/sim_case.h"

#define GIB ((uint64_t)1 << 30)

static uint64_t elapsed(void) {
    static uint64_t before;
    uint64_t now = machine->now_ns(), since = now - before;
    before = now;
    return since;
}

static void rows_add_up(void) {
    const struct sim_link *link = sim_link_find("h200-pcie5");
    REQUIRE(link != NULL);
    CHECK(sim_link_default(true) == link);
    struct sim_work up = {.to_device = GIB}, down = {.to_host = GIB}, none = {0};
    CHECK_UINT(sim_link_move_ns(link, &up), 21474836 + 35000);   /* 1073741824 / 50 */
    CHECK_UINT(sim_link_move_ns(link, &down), 67108864 + 65000); /* 1073741824 / 16 */
    CHECK_UINT(sim_link_move_ns(link, &none), 0);
    struct sim_work lost = {.discarded_to_device = GIB / 2, .settled = GIB}, fresh = {.filled = GIB};
    CHECK_UINT(sim_link_move_ns(link, &lost), 3500000 + 1205000);
    CHECK_UINT(sim_link_move_ns(link, &fresh), 5100000);

    struct sim_work both = {.remote_read = GIB, .remote_write = GIB}, read = {.remote_read = GIB};
    CHECK_UINT(sim_link_kernel_ns(link, &both), 25565282); /* 2147483648 / 84: the measured 25.5 ms */
    CHECK_UINT(sim_link_kernel_ns(link, &read), 21053761); /* 1073741824 / 51 */
    struct sim_work local = {.local = 2 * GIB}, faults = {.gpu_faults = 512, .faulted_to_device = GIB};
    CHECK_UINT(sim_link_kernel_ns(link, &local), 631613); /* 2147483648 / 3400: the measured 0.6 ms */
    CHECK_UINT(sim_link_kernel_ns(link, &faults),
               76800000 + 115456110); /* 512 × 150 µs, 1073741824 / 9.3: the measured 192 ms */
    CHECK_UINT(sim_link_cpu_fault_ns(link, 65536), 5000 + 4369); /* × 16384: 153.5 ms, measured 152 */
}

static void the_host_goes_on_while_a_stream_works(void) {
    uint32_t *x = machine_reserve(16 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, 16 * BLOCK / 4, 0);
    CHECK_UINT(elapsed(), 0); /* the host's own work is not modelled */
    CHECK_OK(machine_move(x, 16 * BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 671089 + 35000); /* 33554432 / 50 */
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 0);
    machine_add(x, x, 1, 16 * BLOCK / 4, stream);
    CHECK_UINT(elapsed(), 3500);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 5500 + 19738); /* 67108864 / 3400 */
    CHECK_OK(machine_move(x, 16 * BLOCK, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 2097152 + 65000); /* the call returns when the pages are there */
    unsigned char present[BLOCK / PAGE];
    CHECK_OK(machine->observe(x, BLOCK / PAGE, present));
    CHECK_UINT(elapsed(), 400);
}

static void streams_work_side_by_side(void) {
    uint32_t *x = machine_reserve(2 * BLOCK, true), *y = x + BLOCK / 4;
    backend_stream *first = machine_stream(0), *second = machine_stream(0), *third = machine_stream(0);
    backend_event *event = machine_event(0);
    fill(x, 2 * BLOCK / 4, 0);
    elapsed();
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, first));  /* ends at 3.7 + 41.943 + 35 = 80.643 µs */
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, second)); /* and 3.7 later */
    CHECK_OK(machine->event_record(event, second));
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 80643);
    CHECK_OK(machine->event_sync(event));
    CHECK_UINT(elapsed(), 3700);
    machine_add(x, x, 1, BLOCK / 4, first); /* 3.5 on the host; 5.5 + 4194304 / 3400 on the stream */
    CHECK_OK(machine->event_record(event, first));
    CHECK_OK(machine->stream_wait(third, event));
    machine_add(x, x, 1, BLOCK / 4, third);
    CHECK_OK(machine->stream_sync(third));
    CHECK_UINT(elapsed(), 3500 + 2 * (5500 + 1234));
    bool done = false;
    while (!done)
        CHECK_OK(machine->event_query(event, &done));
    CHECK_UINT(elapsed(), 0);
}

static void faults_take_time(void) {
    uint32_t *x = machine_reserve(BLOCK, false);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    elapsed();
    touch(x, BLOCK, FERRY_READ, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 617 + 150000 + 225500); /* 2097152 / 3400, one group, 2097152 / 9.3 */
    CHECK_UINT(x[0], 0);
    CHECK_UINT(elapsed(), 5000 + 4369);
    CHECK_UINT(x[1], 1);
    CHECK_UINT(elapsed(), 0);
}

/* The same program takes the same time to the nanosecond. */
static void other_rows_say_otherwise(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    elapsed();
    machine_add(x, x, 1, BLOCK / 4, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 3500 + 299593 + 5500 + 1234); /* 2097152 / 7; kernel; 4194304 / 3400 */
}

int main(void) {
    RUN(rows_add_up);
    STORY(the_host_goes_on_while_a_stream_works, "");
    STORY(streams_work_side_by_side, "");
    STORY(faults_take_time, "");
    STORY(other_rows_say_otherwise, "FERRY_SIM_LINK=no-concurrent");
    return test_finish();
}
