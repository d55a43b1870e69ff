/* Fails the n-th call of another backend. */
#include <stdatomic.h>

#include "backend.h"

/* X(function, (parameters), (arguments)): every function of the contract that can fail. */
#define FAULTY_LIST(X)                                                                                                 \
    X(open, (void), ())                                                                                                \
    X(device_get, (int device, ferry_device_info *out), (device, out))                                                 \
    X(reserve, (size_t bytes, bool host_homed, void **out), (bytes, host_homed, out))                                  \
    X(release, (void *base, size_t bytes), (base, bytes))                                                              \
    X(move, (const backend_move *moves, size_t n, backend_stream *stream), (moves, n, stream))                         \
    X(stream_create, (int device, backend_stream **out), (device, out))                                                \
    X(stream_wrap, (int device, void *native, backend_stream **out), (device, native, out))                            \
    X(stream_sync, (backend_stream * stream), (stream))                                                                \
    X(stream_wait, (backend_stream * stream, backend_event * event), (stream, event))                                  \
    X(event_create, (int device, backend_event **out), (device, out))                                                  \
    X(event_record, (backend_event * event, backend_stream * stream), (event, stream))                                 \
    X(event_query, (backend_event * event, bool *done), (event, done))                                                 \
    X(event_sync, (backend_event * event), (event))                                                                    \
    X(kernel_load, (const void *image, size_t bytes, const char *name, ferry_host_kernel host, backend_kernel **out),  \
      (image, bytes, name, host, out))                                                                                 \
    X(kernel_set_host, (backend_kernel * kernel, ferry_host_kernel host), (kernel, host))                              \
    X(kernel_launch,                                                                                                   \
      (backend_kernel * kernel, const ferry_grid *grid, void *const *args, const size_t *sizes, size_t n,              \
       backend_stream *stream),                                                                                        \
      (kernel, grid, args, sizes, n, stream))                                                                          \
    X(touch, (const backend_touch *touches, size_t n, backend_stream *stream), (touches, n, stream))                   \
    X(observe, (const void *address, size_t n, unsigned char *present), (address, n, present))                         \
    X(link_measure, (int device, ferry_link_costs *out), (device, out))                                                \
    X(link_identity, (int device, char *text, size_t bytes), (device, text, bytes))                                    \
    X(trace_start, (void), ())                                                                                         \
    X(trace_read, (backend_measure * out), (out))                                                                      \
    X(trace_stop, (void), ())

static const backend *wrapped;
static backend table;
static _Atomic uint64_t failing; /* 0: none */
static _Atomic uint64_t calls;

static ferry_status count_call(const char *function) {
    uint64_t call = atomic_fetch_add(&calls, 1) + 1;
    if (call != atomic_load(&failing))
        return FERRY_OK;
    return ferry_error(FERRY_BACKEND, "%s fails because call %llu was to fail", function, (unsigned long long)call);
}

#define FAULTY_FUNCTION(function, parameters, arguments)                                                               \
    static ferry_status faulty_##function parameters {                                                                 \
        ferry_status status = count_call(#function);                                                                   \
        return status ? status : wrapped->function arguments;                                                          \
    }
FAULTY_LIST(FAULTY_FUNCTION)
#undef FAULTY_FUNCTION

const backend *backend_faulty(const backend *inner) {
    wrapped = inner;
    table = *inner;
#define FAULTY_ENTRY(function, parameters, arguments)                                                                  \
    if (inner->function)                                                                                               \
        table.function = faulty_##function;
    FAULTY_LIST(FAULTY_ENTRY)
#undef FAULTY_ENTRY
    return &table;
}

void backend_faulty_arm(uint64_t nth) {
    atomic_store(&calls, 0);
    atomic_store(&failing, nth);
}

uint64_t backend_faulty_calls(void) {
    return atomic_load(&calls);
}
