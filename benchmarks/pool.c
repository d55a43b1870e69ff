#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define THREADS_MAX 64
#define ALIGNMENT ((size_t)512) /* doubles in a page: no two threads touch the same one of an aligned array */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[THREADS_MAX];
    double sums[THREADS_MAX];
    size_t count;   /* parts, of which the caller does the first; 0: not started */
    size_t busy;    /* threads that have not finished the job in hand; under the lock, as are the next two */
    uint64_t job;   /* its number */
    bool ending;    /* instead of a job */
    pool_work work; /* this and the next two are constant while a job is in hand */
    void *context;
    size_t n;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void do_part(size_t part) {
    size_t each = (pool.n / pool.count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t begin = part * each < pool.n ? part * each : pool.n;
    size_t end = part + 1 == pool.count || begin + each > pool.n ? pool.n : begin + each;
    pool.sums[part] = begin < end ? pool.work(pool.context, begin, end) : 0;
}

/* Waits for the job after `*job`; false when there is none to come. */
static bool take_job(uint64_t *job) {
    pthread_mutex_lock(&pool.lock);
    while (pool.job == *job && !pool.ending)
        pthread_cond_wait(&pool.changed, &pool.lock);
    bool taken = pool.job != *job;
    *job = pool.job;
    pthread_mutex_unlock(&pool.lock);
    return taken;
}

static void *serve(void *argument) {
    size_t part = (size_t)((double *)argument - pool.sums);
    uint64_t job = 0;
    while (take_job(&job)) {
        do_part(part);
        pthread_mutex_lock(&pool.lock);
        pool.busy--;
        pthread_cond_broadcast(&pool.changed);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

static void open_pool(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (size_t)cores;
    pool.job = 0;
    pool.ending = false;
    for (pool.count = 1; pool.count < wanted; pool.count++)
        if (pthread_create(&pool.threads[pool.count], NULL, serve, &pool.sums[pool.count]))
            break;
}

static void give_job(void) {
    pthread_mutex_lock(&pool.lock);
    pool.job++;
    pool.busy = pool.count - 1;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

static void await_threads(void) {
    pthread_mutex_lock(&pool.lock);
    while (pool.busy)
        pthread_cond_wait(&pool.changed, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

double pool_run(pool_work work, void *context, size_t n) {
    if (n * sizeof(double) < POOL_LEAST_BYTES)
        return work(context, 0, n);
    if (!pool.count)
        open_pool();
    pool.work = work;
    pool.context = context;
    pool.n = n;
    give_job();
    do_part(0);
    await_threads();
    double sum = 0;
    for (size_t i = 0; i < pool.count; i++)
        sum += pool.sums[i];
    return sum;
}

void pool_close(void) {
    pthread_mutex_lock(&pool.lock);
    pool.ending = true;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
    for (size_t i = 1; i < pool.count; i++)
        pthread_join(pool.threads[i], NULL);
    pool.count = 0;
}
