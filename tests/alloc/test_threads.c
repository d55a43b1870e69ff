/* Many threads on the same heaps: own blocks, blocks of others, threads that end, heaps that end, kernels in flight. */
#include <errno.h>
#include <pthread.h>

#include "alloc/core.h"
#include "tests/alloc/block.h"
#include "tests/alloc/fake.h"

#define WORKERS 4
#define ROUNDS 4 /* threads that come one after another, per worker */
#define STEPS 1500

static uint64_t seed;

/* A place through which blocks go to whoever looks next. */
static struct exchange {
    pthread_mutex_t lock;
    struct block blocks[32];
} exchange = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void swap_with_others(struct block *block, test_random *random) {
    struct block *place = &exchange.blocks[test_random_int(random, 0, 31)];
    pthread_mutex_lock(&exchange.lock);
    const struct block other = *place;
    *place = *block;
    pthread_mutex_unlock(&exchange.lock);
    *block = other;
}

static size_t small_often(test_random *random) {
    return test_random_int(random, 0, 9) < 8 ? block_random_bytes(random) % 20000 : block_random_bytes(random);
}

static void look_around(test_random *random) {
    ferry_stats stats;
    CHECK_OK(ferry_stats_get(&stats));
    CHECK_THAT(stats.peak_bytes < (uint64_t)1 << 34, "a peak of %ju bytes", (uintmax_t)stats.peak_bytes);
    if (test_random_int(random, 0, 3) == 0) {
        CHECK_OK(ferry_trim());
    }
}

static void *work(void *argument) {
    test_random random = {seed + (uint64_t)(uintptr_t)argument};
    struct block blocks[24] = {{NULL, 0, 0}};
    for (int i = 0; i < STEPS; i++) {
        struct block *block = &blocks[test_random_int(&random, 0, 23)];
        const int64_t action = test_random_int(&random, 0, 9);
        if (action == 0) {
            swap_with_others(block, &random);
        } else if (block->at == NULL) {
            block_make(block, NULL, small_often(&random), &random);
            TEST_REQUIRED(CHECK_THAT(block->at != NULL, "%s", ferry_error_detail()));
        } else if (action < 3) {
            block_realloc(block, small_often(&random), &random);
        } else {
            block_free(block);
        }
        if (i % 100 == 0) {
            look_around(&random);
        }
    }
    for (int i = 0; i < 24; i++) {
        if (blocks[i].at != NULL) {
            block_free(&blocks[i]);
        }
    }
    return NULL;
}

