/* What the driver really did, by CUPTI's unified-memory counters. The library is opened at run time, when first asked
 * for. */
#include <cuda_runtime_api.h>
#if FERRY_WITH_CUPTI
#include <cupti.h>
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_call.h"

#if FERRY_WITH_CUPTI

#define BUFFER_BYTES ((size_t)2 << 20)
/* Records of every CUPTI begin as this one does; later ones only append. */
typedef CUpti_ActivityUnifiedMemoryCounter2 counter_record;

static struct {
    CUptiResult (*cuptiSubscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*cuptiUnsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*cuptiActivityRegisterCallbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
    CUptiResult (*cuptiActivityConfigureUnifiedMemoryCounter)(CUpti_ActivityUnifiedMemoryCounterConfig *, uint32_t);
    CUptiResult (*cuptiActivityEnable)(CUpti_ActivityKind);
    CUptiResult (*cuptiActivityDisable)(CUpti_ActivityKind);
    CUptiResult (*cuptiActivityFlushAll)(uint32_t);
    CUptiResult (*cuptiActivityGetNextRecord)(uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*cuptiActivityGetNumDroppedRecords)(CUcontext, uint32_t, size_t *);
    CUptiResult (*cuptiGetResultString)(CUptiResult, const char **);
} cupti;

static const struct {
    const char *name;
    void *pointer;
} functions[] = {
#define FUNCTION(name)                                                                                                 \
    { #name, &cupti.name }
    FUNCTION(cuptiSubscribe),
    FUNCTION(cuptiUnsubscribe),
    FUNCTION(cuptiActivityRegisterCallbacks),
    FUNCTION(cuptiActivityConfigureUnifiedMemoryCounter),
    FUNCTION(cuptiActivityEnable),
    FUNCTION(cuptiActivityDisable),
    FUNCTION(cuptiActivityFlushAll),
    FUNCTION(cuptiActivityGetNextRecord),
    FUNCTION(cuptiActivityGetNumDroppedRecords),
    FUNCTION(cuptiGetResultString),
#undef FUNCTION
};

/* Added to by CUPTI's threads, in any order. */
static struct {
    atomic_uint_least64_t to_device, to_host, prefetched_to_device, prefetched_to_host, between_devices, gpu_faults,
        cpu_faults;
} totals;

/* Serialises start, read and stop; guards what follows. CUPTI's callbacks never take it. */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;
static bool tracing;
static CUpti_SubscriberHandle subscriber;
static uint64_t dropped; /* records that CUPTI had no buffer for, since the start */

static ferry_status check(CUptiResult result, ferry_status failure, const char *call) {
    const char *text = NULL;
    if (result == CUPTI_SUCCESS)
        return FERRY_OK;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return ferry_error(
            FERRY_UNSUPPORTED,
            "another tool (a profiler, a debugger, compute-sanitizer) uses CUPTI in this process already");
    cupti.cuptiGetResultString(result, &text);
    return ferry_error(failure, "%s: %s (CUPTI error %d)", call, text ? text : "unknown error", (int)result);
}

static void count_transfer(const counter_record *record, atomic_uint_least64_t *all,
                           atomic_uint_least64_t *prefetched) {
    atomic_fetch_add(all, record->value);
    if (record->flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER)
        atomic_fetch_add(prefetched, record->value);
}

static void count_record(const counter_record *record) {
    switch (record->counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
        count_transfer(record, &totals.to_device, &totals.prefetched_to_device);
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
        count_transfer(record, &totals.to_host, &totals.prefetched_to_host);
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
        atomic_fetch_add(&totals.between_devices, record->value);
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT: /* the value is the number of groups */
        atomic_fetch_add(&totals.gpu_faults, record->value);
        break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT: /* the value is where in the program it was */
        atomic_fetch_add(&totals.cpu_faults, 1);
        break;
    default:
        break;
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records) {
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0; /* as many as fit */
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t used) {
    (void)context, (void)stream, (void)bytes;
    CUpti_Activity *record = NULL;
    while (used && cupti.cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
            count_record((const counter_record *)record);
    free(buffer);
}

/* Subscribing only serves to learn whether somebody else has. */
static void CUPTIAPI ignore_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *info) {
    (void)data, (void)domain, (void)id, (void)info;
}

static void *open_in(const char *root, const char *const *names) {
    static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib"};
    char path[4096];
    void *found = NULL;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++)
        for (const char *const *name = names; *name && !found; name++) {
            int length = snprintf(path, sizeof path, "%s/%s/%s", root, folders[f], *name);
            if (length > 0 && (size_t)length < sizeof path)
                found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    return found;
}

/* FERRY_CUPTI is a file, and then the only one tried; else where the linker and then the toolkits have it. */
static void *open_library(void) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    const char *file = getenv("FERRY_CUPTI");
    if (file && *file)
        return dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *found = NULL;
    for (const char *const *name = names; *name && !found; name++)
        found = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots && !found; i++)
        if (roots[i] && *roots[i])
            found = open_in(roots[i], names);
    return found;
}

/* Once open it stays: CUPTI leaves hooks in the driver. */
static ferry_status open_cupti(void) {
    if (library)
        return FERRY_OK;
    void *handle = open_library();
    if (!handle)
        return ferry_error(FERRY_UNSUPPORTED, "CUPTI is not to be found (FERRY_CUPTI can name libcupti's file): %s",
                           dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *(void **)functions[i].pointer = dlsym(handle, functions[i].name);
        if (!*(void **)functions[i].pointer) {
            dlclose(handle);
            return ferry_error(FERRY_UNSUPPORTED, "CUPTI has no %s", functions[i].name);
        }
    }
    library = handle;
    return FERRY_OK;
}

/* Transfers between devices come last: an older CUPTI may refuse them, and then the rest is still measured. */
static ferry_status configure(void) {
    static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    CUpti_ActivityUnifiedMemoryCounterConfig config[KINDS];
    for (int i = 0; i < KINDS; i++) /* scope and device have been without effect since CUDA 7 */
        config[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, .kind = kinds[i], .enable = 1};
    CUptiResult result = cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, KINDS);
    if (result == CUPTI_ERROR_INVALID_PARAMETER)
        result = cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, KINDS - 1);
    return check(result, FERRY_UNSUPPORTED, "cuptiActivityConfigureUnifiedMemoryCounter");
}

