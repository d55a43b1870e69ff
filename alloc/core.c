#include "core.h"

#include <pthread.h>
#include <string.h>

#include "fork.h"
#include "heap.h"
#include "options.h"
#include "stream.h"
#include "strict.h"
#include "thread.h"

struct core core;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic bool core_started;
static _Atomic bool starting; /* from before the backend opens until a start fails */
_Atomic uint32_t core_attention;
static const backend *test_backend;

void core_use_backend(const backend *chosen) {
    test_backend = chosen;
}

#ifdef FERRY_WITH_CUDA
static ferry_status open_cuda(const backend **out) {
    const ferry_status status = backend_cuda.open();
    *out = &backend_cuda;
    return status;
}
#else
static ferry_status open_cuda(const backend **out) {
    (void)out;
    return ferry_error(FERRY_UNSUPPORTED, "this build of ferry has no CUDA backend");
}
#endif

static ferry_status open_sim(const backend **out) {
    const ferry_status status = backend_sim.open();
    *out = &backend_sim;
    return status;
}

static ferry_status open_named(const char *name, const backend **out) {
    if (strcmp(name, "cuda") == 0) {
        const ferry_status status = open_cuda(out);
        return status == FERRY_OK ? status : ferry_error(FERRY_BACKEND, "backend cuda: %s", ferry_error_detail());
    }
    if (strcmp(name, "sim") == 0) {
        return open_sim(out);
    }
    if (strcmp(name, "auto") != 0) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no backend '%s'; known are: auto cuda sim", name);
    }
    const ferry_status status = open_cuda(out);
    /* No usable device is what the simulator is for; a device that fails is the user's to know. */
    return status == FERRY_UNSUPPORTED ? open_sim(out) : status;
}

static ferry_status open_backend(const char *name, const backend **out) {
    if (test_backend != NULL) {
        *out = test_backend;
        return test_backend->open();
    }
    return open_named(name, out);
}

/* What the devices are, together: hints need all of them. */
static ferry_status survey_devices(size_t *least_free_bytes) {
    core.devices = core.backend->device_count();
    core.hints = true;
    *least_free_bytes = SIZE_MAX;
    for (int device = 0; device < core.devices; device++) {
        ferry_device_info info;
        const ferry_status status = core.backend->device_get(device, &info);
        if (status != FERRY_OK) {
            return status;
        }
        core.hints = core.hints && info.concurrent_managed_access;
        *least_free_bytes = info.free_bytes < *least_free_bytes ? info.free_bytes : *least_free_bytes;
    }
    if (core.devices < 1 || core.devices > RESIDENCY_MAX_DEVICES) {
        return ferry_error(FERRY_UNSUPPORTED, "%d devices: ferry manages 1 to %d", core.devices, RESIDENCY_MAX_DEVICES);
    }
    return FERRY_OK;
}

static size_t choose_limit(const ferry_options *options, size_t least_free_bytes) {
    const size_t ram = options_ram_bytes() / 10 * 8;
    const size_t wanted = options->limit_bytes == 0 ? ram : options->limit_bytes;
    return options->oversubscribe || wanted < least_free_bytes ? wanted : least_free_bytes;
}

/* What a child's frees and counts may need must not be held by a thread that it does not have. jemalloc sees to its own
 * locks. */
static void before_fork(void) {
    heap_lock();
    if (atomic_load(&core_started) && !core_forked()) {
        fork_copy();
    }
    thread_list_lock();
    movement_lock();
}

static void release(void) {
    movement_unlock();
    thread_list_unlock();
    heap_unlock();
}

static void after_fork_in_parent(void) {
    if (atomic_load(&core_started) && !core_forked()) {
        fork_drop_copy();
    }
    release();
}

/*
 * In a child the parent's other threads are gone, and CUDA must not be called: from here on memory is plain and frees
 * are bookkeeping. The thread that was starting the library may be among them, so its lock is made anew. It is not
 * taken before a fork: a driver that is being opened may fork.
 */
static void after_fork_in_child(void) {
    if (atomic_load(&starting) && !core_forked()) {
        atomic_fetch_or(&core_attention, CORE_FORKED);
        region_occupy_addresses();
        if (atomic_load(&core_started)) {
            fork_place_copy();
        }
    }
    start_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    release();
}

static bool forks_handled;

static void handle_forks(void) {
    forks_handled = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

static ferry_status start_locked(const ferry_options *given) {
    ferry_options options;
    ferry_status status = options_resolve(given, &options);
    status = status == FERRY_OK ? open_backend(options.backend, &core.backend) : status;
    size_t least_free_bytes = 0;
    status = status == FERRY_OK ? survey_devices(&least_free_bytes) : status;
    if (status != FERRY_OK) {
        return status;
    }
    core.policy = options.policy;
    strict_set(options.strict);
    if (options.strict) {
        atomic_fetch_or(&core_attention, CORE_STRICT);
    }
    core.limit_bytes = choose_limit(&options, least_free_bytes);
    ferry_heap *heap = NULL;
    status = heap_create_default(&heap);
    core.heap = heap;
    return status;
}

static ferry_status start_once(const ferry_options *options) {
    if (core_forked()) {
        return ferry_error(FERRY_UNSUPPORTED, "a forked child cannot start the library");
    }
    if (!forks_handled) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the fork handlers");
    }
    atomic_store(&starting, true);
    const ferry_status status = start_locked(options);
    atomic_store(&starting, status == FERRY_OK);
    atomic_store_explicit(&core_started, status == FERRY_OK, memory_order_release);
    return status;
}

static ferry_status start(const ferry_options *options) {
    static pthread_once_t forks_once = PTHREAD_ONCE_INIT;
    pthread_once(&forks_once, handle_forks);
    pthread_mutex_lock(&start_lock);
    ferry_status status = FERRY_OK;
    if (!atomic_load(&core_started)) {
        status = start_once(options);
    } else if (options != NULL) {
        status = ferry_error(FERRY_INVALID_ARGUMENT, "the library has been started already; its options cannot change");
    }
    pthread_mutex_unlock(&start_lock);
    return status;
}

ferry_status core_start_first(void) {
    return start(NULL);
}

ferry_status core_refuse_child(void) {
    return ferry_error(FERRY_UNSUPPORTED, "a forked child cannot use devices");
}

ferry_status ferry_init(const ferry_options *options) {
    return start(options);
}

const char *ferry_backend_name(void) {
    return core_start() == FERRY_OK ? core.backend->name : NULL;
}

int ferry_device_count(void) {
    return core_start() == FERRY_OK ? core.devices : 0;
}

size_t ferry_limit(void) {
    return core_start() == FERRY_OK ? core.limit_bytes : 0;
}

ferry_status ferry_device_get(int device, ferry_device_info *out) {
    const ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    if (device < 0 || device >= core.devices) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d; devices are 0 to %d", device,
                           core.devices - 1);
    }
    return core.backend->device_get(device, out);
}