static void run_threads(void *(*function)(void *), int n) {
    pthread_t threads[16];
    for (int i = 0; i < n; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, function, (void *)(uintptr_t)i) == 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *work_in_turn(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, work, (char *)argument + 100 * i) == 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void everything_given_back(void) {
    ferry_stats stats;
    CHECK_OK(ferry_trim());
    CHECK_OK(ferry_stats_get(&stats));
    CHECK_UINT(stats.live_bytes, 0);
    CHECK_UINT(stats.reserved_bytes, 0);
    CHECK_UINT(stats.allocations, stats.frees);
}

static void threads_share_a_heap(void) {
    run_threads(work_in_turn, WORKERS);
    for (int i = 0; i < 32; i++) {
        if (exchange.blocks[i].at != NULL) {
            block_free(&exchange.blocks[i]);
        }
    }
    everything_given_back();
}

static void *first_call(void *argument) {
    (void)argument;
    void *block = ferry_malloc(100);
    CHECK_THAT(block != NULL, "no 100 bytes: %s", ferry_error_detail());
    ferry_free(block);
    return NULL;
}

static void threads_start_the_library_together(void) {
    run_threads(first_call, 8);
    everything_given_back();
}

/* Each makes and destroys heaps of its own, while the others allocate, trim and end. */
static void *make_heaps(void *argument) {
    test_random random = {seed + 77 + (uint64_t)(uintptr_t)argument};
    for (int i = 0; i < 60; i++) {
        ferry_heap *heap = NULL;
        CHECK_OK(ferry_heap_create(NULL, &heap));
        struct block blocks[10];
        for (int j = 0; j < 10; j++) {
            block_make(&blocks[j], heap, small_often(&random), &random);
            TEST_REQUIRED(CHECK_THAT(blocks[j].at != NULL, "%s", ferry_error_detail()));
        }
        for (int j = 0; j < 5; j++) {
            block_free(&blocks[j]);
        }
        if (i % 4 == 0) {
            look_around(&random);
        }
        for (int j = 5; j < 10; j++) {
            block_check(&blocks[j]);
        }
        ferry_heap_destroy(heap);
    }
    return NULL;
}

static void *short_lives(void *argument) {
    if ((uintptr_t)argument % 2 == 0) {
        return make_heaps(argument);
    }
    for (int i = 0; i < 150; i++) {
        run_threads(first_call, 2);
        if (i % 5 == 0) {
            CHECK_OK(ferry_trim());
        }
    }
    return NULL;
}

static void heaps_come_and_go(void) {
    run_threads(short_lives, WORKERS);
    everything_given_back();
}

/* A heap's blocks lie in the caches of threads that are still there when it goes. */
static ferry_heap *shared_heap;
static pthread_barrier_t barrier;

static void *use_shared_heap(void *argument) {
    test_random random = {seed + 99 + (uint64_t)(uintptr_t)argument};
    for (int round = 0; round < 20; round++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 30; i++) {
            struct block block;
            block_make(&block, shared_heap, small_often(&random), &random);
            TEST_REQUIRED(CHECK_THAT(block.at != NULL, "%s", ferry_error_detail()));
            block_free(&block);
        }
        pthread_barrier_wait(&barrier);
        /* Not using the heap, but alive, while it is destroyed. */
        for (int i = 0; i < 5; i++) {
            look_around(&random);
            ferry_free(ferry_malloc(5000));
        }
    }
    return NULL;
}

static void heap_goes_before_its_threads(void) {
    pthread_t threads[WORKERS];
    pthread_barrier_init(&barrier, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, use_shared_heap, (void *)(uintptr_t)i) == 0);
    }
    for (int round = 0; round < 20; round++) {
        REQUIRE_OK(ferry_heap_create(NULL, &shared_heap));
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        ferry_heap_destroy(shared_heap);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    everything_given_back();
}

/* Streams, frees in flight and heaps that end, at once. */
static void *launch_and_free(void *argument) {
    test_random random = {seed + 123 + (uint64_t)(uintptr_t)argument};
    for (int i = 0; i < 40; i++) {
        ferry_stream *stream = NULL;
        ferry_heap *heap = NULL;
        CHECK_OK(ferry_stream_create(0, &stream));
        CHECK_OK(ferry_heap_create(NULL, &heap));
        for (int j = 0; j < 12; j++) {
            const size_t bytes = (size_t)test_random_int(&random, 100, 40000);
            const ferry_view view = {
                ferry_heap_malloc(j % 2 == 0 ? heap : NULL, bytes), FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
            const ferry_operand operand = {.view = &view, .access = (ferry_access)test_random_int(&random, 1, 3)};
            CHECK_OK(ferry_acquire(&operand, 1, stream));
            fake_launch(stream);
            CHECK_OK(ferry_complete(&operand, 1, stream));
            if (j % 4 == 1) {
                CHECK_OK(ferry_host_acquire(&view, FERRY_READWRITE));
            }
            if (j % 4 == 3) {
                CHECK_OK(ferry_sync(NULL));
            }
            errno = 7;
            ferry_free(view.data);
            CHECK_INT(errno, 7);
        }
        ferry_stream_destroy(stream);
        ferry_heap_destroy(heap);
    }
    return NULL;
}

static void kernels_streams_and_heaps_at_once(void) {
    run_threads(launch_and_free, WORKERS);
    CHECK_OK(ferry_sync(NULL));
    everything_given_back();
}

int main(void) {
    seed = test_seed(6);
    core_use_backend(fake_backend());
    setenv("FERRY_LIMIT", "256M", 1);
    RUN(threads_start_the_library_together);
    RUN(threads_share_a_heap);
    RUN(heaps_come_and_go);
    RUN(heap_goes_before_its_threads);
    RUN(kernels_streams_and_heaps_at_once);
    return test_finish();
}
