#include "ferry/torch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "ferry/movement.h"

/* A stream of PyTorch's on which blocks have been freed. */
struct followed {
    void *native;
    ferry_stream *stream;
    struct followed *next;
};

/* What one device needs, made with its first block. */
struct torch_device {
    ferry_heap *heap; /* its own, so that blocks are recycled where they are */
    ferry_stream *placing;
    struct followed *followed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct torch_device *devices; /* one each */

/* Lock held. */
static ferry_status begin_device(int device, struct torch_device **out) {
    const int n = ferry_device_count();
    if (device < 0 || device >= n) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d; there are %d", device, n);
    }
    devices = devices == NULL ? calloc((size_t)n, sizeof *devices) : devices;
    if (devices == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a table of %d devices", n);
    }
    struct torch_device *found = &devices[device];
    ferry_status status = FERRY_OK;
    if (found->heap == NULL) {
        status = ferry_heap_create(&(ferry_heap_options){.name = "torch"}, &found->heap);
    }
    if (status == FERRY_OK && found->placing == NULL) {
        status = ferry_stream_create(device, &found->placing);
    }
    *out = found;
    return status;
}

static ferry_status find_device(int device, struct torch_device *out) {
    struct torch_device *found = NULL;
    pthread_mutex_lock(&lock);
    const ferry_status status = begin_device(device, &found);
    if (status == FERRY_OK) {
        *out = *found;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static ferry_view bytes_at(void *block) {
    const size_t bytes = ferry_usable_size(block);
    return (ferry_view){.data = block, .dtype = FERRY_UINT8, .ndim = 1, .shape = {(int64_t)bytes}, .strides = {1}};
}

/* Returns when the block is there; that nothing waits for the kernels of PyTorch's is said by exporting it. */
static ferry_status place(const struct torch_device *device, void *block) {
    const ferry_view view = bytes_at(block);
    const ferry_operand operand = {.view = &view, .access = FERRY_WRITE, .passes = 1, .policy = FERRY_POLICY_PREFETCH};
    ferry_status status = ferry_acquire(&operand, 1, device->placing);
    status = status == FERRY_OK ? ferry_complete(&operand, 1, device->placing) : status;
    return status == FERRY_OK ? ferry_export_begin(&view) : status;
}

void *ferry_torch_malloc(ssize_t size, int device, void *stream) {
    (void)stream;
    struct torch_device found;
    if (size < 0) {
        ferry_error(FERRY_INVALID_ARGUMENT, "a block of %lld bytes", (long long)size);
        return NULL;
    }
    if (find_device(device, &found) != FERRY_OK) {
        return NULL;
    }
    /* What is smaller shares pages, and would stay on the host. */
    const size_t bytes = (size_t)size < FERRY_PAGE_BYTES ? FERRY_PAGE_BYTES : (size_t)size;
    void *block = ferry_heap_malloc(found.heap, bytes);
    if (block != NULL && place(&found, block) != FERRY_OK) {
        ferry_free(block);
        return NULL;
    }
    return block;
}

/* Lock held. A wrapper is kept: PyTorch's streams come from a pool and live for ever. */
static ferry_status follow(int device, void *native, ferry_stream **out) {
    struct torch_device *found = NULL;
    ferry_status status = begin_device(device, &found);
    if (status != FERRY_OK) {
        return status;
    }
    for (struct followed *entry = found->followed; entry != NULL; entry = entry->next) {
        if (entry->native == native) {
            *out = entry->stream;
            return FERRY_OK;
        }
    }
    struct followed *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to follow a stream (%zu bytes)", sizeof *entry);
    }
    status = ferry_stream_wrap(device, native, &entry->stream);
    if (status != FERRY_OK) {
        free(entry);
        return status;
    }
    entry->native = native;
    entry->next = found->followed;
    found->followed = entry;
    *out = entry->stream;
    return FERRY_OK;
}

/* Lets the block's end wait for what is queued on the stream. */
static ferry_status note_last_use(void *block, int device, void *native) {
    ferry_stream *stream = NULL;
    pthread_mutex_lock(&lock);
    ferry_status status = follow(device, native, &stream);
    pthread_mutex_unlock(&lock);
    if (status != FERRY_OK) {
        return status;
    }
    const ferry_view view = bytes_at(block);
    return ferry_complete(&(ferry_operand){.view = &view, .access = FERRY_READWRITE}, 1, stream);
}

/* The simulator has no streams but the library's own. */
static bool is_simulated(void) {
    const char *name = ferry_backend_name();
    return name != NULL && strcmp(name, "sim") == 0;
}

void ferry_torch_free(void *ptr, ssize_t size, int device, void *stream) {
    (void)size;
    if (ptr != NULL && (is_simulated() || note_last_use(ptr, device, stream) == FERRY_OK)) {
        ferry_free(ptr);
    }
}
