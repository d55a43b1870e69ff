/* A fork while another thread starts the library: the child has neither that thread nor the lock that it holds. */
#include <pthread.h>

#include "alloc/core.h"
#include "fake.h"
#include "ferry/ferry.h"
#include "forks.h"

static pthread_barrier_t opening, forked;

static ferry_status open_slowly(void) {
    pthread_barrier_wait(&opening);
    pthread_barrier_wait(&forked);
    return fake_backend()->open();
}

static void *start(void *argument) {
    CHECK_OK(ferry_init(NULL));
    return argument;
}

static void child_has_plain_memory(void) {
    void *block = ferry_malloc(10000);
    REQUIRE(block != NULL);
    CHECK(!ferry_owns(block));
    memset(block, 1, 10000);
    block = ferry_realloc(block, 20000);
    REQUIRE(block != NULL);
    ferry_free(block);
    ferry_heap *heap = NULL;
    CHECK_STATUS(ferry_heap_create(NULL, &heap), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_init(NULL), FERRY_UNSUPPORTED);
}

static void a_start_that_another_thread_makes(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, start, NULL) == 0);
    pthread_barrier_wait(&opening);
    in_child(child_has_plain_memory);
    pthread_barrier_wait(&forked);
    pthread_join(thread, NULL);
    void *block = ferry_malloc(10000);
    CHECK(ferry_owns(block));
    ferry_free(block);
}

int main(void) {
    backend slow = *fake_backend();
    slow.open = open_slowly;
    pthread_barrier_init(&opening, NULL, 2);
    pthread_barrier_init(&forked, NULL, 2);
    core_use_backend(&slow);
    RUN(a_start_that_another_thread_makes);
    return test_finish();
}
