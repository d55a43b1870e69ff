#include "thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "heap_caches.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken inside the heaps' lock */
static struct thread *threads;
static struct thread_counts departed; /* counts of threads that have ended, and of those without a record */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
_Thread_local struct thread *thread_current;

void thread_list_lock(void) {
    pthread_mutex_lock(&lock);
}

void thread_list_unlock(void) {
    pthread_mutex_unlock(&lock);
}

struct thread *thread_first(void) {
    return threads;
}

static void add(_Atomic uint64_t *sum, const _Atomic uint64_t *value) {
    atomic_fetch_add_explicit(sum, atomic_load_explicit(value, memory_order_relaxed), memory_order_relaxed);
}

static void unlink_and_fold(struct thread *thread) {
    thread_list_lock();
    *(thread->previous == NULL ? &threads : &thread->previous->next) = thread->next;
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
    add(&departed.allocations, &thread->counts.allocations);
    add(&departed.frees, &thread->counts.frees);
    add(&departed.live_bytes, &thread->counts.live_bytes);
    thread_list_unlock();
}

static void thread_end(void *argument) {
    struct thread *thread = argument;
    heap_lock();
    heap_caches_end(thread);
    unlink_and_fold(thread);
    heap_unlock();
    thread_current = NULL;
    free(thread->caches);
    free(thread);
}

static void make_key(void) {
    (void)pthread_key_create(&key, thread_end);
}

struct thread *thread_make(void) {
    pthread_once(&key_once, make_key);
    struct thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL || pthread_setspecific(key, thread) != 0) {
        free(thread);
        return NULL;
    }
    thread_list_lock();
    thread->next = threads;
    if (threads != NULL) {
        threads->previous = thread;
    }
    threads = thread;
    thread_list_unlock();
    thread_current = thread;
    return thread;
}

void thread_forget_region(const struct region *region) {
    thread_list_lock();
    for (struct thread *thread = threads; thread != NULL; thread = thread->next) {
        /* No bytes, no region: that alone is right also when the thread turns to another region meanwhile. */
        if (atomic_load_explicit(&thread->last_region, memory_order_relaxed) == region) {
            atomic_store_explicit(&thread->last_bytes, 0, memory_order_relaxed);
        }
    }
    thread_list_unlock();
}

void thread_counts_sum(uint64_t *allocations, uint64_t *frees, uint64_t *live_bytes) {
    struct thread_counts sum = {0};
    thread_list_lock();
    add(&sum.allocations, &departed.allocations);
    add(&sum.frees, &departed.frees);
    add(&sum.live_bytes, &departed.live_bytes);
    for (const struct thread *thread = threads; thread != NULL; thread = thread->next) {
        add(&sum.allocations, &thread->counts.allocations);
        add(&sum.frees, &thread->counts.frees);
        add(&sum.live_bytes, &thread->counts.live_bytes);
    }
    thread_list_unlock();
    *allocations = sum.allocations;
    *frees = sum.frees;
    *live_bytes = sum.live_bytes;
}

void thread_count_without(uint64_t allocations, uint64_t frees, uint64_t live_bytes) {
    atomic_fetch_add_explicit(&departed.allocations, allocations, memory_order_relaxed);
    atomic_fetch_add_explicit(&departed.frees, frees, memory_order_relaxed);
    atomic_fetch_add_explicit(&departed.live_bytes, live_bytes, memory_order_relaxed);
}
