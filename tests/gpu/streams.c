/* Many streams and threads: what one stream wrote another reads in order, with no wait on the host. */
#include <pthread.h>

#include "tests/gpu/gpu.h"

#define STREAMS 8
#define THREADS 4
#define COUNT ((int64_t)(2 * MIB / sizeof(double)))

/* x[i] on stream i, then sums of neighbours on each stream: sum = 3x + 1 of sorts, the same everywhere. */
static void neighbours_see_each_other(void) {
    ferry_stream *streams[STREAMS];
    ferry_array x[STREAMS], y[STREAMS], sum[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        REQUIRE_OK(ferry_stream_create(i % ferry_device_count(), &streams[i]));
        x[i] = gpu_filled(NULL, COUNT, 1.0);
        y[i] = gpu_array(NULL, COUNT);
        sum[i] = gpu_array(NULL, COUNT);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < STREAMS; i++)
            REQUIRE_OK(gpu_unary(FERRY_OP_NEGATIVE, &x[i], &y[i], streams[i]));
        for (int i = 0; i < STREAMS; i++)
            REQUIRE_OK(gpu_binary(FERRY_OP_ADD, &y[i], &y[(i + 1) % STREAMS], &sum[i], streams[i]));
        for (int i = 0; i < STREAMS; i++)
            REQUIRE_OK(gpu_binary(FERRY_OP_SUBTRACT, &x[i], &sum[(i + 3) % STREAMS], &y[i], streams[i]));
    }
    for (int i = 0; i < STREAMS; i++) {
        CHECK_OK(ferry_host_acquire(&y[i].view, FERRY_READ));
        CHECK_INT(gpu_wrong(&y[i], 3, gpu_same, 1.0), 0);
        ferry_array_release(&x[i]);
        ferry_array_release(&y[i]);
        ferry_array_release(&sum[i]);
        ferry_stream_destroy(streams[i]);
    }
}

static void *work(void *argument) {
    double base = 1.0 + *(int *)argument;
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(*(int *)argument % ferry_device_count(), &stream));
    for (int i = 0; i < 25; i++) {
        ferry_array x = gpu_filled(NULL, COUNT / (1 + i % 5), base), y = gpu_array(NULL, COUNT / (1 + i % 5));
        REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, stream));
        CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
        CHECK_INT(gpu_wrong(&y, 1, log, base), 0);
        ferry_array_release(&x);
        ferry_array_release(&y);
    }
    ferry_stream_destroy(stream);
    return NULL;
}

static void threads_do_not_meet(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        REQUIRE(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Waits for everything there is, also when there is nothing. */
static void syncing_is_idle_when_idle(void) {
    CHECK_OK(ferry_sync(NULL));
    CHECK_OK(ferry_sync(NULL));
    ferry_stream_destroy(NULL);
}

int main(void) {
    gpu_start();
    RUN(neighbours_see_each_other);
    RUN(threads_do_not_meet);
    RUN(syncing_is_idle_when_idle);
    return test_finish();
}
