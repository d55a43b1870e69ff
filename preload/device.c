#include "device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "callers.h"
#include "ferry/memory.h"
#include "ferry/stats.h"
#include "fork.h"
#include "record.h"

enum state {
    UNDECIDED, /* no large block yet, or none since CUDA came */
    STARTING,  /* one thread is at it */
    SERVING,
    REFUSED
};

static _Atomic int state = REFUSED; /* until configured */
static enum { WHERE_CUDA_IS, ALWAYS } wanted;
static bool insisted; /* always */
static const char *backend;

static bool is(const char *value, const char *text) {
    return value != NULL && strcmp(value, text) == 0;
}

void device_configure(bool chosen) {
    const char *mode = getenv("FERRY_RUN_DEVICE"), *named = getenv("FERRY_BACKEND");
    if (is(mode, "never")) {
        record_device(FERRY_RUN_DEVICE_NEVER, "");
        return;
    }
    /* The simulator stands in for a device only where it is asked for, and there it costs no process anything. */
    backend = named == NULL || is(named, "auto") || named[0] == '\0' ? "cuda" : named;
    insisted = is(mode, "always");
    wanted = chosen || insisted || is(backend, "sim") ? ALWAYS : WHERE_CUDA_IS;
    atomic_store(&state, UNDECIDED);
}

static ferry_status start(void) {
    const ferry_options options = {.backend = backend};
    const ferry_status status = ferry_init(&options);
    /* The program may have started the library by itself: then that is the device. */
    return status == FERRY_INVALID_ARGUMENT ? ferry_init(NULL) : status;
}

/* Where the host may not touch managed memory while a kernel runs, a program that does not know of it would fault. */
static bool host_may_touch(void) {
    for (int device = 0; device < ferry_device_count(); device++) {
        ferry_device_info info;
        if (ferry_device_get(device, &info) == FERRY_OK && !info.concurrent_managed_access) {
            return false;
        }
    }
    return true;
}

static bool refuse(const char *why) {
    record_device(FERRY_RUN_DEVICE_FAILED, why);
    atomic_store(&state, REFUSED);
    return false;
}

static bool start_first(void) {
    if (start() != FERRY_OK) {
        return refuse(ferry_error_detail());
    }
    if (!insisted && !host_may_touch()) {
        return refuse("a device has no concurrent managed access: the host could touch no large block while a kernel "
                      "runs (--device=always takes it all the same)");
    }
    record_device(FERRY_RUN_DEVICE_STARTED, ferry_backend_name());
    if (record != NULL) {
        record_unmeasured(ferry_trace_start() == FERRY_OK ? "" : ferry_error_detail());
    }
    fork_handle();
    /* Behind those that CUDA has registered while it started, and so run before them. */
    (void)atexit(device_end);
    atomic_store_explicit(&state, SERVING, memory_order_release);
    return true;
}

bool device_serves(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now != UNDECIDED) {
        return now == SERVING;
    }
    if (wanted == WHERE_CUDA_IS && !callers_have_cuda()) {
        record_device(FERRY_RUN_DEVICE_NO_CUDA, "");
        return false;
    }
    return atomic_compare_exchange_strong(&state, &now, STARTING) ? start_first() : now == SERVING;
}

bool device_is_serving(void) {
    return atomic_load_explicit(&state, memory_order_relaxed) == SERVING;
}

void device_after_fork(void) {
    if (atomic_load(&state) != UNDECIDED && atomic_load(&state) != REFUSED) {
        atomic_store(&state, REFUSED);
        record_device(FERRY_RUN_DEVICE_FORKED, "");
    }
}

void device_end(void) {
    static _Atomic bool ended;
    ferry_stats stats;
    if (atomic_load(&state) != SERVING || atomic_exchange(&ended, true)) {
        return;
    }
    /* Collected while the trace goes on: its figures are the measured ones. */
    if (ferry_stats_get(&stats) == FERRY_OK) {
        record_stats(&stats);
    }
}
