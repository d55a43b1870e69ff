/* Counters of blocks: exact sums over threads, the peak, resets. */
#include <pthread.h>

#include "alloc/core.h"
#include "alloc/thread.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

static ferry_stats stats(void) {
    ferry_stats now;
    REQUIRE_OK(ferry_stats_get(&now));
    return now;
}

static void blocks_are_counted(void) {
    const ferry_stats before = stats();
    void *large = ferry_malloc(1000000), *middle = ferry_malloc(5000), *tiny = ferry_malloc(100);
    ferry_stats now = stats();
    CHECK_UINT(now.allocations - before.allocations, 3);
    CHECK_UINT(now.live_bytes - before.live_bytes, 1000000 + 5000 + ferry_usable_size(tiny));
    CHECK(now.reserved_bytes > 0);
    CHECK_UINT(now.measured, 0);
    CHECK_UINT(now.modelled_ns, 0);
    ferry_free(large);
    ferry_free(middle);
    ferry_free(tiny);
    ferry_free(NULL);
    now = stats();
    CHECK_UINT(now.frees - before.frees, 3);
    CHECK_UINT(now.live_bytes, before.live_bytes);
}

static void peak_stays_and_is_reset_to_what_is_live(void) {
    REQUIRE_OK(ferry_stats_reset());
    void *one = ferry_malloc(1 << 20), *two = ferry_malloc(1 << 20);
    ferry_free(two);
    CHECK_UINT(stats().peak_bytes, 2 << 20);
    CHECK_UINT(stats().live_bytes, 1 << 20);
    REQUIRE_OK(ferry_stats_reset());
    CHECK_UINT(stats().peak_bytes, 1 << 20);
    CHECK_UINT(stats().allocations, 0);
    CHECK_UINT(stats().frees, 0);
    void *small[100];
    for (int i = 0; i < 100; i++) {
        small[i] = ferry_malloc(4096);
    }
    CHECK_UINT(stats().peak_bytes, (1 << 20) + 100 * 4096);
    for (int i = 0; i < 100; i++) {
        ferry_free(small[i]);
    }
    ferry_free(one);
    CHECK_UINT(stats().peak_bytes, (1 << 20) + 100 * 4096);
    CHECK_UINT(stats().live_bytes, 0);
    CHECK_UINT(stats().frees, 101);
}

static void failures_are_not_counted(void) {
    const ferry_stats before = stats();
    CHECK(ferry_malloc(SIZE_MAX) == NULL);
    CHECK(ferry_calloc(SIZE_MAX, 2) == NULL);
    CHECK(ferry_aligned_alloc(3, 3) == NULL);
    const ferry_stats now = stats();
    CHECK_UINT(now.allocations, before.allocations);
    CHECK_UINT(now.live_bytes, before.live_bytes);
}

enum { THREADS = 4, EACH = 3000 };
static void *passed[THREADS][EACH];
static pthread_barrier_t barrier;

/* Allocates its own, frees its neighbour's, and ends. */
static void *pass_on(void *argument) {
    const uintptr_t who = (uintptr_t)argument;
    for (int i = 0; i < EACH; i++) {
        passed[who][i] = ferry_malloc((size_t)i % 7 * 1000);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < EACH; i++) {
        ferry_free(passed[(who + 1) % THREADS][i]);
    }
    return NULL;
}

static void sums_are_exact_over_threads_that_ended(void) {
    REQUIRE_OK(ferry_stats_reset());
    const uint64_t live = stats().live_bytes;
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, pass_on, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_UINT(stats().allocations, THREADS * EACH);
    CHECK_UINT(stats().frees, THREADS * EACH);
    CHECK_UINT(stats().live_bytes, live);
}

/* One allocates, the other frees at once: seen in the wrong order, fewer than no bytes are live. */
static void *_Atomic mailbox;
static _Atomic bool done;

static void *free_what_comes(void *argument) {
    (void)argument;
    while (!atomic_load(&done)) {
        ferry_free(atomic_exchange(&mailbox, NULL));
    }
    return NULL;
}

static void *send(void *argument) {
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        ferry_free(atomic_exchange(&mailbox, ferry_malloc(60000)));
    }
    atomic_store(&done, true);
    return NULL;
}

static void peak_is_sane_while_blocks_pass(void) {
    REQUIRE_OK(ferry_stats_reset());
    pthread_t threads[2];
    REQUIRE(pthread_create(&threads[0], NULL, send, NULL) == 0);
    REQUIRE(pthread_create(&threads[1], NULL, free_what_comes, NULL) == 0);
    while (!atomic_load(&done)) {
        const ferry_stats now = stats();
        CHECK(now.live_bytes < 1 << 30);
        CHECK(now.peak_bytes < 1 << 30);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ferry_free(atomic_exchange(&mailbox, NULL));
    CHECK_UINT(stats().live_bytes, 0);
}

/* A destructor that runs after the library's own may still free; to allocate may fail by then, no more than that. */
static pthread_key_t late_key;

static void free_late(void *block) {
    ferry_free(block);
    void *late = ferry_malloc(10);
    CHECK(late == NULL || ferry_owns(late));
    ferry_free(late);
}

static void *leave_a_block(void *argument) {
    (void)argument;
    ferry_free(ferry_malloc(10));
    pthread_setspecific(late_key, ferry_malloc(10000));
    return NULL;
}

static void late_destructors_may_free(void) {
    pthread_t thread;
    const ferry_stats before = stats();
    REQUIRE(pthread_key_create(&late_key, free_late) == 0);
    REQUIRE(pthread_create(&thread, NULL, leave_a_block, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK_UINT(stats().live_bytes, before.live_bytes);
    CHECK_UINT(stats().allocations - before.allocations, stats().frees - before.frees);
    thread_list_lock();
    int records = 0;
    for (const struct thread *record = thread_first(); record != NULL; record = record->next) {
        records++;
    }
    thread_list_unlock();
    CHECK_INT(records, 1);
}

static void tracing_is_started_once(void) {
    /* The fake backend measures nothing: the account goes on. */
    CHECK_STATUS(ferry_trace_stop(), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_trace_start(), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_trace_stop(), FERRY_INVALID_ARGUMENT);
    CHECK_UINT(stats().measured, 0);
}

int main(void) {
    core_use_backend(fake_backend());
    RUN(blocks_are_counted);
    RUN(peak_stays_and_is_reset_to_what_is_live);
    RUN(failures_are_not_counted);
    RUN(sums_are_exact_over_threads_that_ended);
    RUN(peak_is_sane_while_blocks_pass);
    RUN(late_destructors_may_free);
    RUN(tracing_is_started_once);
    return test_finish();
}
