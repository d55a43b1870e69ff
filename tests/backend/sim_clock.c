/* The virtual clock against figures worked out by hand from the row h200-pcie5. Bytes divided by GB/s are nanoseconds.
 */
#include "tests/backend/sim_case.h"

/* One array of which a part is here: its parts are gone over side by side. */
static void parts_are_gone_over_side_by_side(void) {
    uint32_t *a = machine_reserve(4 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(a, 4 * BLOCK / 4, 0);
    CHECK_OK(machine_move(a, BLOCK, 0, BACKEND_PREFETCH, stream));
    CHECK_OK(machine->stream_sync(stream));
    elapsed();
    touch(a, 4 * BLOCK, FERRY_READ, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 123362 + 1400); /* 6291456 / 51, longer than 2097152 / 3400 */
    touch(a, 4 * BLOCK, FERRY_READWRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 149797 + 1400); /* 12582912 / 84 */
}

/* Pages that nobody has touched have to be made before a kernel or a move finds them on the host. */
static void making_pages_takes_time(void) {
    uint32_t *a = machine_reserve(4 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    elapsed();
    touch(a, BLOCK, FERRY_WRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 39569 + 1400 + 351562); /* 2097152 / 53, and a 512th of 180 ms */
    touch(a, BLOCK, FERRY_WRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 39569 + 1400);
    touch(a + BLOCK / 4, 100, FERRY_READ, stream); /* a whole page is made */
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 2 + 1400 + 687);
    CHECK_OK(machine_move(a + 2 * BLOCK / 4, BLOCK, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 351563);
    CHECK_OK(machine_move(a + 3 * BLOCK / 4, BLOCK, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 351563);
    CHECK_OK(machine_move(a + 3 * BLOCK / 4, BLOCK, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 2354); /* settled */
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
    CHECK_UINT(elapsed(), 4600);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 2500 + 19738 + 3900); /* 67108864 / 3400 */
    CHECK_OK(machine_move(x, 16 * BLOCK, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 2097152 + 65000); /* the call returns when the pages are there */
    unsigned char present[BLOCK / PAGE];
    CHECK_OK(machine->observe(x, BLOCK / PAGE, present));
    CHECK_UINT(elapsed(), 400);
}

/* Each direction of a link serves one stream after another; the directions, and the links of two devices, are apart. */
static void streams_share_the_link(void) {
    uint32_t *x = machine_reserve(4 * BLOCK, true);
    backend_stream *first = machine_stream(0), *second = machine_stream(0), *elsewhere = machine_stream(1);
    fill(x, 4 * BLOCK / 4, 0);
    CHECK_OK(machine_move(x + 3 * BLOCK / 4, BLOCK, 1, BACKEND_DISCARD_PREFETCH, elsewhere));
    CHECK_OK(machine->stream_sync(elsewhere));
    elapsed();
    touch(x, BLOCK, FERRY_READ, first);              /* 2097152 / 51 */
    touch(x + BLOCK / 4, BLOCK, FERRY_READ, second); /* the same after it; what is not the link's overlaps */
    touch(x + 2 * BLOCK / 4, BLOCK, FERRY_READ, elsewhere);
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 1400 + 41121);
    CHECK_OK(machine->stream_sync(elsewhere));
    CHECK_UINT(elapsed(), 0);
    CHECK_OK(machine->stream_sync(second));
    CHECK_UINT(elapsed(), 41121);

    touch(x, BLOCK, FERRY_READ, first);
    touch(x + BLOCK / 4, BLOCK, FERRY_WRITE, second); /* 2097152 / 53 the other way, meanwhile */
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 1400 + 41121);
    CHECK_OK(machine->stream_sync(second));
    CHECK_UINT(elapsed(), 0);

    touch(x, BLOCK, FERRY_READWRITE, first); /* 4194304 / 84 */
    touch(x + BLOCK / 4, BLOCK, FERRY_WRITE, second);
    CHECK_OK(machine->stream_sync(second));
    CHECK_UINT(elapsed(), 1400 + 49932 + 39569);
    touch(x, BLOCK, FERRY_READ, first); /* the link has been idle: as the first time */
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 1400 + 41121);
}

static void streams_work_side_by_side(void) {
    uint32_t *x = machine_reserve(2 * BLOCK, true), *y = x + BLOCK / 4;
    backend_stream *first = machine_stream(0), *second = machine_stream(0), *third = machine_stream(0);
    backend_event *event = machine_event(0);
    fill(x, 2 * BLOCK / 4, 0);
    elapsed();
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, first));  /* ends at 3.7 + 41.943 + 35 = 80.643 µs */
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, second)); /* starts meanwhile, and crosses after it */
    CHECK_OK(machine->event_record(event, second));
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 80643);
    CHECK_OK(machine->event_sync(event));
    CHECK_UINT(elapsed(), 41943);
    machine_add(x, x, 1, BLOCK / 4, first); /* 4.6 on the host; 2.5 + 4194304 / 3400 on the stream; 3.9 to know */
    CHECK_OK(machine->event_record(event, first));
    CHECK_OK(machine->stream_wait(third, event));
    machine_add(x, x, 1, BLOCK / 4, third);
    CHECK_OK(machine->stream_sync(third));
    CHECK_UINT(elapsed(), 2 * 4600 + 2500 + 1234 + 3900); /* the first has ended when the second is launched */
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
    CHECK_UINT(elapsed(), 4600 + 299593 + 2500 + 1234 + 3900); /* 2097152 / 7; kernel; 4194304 / 3400 */
}

int main(void) {
    STORY(parts_are_gone_over_side_by_side, "");
    STORY(making_pages_takes_time, "");
    STORY(the_host_goes_on_while_a_stream_works, "");
    STORY(streams_share_the_link, "FERRY_SIM_DEVICES=2");
    STORY(streams_work_side_by_side, "");
    STORY(faults_take_time, "");
    STORY(other_rows_say_otherwise, "FERRY_SIM_LINK=no-concurrent");
    return test_finish();
}
