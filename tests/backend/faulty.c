/* A call that is to fail fails, once, before it has done anything; what cannot fail is left alone. */
#include "tests/backend/machine.h"

static void calls_are_counted(void) {
    backend_faulty_arm(0);
    CHECK_UINT(backend_faulty_calls(), 0);
    backend_stream *stream = machine_stream(0);
    CHECK_UINT(backend_faulty_calls(), 1);
    machine->now_ns();
    machine->stream_native(stream);
    CHECK_UINT(backend_faulty_calls(), 1);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(backend_faulty_calls(), 2);
    machine->stream_destroy(stream);
    backend_faulty_arm(0);
    CHECK_UINT(backend_faulty_calls(), 0);
}

static void the_armed_call_fails_alone(void) {
    backend_stream *stream = NULL;
    void *base = NULL;
    backend_faulty_arm(2);
    CHECK_OK(machine->stream_create(0, &stream));
    CHECK_STATUS(machine->reserve(FERRY_BLOCK_BYTES, true, &base), FERRY_BACKEND);
    CHECK(strstr(ferry_error_detail(), "reserve") != NULL);
    CHECK(base == NULL);
    CHECK_OK(machine->reserve(FERRY_BLOCK_BYTES, true, &base));
    backend_faulty_arm(1);
    CHECK_STATUS(machine->release(base, FERRY_BLOCK_BYTES), FERRY_BACKEND);
    memset(base, 1, FERRY_BLOCK_BYTES);
    CHECK_OK(machine->release(base, FERRY_BLOCK_BYTES));
    machine->stream_destroy(stream);
}

/* A whole small job, written to stop at the first failure and leave nothing behind. */
static ferry_status job(uint32_t *x) {
    backend_stream *stream = NULL;
    backend_event *event = NULL;
    backend_measure measure;
    ferry_status status = machine->stream_create(0, &stream);
    if (status)
        return status;
    if (!(status = machine->event_create(0, &event)) && !(status = machine->trace_start())) {
        status = machine_move(x, FERRY_BLOCK_BYTES, 0, BACKEND_PREFETCH, stream);
        if (!status)
            status = machine->event_record(event, stream);
        if (!status)
            status = machine->stream_wait(stream, event);
        if (!status)
            status = machine->event_sync(event);
        if (!status)
            status = machine->trace_read(&measure);
        ferry_status stopped = machine->trace_stop();
        if (stopped && !status) {
            status = stopped;
            machine->trace_stop();
        }
    }
    machine->event_destroy(event);
    machine->stream_destroy(stream);
    return status;
}

static void every_point_of_failure_is_reached(void) {
    void *x = NULL;
    backend_faulty_arm(0);
    REQUIRE_OK(machine->reserve(FERRY_BLOCK_BYTES, true, &x));
    uint64_t failed = 0;
    for (;;) {
        backend_faulty_arm(failed + 1);
        ferry_status status = job(x);
        if (!status)
            break;
        CHECK_STATUS(status, FERRY_BACKEND);
        failed++;
        REQUIRE(failed < 100);
    }
    CHECK_UINT(failed, 9);
    CHECK_UINT(backend_faulty_calls(), 9);
    backend_faulty_arm(0);
    CHECK_OK(machine->release(x, FERRY_BLOCK_BYTES));
}

static void what_the_inner_backend_lacks_stays_absent(void) {
    backend poor = backend_sim;
    poor.touch = NULL;
    CHECK(backend_faulty(&poor)->touch == NULL);
    CHECK(backend_faulty(&backend_sim)->touch != NULL);
    CHECK_STRING(machine->name, "sim");
    CHECK(machine->device_pointer == backend_sim.device_pointer);
}

int main(void) {
    machine_open("faulty");
    RUN(calls_are_counted);
    RUN(the_armed_call_fails_alone);
    RUN(every_point_of_failure_is_reached);
    RUN(what_the_inner_backend_lacks_stays_absent);
    return test_finish();
}
