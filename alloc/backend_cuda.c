/* The backend on CUDA's runtime: devices, regions, and the table. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_call.h"
#include "cuda_compat.h"

struct device {
    bool concurrent, host_page_tables;
    atomic_bool used; /* a stream or event of ours is on it */
};

/* Set by open, before any other call, and never changed. */
static struct device *devices;
static int device_total;
static bool hints;

/* A region that had to be reserved larger than asked, to be aligned. */
struct padded {
    void *base, *reserved;
    struct padded *next;
};
static struct padded *padded_regions; /* under padded_lock */
static pthread_mutex_t padded_lock = PTHREAD_MUTEX_INITIALIZER;

const char *cuda_text(cudaError_t error) {
    cudaGetLastError();
    return cudaGetErrorString(error);
}

ferry_status cuda_check(cudaError_t error, const char *call) {
    if (cuda_succeeded(error))
        return FERRY_OK;
    return ferry_error(FERRY_BACKEND, "%s: %s (CUDA error %d)", call, cuda_text(error), (int)error);
}

ferry_status cuda_enter(struct cuda_scope *scope, int device) {
    *scope = (struct cuda_scope){.device = device, .mode = cudaStreamCaptureModeRelaxed};
    if (device != CUDA_SAME_DEVICE) {
        ferry_status status = cuda_check(cudaGetDevice(&scope->device), "cudaGetDevice");
        if (status)
            return status;
        scope->switched = scope->device != device;
        if (scope->switched && (status = cuda_check(cudaSetDevice(device), "cudaSetDevice")))
            return status;
    }
    ferry_status status =
        cuda_check(cudaThreadExchangeStreamCaptureMode(&scope->mode), "cudaThreadExchangeStreamCaptureMode");
    if (status && scope->switched)
        cudaSetDevice(scope->device);
    return status;
}

void cuda_leave(struct cuda_scope *scope) {
    cudaThreadExchangeStreamCaptureMode(&scope->mode);
    if (scope->switched)
        cudaSetDevice(scope->device);
}

static ferry_status read_attribute(int device, enum cudaDeviceAttr attribute, bool *out) {
    int value = 0;
    ferry_status status = cuda_check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
    if (!status)
        *out = value != 0;
    return status;
}

static ferry_status probe_device(int device) {
    bool managed = false;
    struct device *d = &devices[device];
    ferry_status status = read_attribute(device, cudaDevAttrManagedMemory, &managed);
    if (!status)
        status = read_attribute(device, cudaDevAttrConcurrentManagedAccess, &d->concurrent);
    if (!status)
        status = read_attribute(device, cudaDevAttrPageableMemoryAccessUsesHostPageTables, &d->host_page_tables);
    if (status)
        return status;
    hints = hints && d->concurrent;
    if (!managed)
        return ferry_error(FERRY_UNSUPPORTED, "device %d has no managed memory; leave it out with CUDA_VISIBLE_DEVICES",
                           device);
    return FERRY_OK;
}

static ferry_status open_cuda(void) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error)
        return ferry_error(FERRY_UNSUPPORTED, "no usable CUDA device: cudaGetDeviceCount: %s", cuda_text(error));
    if (count == 0)
        return ferry_error(FERRY_UNSUPPORTED, "no CUDA device");
    devices = calloc((size_t)count, sizeof *devices);
    if (!devices)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for %d devices", count);
    hints = true;
    ferry_status status = FERRY_OK;
    for (int i = 0; i < count && !status; i++)
        status = probe_device(i);
    if (status) {
        free(devices);
        devices = NULL;
        return status;
    }
    device_total = count;
    return FERRY_OK;
}

int cuda_device_count(void) {
    return device_total;
}

void cuda_note_device(int device) {
    atomic_store_explicit(&devices[device].used, true, memory_order_relaxed);
}

static ferry_status wait_device(int device) {
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, device);
    if (status)
        return status;
    status = cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda_leave(&scope);
    return status;
}

ferry_status cuda_wait_devices(void) {
    ferry_status status = FERRY_OK;
    for (int i = 0; i < device_total; i++)
        if (atomic_load_explicit(&devices[i].used, memory_order_relaxed)) {
            ferry_status one = wait_device(i);
            status = status ? status : one;
        }
    return status;
}