static ferry_status enable(void) {
    ferry_status status = check(cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer), FERRY_UNSUPPORTED,
                                "cuptiActivityRegisterCallbacks");
    if (!status)
        status = configure();
    if (!status)
        status = check(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), FERRY_UNSUPPORTED,
                       "cuptiActivityEnable");
    return status;
}

/*
 * CUPTI begins to listen with the first managed allocation after it was enabled; what was allocated before is then
 * heard too. So one is made.
 */
static ferry_status begin_listening(void) {
    void *block = NULL;
    ferry_status status =
        cuda_check(cudaMallocManaged(&block, FERRY_BLOCK_BYTES, cudaMemAttachGlobal), "cudaMallocManaged");
    if (!status)
        status = cuda_check(cudaFree(block), "cudaFree");
    return status;
}

static void clear_totals(void) {
    atomic_uint_least64_t *const all[] = {
        &totals.to_device,          &totals.to_host,         &totals.prefetched_to_device,
        &totals.prefetched_to_host, &totals.between_devices, &totals.gpu_faults,
        &totals.cpu_faults};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        atomic_store(all[i], 0);
    dropped = 0;
}

static ferry_status start(void) {
    if (tracing)
        return ferry_error(FERRY_INVALID_ARGUMENT, "measuring has started already");
    ferry_status status = open_cupti();
    if (status)
        return status;
    if ((status = check(cupti.cuptiSubscribe(&subscriber, ignore_callback, NULL), FERRY_UNSUPPORTED, "cuptiSubscribe")))
        return status;
    clear_totals();
    if ((status = enable()) || (status = begin_listening())) {
        cupti.cuptiUnsubscribe(subscriber);
        return status;
    }
    tracing = true;
    return FERRY_OK;
}

/* Records are delivered once their work has ended. */
static ferry_status collect(void) {
    size_t now_dropped = 0;
    ferry_status status = cuda_wait_devices();
    if (!status)
        status = check(cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), FERRY_BACKEND,
                       "cuptiActivityFlushAll");
    if (!status)
        status = check(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &now_dropped), FERRY_BACKEND,
                       "cuptiActivityGetNumDroppedRecords");
    if (status)
        return status;
    dropped += now_dropped;
    if (dropped)
        return ferry_error(FERRY_BACKEND, "CUPTI dropped %llu records: the measured counters are too low",
                           (unsigned long long)dropped);
    return FERRY_OK;
}

static ferry_status read_totals(backend_measure *out) {
    if (!tracing)
        return ferry_error(FERRY_INVALID_ARGUMENT, "measuring has not been started");
    ferry_status status = collect();
    if (status)
        return status;
    *out = (backend_measure){
        .bytes_to_device = atomic_load(&totals.to_device),
        .bytes_to_host = atomic_load(&totals.to_host),
        .prefetched_bytes_to_device = atomic_load(&totals.prefetched_to_device),
        .prefetched_bytes_to_host = atomic_load(&totals.prefetched_to_host),
        .bytes_between_devices = atomic_load(&totals.between_devices),
        .gpu_faults = atomic_load(&totals.gpu_faults),
        .cpu_faults = atomic_load(&totals.cpu_faults),
    };
    return FERRY_OK;
}

static ferry_status stop(void) {
    if (!tracing)
        return ferry_error(FERRY_INVALID_ARGUMENT, "measuring has not been started");
    ferry_status status = collect();
    cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cupti.cuptiUnsubscribe(subscriber);
    tracing = false; /* even when collecting failed: the next start begins afresh */
    return status;
}

ferry_status cuda_trace_start(void) {
    pthread_mutex_lock(&trace_lock);
    ferry_status status = start();
    pthread_mutex_unlock(&trace_lock);
    return status;
}

ferry_status cuda_trace_read(backend_measure *out) {
    pthread_mutex_lock(&trace_lock);
    ferry_status status = read_totals(out);
    pthread_mutex_unlock(&trace_lock);
    return status;
}

ferry_status cuda_trace_stop(void) {
    pthread_mutex_lock(&trace_lock);
    ferry_status status = stop();
    pthread_mutex_unlock(&trace_lock);
    return status;
}

#else

static ferry_status absent(void) {
    return ferry_error(FERRY_UNSUPPORTED, "this build has no CUPTI: its headers were not there");
}

ferry_status cuda_trace_start(void) {
    return absent();
}

ferry_status cuda_trace_read(backend_measure *out) {
    (void)out;
    return absent();
}

ferry_status cuda_trace_stop(void) {
    return absent();
}

#endif
