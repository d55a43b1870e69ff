#include "kernel_table.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define BUCKETS 256

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

/* With the lock, which it gives up meanwhile. */
static ferry_status fill(entry *e, kernel_maker make, const void *context) {
    ferry_kernel *kernel = NULL;
    e->being_made = true;
    pthread_mutex_unlock(&lock);
    ferry_status status = make(context, &kernel);
    pthread_mutex_lock(&lock);
    e->being_made = false;
    e->kernel = status == FERRY_OK ? kernel : NULL;
    pthread_cond_broadcast(&made);
    return status;
}

ferry_status kernel_table_get(uint64_t key, kernel_maker make, const void *context, ferry_kernel **out) {
    ferry_status status = FERRY_OK;
    pthread_mutex_lock(&lock);
    entry *e = find_or_add(key);
    if (e == NULL)
        status = ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel's record");
    while (status == FERRY_OK && e->kernel == NULL) {
        if (e->being_made)
            pthread_cond_wait(&made, &lock);
        else
            status = fill(e, make, context);
    }
    if (status == FERRY_OK)
        *out = e->kernel;
    pthread_mutex_unlock(&lock);
    return status;
}
