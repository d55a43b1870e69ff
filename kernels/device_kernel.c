#include "device_kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "compile.h"

#define DEVICES_REMEMBERED 64
#define BUCKETS 256

ferry_status device_architecture(int device, int *out) {
    static atomic_int remembered[DEVICES_REMEMBERED];
    bool remembers = device >= 0 && device < DEVICES_REMEMBERED;
    int known = remembers ? atomic_load_explicit(&remembered[device], memory_order_relaxed) : 0;
    if (known == 0) {
        ferry_device_info info;
        ferry_status status = ferry_device_get(device, &info);
        if (status != FERRY_OK)
            return status;
        known = info.compute_major * 10 + info.compute_minor;
        if (remembers)
            atomic_store_explicit(&remembered[device], known, memory_order_relaxed);
    }
    *out = known;
    return FERRY_OK;
}

/* Never freed. The kernel is NULL while no thread has made it. */
typedef struct entry {
    uint64_t key;
    ferry_kernel *kernel;
    bool being_made;
    struct entry *next;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all entries */
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;   /* a kernel was made, or failed */
static entry *buckets[BUCKETS];

static entry **bucket_of(uint64_t key) {
    return &buckets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

/* Under the lock. NULL: no memory. */
static entry *find_or_add(uint64_t key) {
    entry **bucket = bucket_of(key), *e = *bucket;
    while (e != NULL && e->key != key)
        e = e->next;
    if (e != NULL)
        return e;
    e = calloc(1, sizeof *e);
    if (e != NULL) {
        *e = (entry){.key = key, .next = *bucket};
        *bucket = e;
    }
    return e;
}

static ferry_status make_kernel(const device_form *form, int architecture, ferry_kernel **out) {
    text_buffer source = {0};
    code_image image = {NULL, 0};
    ferry_status status = device_source_make(form, &source);
    if (status == FERRY_OK) {
        nvrtc_request request = {.source = source.data, .name = DEVICE_KERNEL_NAME, .architecture = architecture};
        status = compile_source(&request, &image, NULL);
    }
    if (status == FERRY_OK)
        status = ferry_kernel_load(image.data, image.bytes, DEVICE_KERNEL_NAME, NULL, out);
    free(image.data);
    free(source.data);
    return status;
}

/* With the lock, which it gives up meanwhile. */
static ferry_status fill(entry *e, const device_form *form, int architecture) {
    ferry_kernel *kernel = NULL;
    e->being_made = true;
    pthread_mutex_unlock(&lock);
    ferry_status status = make_kernel(form, architecture, &kernel);
    pthread_mutex_lock(&lock);
    e->being_made = false;
    e->kernel = kernel;
    pthread_cond_broadcast(&made);
    return status;
}

ferry_status device_kernel_get(const device_form *form, int device, ferry_kernel **out) {
    int architecture;
    ferry_status status = device_architecture(device, &architecture);
    if (status != FERRY_OK)
        return status;
    pthread_mutex_lock(&lock);
    entry *e = find_or_add(device_form_key(form) << 12 | (uint64_t)architecture);
    if (e == NULL)
        status = ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel's record");
    while (status == FERRY_OK && e->kernel == NULL) {
        if (e->being_made)
            pthread_cond_wait(&made, &lock);
        else
            status = fill(e, form, architecture);
    }
    if (status == FERRY_OK)
        *out = e->kernel;
    pthread_mutex_unlock(&lock);
    return status;
}