static ferry_status device_get(int device, ferry_device_info *out) {
    if (device < 0 || device >= device_total)
        return ferry_error(FERRY_INVALID_ARGUMENT, "device %d of %d", device, device_total);
    struct cudaDeviceProp properties;
    ferry_status status = cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (status)
        return status;
    struct cuda_scope scope;
    if ((status = cuda_enter(&scope, device)))
        return status;
    size_t free_bytes = 0, total_bytes = 0;
    status = cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    cuda_leave(&scope);
    if (status)
        return status;
    *out = (ferry_device_info){
        .compute_major = properties.major,
        .compute_minor = properties.minor,
        .total_bytes = total_bytes,
        .free_bytes = free_bytes,
        .concurrent_managed_access = devices[device].concurrent,
        .host_page_tables = devices[device].host_page_tables,
    };
    memcpy(out->name, properties.name, sizeof out->name - 1);
    return FERRY_OK;
}

/* A block of managed memory with `base`, aligned, in it; only larger than asked when CUDA's own alignment is smaller.
 */
static ferry_status reserve_aligned(size_t bytes, void **base) {
    void *exact = NULL;
    ferry_status status = cuda_check(cudaMallocManaged(&exact, bytes, cudaMemAttachGlobal), "cudaMallocManaged");
    if (status)
        return status;
    if ((uintptr_t)exact % FERRY_BLOCK_BYTES == 0) {
        *base = exact;
        return FERRY_OK;
    }
    cudaFree(exact);
    struct padded *region = malloc(sizeof *region);
    if (!region)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a region's record");
    status = cuda_check(cudaMallocManaged(&region->reserved, bytes + FERRY_BLOCK_BYTES, cudaMemAttachGlobal),
                        "cudaMallocManaged");
    if (status) {
        free(region);
        return status;
    }
    size_t beyond = (uintptr_t)region->reserved % FERRY_BLOCK_BYTES;
    region->base = (char *)region->reserved + (beyond ? FERRY_BLOCK_BYTES - beyond : 0);
    *base = region->base;
    pthread_mutex_lock(&padded_lock);
    region->next = padded_regions;
    padded_regions = region;
    pthread_mutex_unlock(&padded_lock);
    return FERRY_OK;
}

/* What CUDA gave for a region, forgetting any padding. */
static void *take_reserved(void *base) {
    void *reserved = base;
    pthread_mutex_lock(&padded_lock);
    for (struct padded **link = &padded_regions; *link; link = &(*link)->next)
        if ((*link)->base == base) {
            struct padded *region = *link;
            *link = region->next;
            reserved = region->reserved;
            free(region);
            break;
        }
    pthread_mutex_unlock(&padded_lock);
    return reserved;
}

/* Mapped on every device from the host's memory, so that a page is reached without a fault wherever it is. */
static ferry_status advise_host_home(void *base, size_t bytes) {
    ferry_status status =
        cuda_check(cuda_advise(base, bytes, cudaMemAdviseSetPreferredLocation, FERRY_PLACE_HOST), "cudaMemAdvise");
    for (int i = 0; i < device_total && !status; i++)
        status = cuda_check(cuda_advise(base, bytes, cudaMemAdviseSetAccessedBy, i), "cudaMemAdvise");
    return status;
}

static ferry_status reserve(size_t bytes, bool host_homed, void **out) {
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, CUDA_SAME_DEVICE);
    if (status)
        return status;
    void *base = NULL;
    status = reserve_aligned(bytes, &base);
    if (!status && host_homed && hints && (status = advise_host_home(base, bytes)))
        cudaFree(take_reserved(base));
    cuda_leave(&scope);
    if (!status)
        *out = base;
    return status;
}

static ferry_status release(void *base, size_t bytes) {
    (void)bytes;
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, CUDA_SAME_DEVICE);
    if (status)
        return status;
    status = cuda_check(cudaFree(take_reserved(base)), "cudaFree");
    cuda_leave(&scope);
    return status;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const backend backend_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .device_count = cuda_device_count,
    .device_get = device_get,
    .reserve = reserve,
    .release = release,
    .move = cuda_move,
    .stream_create = cuda_stream_create,
    .stream_wrap = cuda_stream_wrap,
    .stream_destroy = cuda_stream_destroy,
    .stream_native = cuda_stream_native,
    .stream_is_captured = cuda_is_captured,
    .stream_sync = cuda_stream_sync,
    .stream_settle = cuda_stream_settle,
    .stream_wait = cuda_stream_wait,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_query = cuda_event_query,
    .event_sync = cuda_event_sync,
    .kernel_load = cuda_kernel_load,
    .kernel_set_host = cuda_kernel_set_host,
    .kernel_unload = cuda_kernel_unload,
    .kernel_launch = cuda_kernel_launch,
    .touch = NULL,
    .observe = cuda_observe,
    .link_measure = cuda_link_measure,
    .link_identity = cuda_link_identity,
    .device_pointer = NULL,
    .trace_start = cuda_trace_start,
    .trace_read = cuda_trace_read,
    .trace_stop = cuda_trace_stop,
    .now_ns = now_ns,
};
