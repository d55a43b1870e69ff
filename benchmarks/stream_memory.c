/* The suite's arrays, in every place, and what has to be in them. */
#include <math.h>
#include <stdlib.h>

#include "explicit.h"
#include "stream.h"

#define PRECISION 1e-14 /* relative */
#define PAGE_BYTES ((size_t)4096)

bool stream_place_has_kernels(enum stream_place place) {
    return place != STREAM_HOST && place != STREAM_HOST_MANAGED;
}

bool stream_place_needs_cuda(enum stream_place place) {
    return place == STREAM_DEVICE || place == STREAM_PINNED;
}

static bool is_managed(enum stream_place place) {
    return place == STREAM_MANAGED || place == STREAM_REMOTE || place == STREAM_HOST_MANAGED;
}

/* Three arrays that differ. */
static void fill(struct stream_memory *memory, int array, double *numbers) {
    struct content content = content_new(memory->n, false);
    for (int i = 0; i <= array; i++)
        content_overwrite(&content, numbers);
    for (size_t k = 0; k < CONTENT_PROBES; k++)
        memory->expected[array][k] = content_value(&content, content_probe_index(memory->n, k));
}

static ferry_status open_managed(struct stream_memory *memory, int i) {
    int64_t n = (int64_t)memory->n;
    ferry_view *view = &memory->arrays[i].view;
    ferry_status status = ferry_array_create(memory->heap, FERRY_FLOAT64, 1, &n, &memory->arrays[i]);
    if (status)
        return status;
    memory->host[i] = view->data;
    memory->device[i] = ferry_device_pointer(view->data);
    status = ferry_host_acquire(view, FERRY_WRITE);
    if (!status)
        fill(memory, i, view->data);
    return status || memory->place != STREAM_MANAGED ? status : ferry_prefetch(view, 0, NULL);
}

static ferry_status open_host(struct stream_memory *memory, int i) {
    bool pinned = memory->place == STREAM_PINNED;
    size_t bytes = (memory->n * sizeof(double) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    memory->host[i] = pinned ? explicit_host_allocate(bytes, true) : aligned_alloc(PAGE_BYTES, bytes);
    if (memory->host[i] && pinned)
        memory->device[i] = explicit_mapped(memory->host[i]);
    if (!memory->host[i] || (pinned && !memory->device[i]))
        return ferry_error(FERRY_OUT_OF_MEMORY, "no host memory for an array of %zu numbers", memory->n);
    fill(memory, i, memory->host[i]);
    return FERRY_OK;
}

static ferry_status open_device(struct stream_memory *memory, int i) {
    size_t bytes = memory->n * sizeof(double);
    void *stream = ferry_stream_native(NULL);
    double *numbers = malloc(bytes);
    memory->device[i] = explicit_device_allocate(bytes);
    bool worked = numbers && memory->device[i];
    if (worked) {
        fill(memory, i, numbers);
        worked = explicit_copy(memory->device[i], numbers, bytes, stream) && explicit_wait(stream);
    }
    free(numbers);
    return worked ? FERRY_OK : ferry_error(FERRY_OUT_OF_MEMORY, "no device memory for an array of %zu bytes", bytes);
}

ferry_status stream_memory_open(struct stream_memory *memory, enum stream_place place, size_t n) {
    const ferry_heap_options options = {.name = "stream",
                                        .policy = place == STREAM_REMOTE ? FERRY_POLICY_REMOTE : FERRY_POLICY_AUTO};
    *memory = (struct stream_memory){.place = place, .n = n};
    memory->probes = ferry_malloc(CONTENT_PROBES * sizeof *memory->probes);
    ferry_status status = memory->probes ? FERRY_OK : FERRY_OUT_OF_MEMORY;
    if (!status && is_managed(place))
        status = ferry_heap_create(&options, &memory->heap);
    for (int i = 0; i < STREAM_ARRAYS && !status; i++)
        status = is_managed(place)        ? open_managed(memory, i)
                 : place == STREAM_DEVICE ? open_device(memory, i)
                                          : open_host(memory, i);
    return status ? status : ferry_sync(NULL);
}

void stream_memory_close(struct stream_memory *memory) {
    ferry_sync(NULL);
    for (int i = 0; i < STREAM_ARRAYS; i++) {
        ferry_array_release(&memory->arrays[i]);
        if (memory->place == STREAM_DEVICE)
            explicit_device_free(memory->device[i]);
        if (memory->place == STREAM_PINNED)
            explicit_host_free(memory->host[i], true);
        if (memory->place == STREAM_HOST)
            free(memory->host[i]);
    }
    ferry_heap_destroy(memory->heap);
    ferry_free(memory->probes);
    *memory = (struct stream_memory){.place = memory->place};
}

void stream_expect(struct stream_memory *memory, int operation) {
    const struct stream_operation *op = &stream_operations[operation];
    for (size_t k = 0; k < CONTENT_PROBES; k++) {
        double x = memory->expected[op->from[0]][k], y = memory->expected[op->from[1]][k];
        const double results[STREAM_OPERATIONS] = {x, STREAM_FACTOR * x, x + y, x + STREAM_FACTOR * y};
        memory->expected[op->to][k] = results[operation];
    }
}

/* On a device a product and a sum are one rounding, so the last digits differ. */
static bool alike(double found, double expected) {
    return fabs(found - expected) <= PRECISION * fabs(expected);
}

static ferry_status look(const struct bench_kernels *gather, const struct stream_memory *memory, int array,
                         double found[CONTENT_PROBES]) {
    const size_t n = memory->n;
    ferry_status status = FERRY_OK;
    if (stream_place_has_kernels(memory->place))
        status = bench_gather(gather, memory->device[array], memory->probes, content_probe_index(n, 0),
                              n / CONTENT_PROBES, CONTENT_PROBES);
    for (size_t k = 0; k < CONTENT_PROBES && !status; k++)
        found[k] = stream_place_has_kernels(memory->place) ? memory->probes[k]
                                                           : memory->host[array][content_probe_index(n, k)];
    return status;
}

ferry_status stream_check(const struct bench_kernels *gather, struct stream_memory *memory, bool *right) {
    bool all = true;
    for (int i = 0; i < STREAM_ARRAYS; i++) {
        double found[CONTENT_PROBES];
        ferry_status status = look(gather, memory, i, found);
        if (status)
            return status;
        for (size_t k = 0; k < CONTENT_PROBES; k++) {
            all &= alike(found[k], memory->expected[i][k]);
            memory->expected[i][k] = found[k];
        }
    }
    *right = all;
    return FERRY_OK;
}
