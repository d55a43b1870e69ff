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
    CHECK_UINT(elapsed(), 123362 + 1400); /* 6291456 / 51, longer than 2097152 / 4100 */
    touch(a, 4 * BLOCK, FERRY_READWRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(),
               84811 + 117507 + 1400); /* a wave: 4325376 / 51; then all but the last 1.2 µs of 6291456 / 53 */
}

/* Pages that nobody has touched have to be made before a kernel or a move finds them on the host. */
static void making_pages_takes_time(void) {
    uint32_t *a = machine_reserve(4 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    elapsed();
    touch(a, BLOCK, FERRY_WRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 38369 + 1400 + 351562); /* 2097152 / 53, less 1.2 µs, and a 512th of 180 ms */
    touch(a, BLOCK, FERRY_WRITE, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 38369 + 1400);
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
    CHECK_UINT(elapsed(), 671089 + 22000); /* 33554432 / 50 */
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 0);
    machine_add(x, x, 1, 16 * BLOCK / 4, stream);
    CHECK_UINT(elapsed(), 4600);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 2500 + 16368 + 3900); /* 67108864 / 4100 */
    CHECK_OK(machine_move(x, 16 * BLOCK, FERRY_PLACE_HOST, BACKEND_PREFETCH, stream));
    CHECK_UINT(elapsed(), 3700 + 3289650 + 40000); /* the call returns when the pages are there */
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

    touch(x, BLOCK, FERRY_READWRITE, first); /* 2097152 / 51, and 2097152 / 53 less 1.2 µs */
    touch(x + BLOCK / 4, BLOCK, FERRY_WRITE, second);
    CHECK_OK(machine->stream_sync(second));
    CHECK_UINT(elapsed(), 1400 + 79490 + 38369);
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
    CHECK_OK(machine_move(x, BLOCK, 0, BACKEND_PREFETCH, first));  /* ends at 3.7 + 41.943 + 22 = 67.643 µs */
    CHECK_OK(machine_move(y, BLOCK, 0, BACKEND_PREFETCH, second)); /* starts meanwhile, and crosses after it */
    CHECK_OK(machine->event_record(event, second));
    CHECK_OK(machine->stream_sync(first));
    CHECK_UINT(elapsed(), 67643);
    CHECK_OK(machine->event_sync(event));
    CHECK_UINT(elapsed(), 41943);
    machine_add(x, x, 1, BLOCK / 4, first); /* 4.6 on the host; 2.5 + 4194304 / 4100 on the stream; 3.9 to know */
    CHECK_OK(machine->event_record(event, first));
    CHECK_OK(machine->stream_wait(third, event));
    machine_add(x, x, 1, BLOCK / 4, third);
    CHECK_OK(machine->stream_sync(third));
    CHECK_UINT(elapsed(), 2 * 4600 + 2500 + 1023 + 3900); /* the first has ended when the second is launched */
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
    /* 2097152 / 4100; begun, replayed and served; 2097152 / 14 */
    CHECK_UINT(elapsed(), 511 + 130000 + 130000 + 60000 + 149797);
    CHECK_UINT(x[0], 0);
    CHECK_UINT(elapsed(), 8000 + 7282); /* 65536 / 9 */
    CHECK_UINT(x[1], 1);
    CHECK_UINT(elapsed(), 0);
    touch(x, 16 * PAGE, FERRY_READ, stream);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 16 + 130000 + 60000 + 4681); /* no more than 64 KiB is served at once */
}

/* A call's further ranges are dearer than the first; those that are in place do not count. */
static void scattered_pages_are_dear(void) {
    uint32_t *x = machine_reserve(2 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    backend_move moves[3];
    fill(x, 2 * BLOCK / 4, 0);
    for (size_t i = 0; i < 3; i++)
        moves[i] = (backend_move){.address = x + 2 * i * PAGE_COUNT, .bytes = PAGE, .to = 0, .kind = BACKEND_PREFETCH};
    elapsed();
    CHECK_OK(machine->move(moves, 3, stream));
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(elapsed(), 3700 + 22000 + 2 * 30000 + 246); /* 12288 / 50 */
    moves[0].to = moves[1].to = moves[2].to = FERRY_PLACE_HOST;
    CHECK_OK(machine->move(moves, 2, stream));
    CHECK_UINT(elapsed(), 3700 + 40000 + 70000 + 803); /* 8192 / 10.2 */
    CHECK_OK(machine->move(moves, 3, stream));
    CHECK_UINT(elapsed(), 3700 + 40000 + 402 + 9); /* 8192 bytes are settled */
}

/* What is declared again after one launch comes from the device's cache, at 1.75 times the memory's rate. */
static void going_over_again_is_quicker(void) {
    uint32_t *x = machine_reserve(16 * BLOCK, true);
    backend_stream *stream = machine_stream(0);
    CHECK_OK(machine_move(x, 16 * BLOCK, 0, BACKEND_PREFETCH, stream));
    for (int round = 0; round < 2; round++) {
        CHECK_OK(machine->stream_sync(stream));
        elapsed();
        machine_add(x, x, 1, 16 * BLOCK / 4, stream);
        touch(x, 16 * BLOCK, FERRY_READ, stream);
        CHECK_OK(machine->stream_sync(stream));
        CHECK_UINT(elapsed(), 4600 + 2500 + 16368 + 4677 + 3900); /* 67108864 / 4100, 33554432 / 7175 */
    }
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
    STORY(scattered_pages_are_dear, "");
    STORY(going_over_again_is_quicker, "");
    STORY(other_rows_say_otherwise, "FERRY_SIM_LINK=no-concurrent");
    return test_finish();
}
