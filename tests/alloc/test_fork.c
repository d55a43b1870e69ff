/* Forked children: they free what their parent allocated, allocate plain memory, and leave the device alone. */
#include <errno.h>
#include <pthread.h>

#include "alloc/core.h"
#include "tests/alloc/block.h"
#include "tests/alloc/fake.h"
#include "tests/alloc/forks.h"

enum { BLOCKS = 60 };
static void *parents[BLOCKS];
static size_t parents_bytes[BLOCKS];
static ferry_heap *heap;
static ferry_stream *stream;
static ferry_kernel *no_kernel;

static void use(void *data, size_t bytes, ferry_access access) {
    const ferry_view view = {data, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
    const ferry_operand operand = {.view = &view, .access = access};
    CHECK_OK(ferry_acquire(&operand, 1, stream));
    fake_launch(stream);
    CHECK_OK(ferry_complete(&operand, 1, stream));
}

static void allocate_in_parent(void) {
    test_random random = {test_seed(7)};
    for (int i = 0; i < BLOCKS; i++) {
        parents_bytes[i] = block_random_bytes(&random);
        parents[i] = ferry_heap_malloc(i % 2 == 0 ? heap : NULL, parents_bytes[i]);
        REQUIRE(parents[i] != NULL);
        if (i % 5 == 0 && parents_bytes[i] > 0) {
            use(parents[i], parents_bytes[i], FERRY_READ);
        }
    }
}

static void plain_block(void *block, size_t bytes) {
    REQUIRE(block != NULL);
    memset(block, 0x5a, bytes);
    CHECK(ferry_usable_size(block) >= bytes);
    CHECK(!ferry_owns(block));
}

static void allocate_plainly(void) {
    unsigned char *blocks[] = {ferry_malloc(0),
                               ferry_malloc(100000),
                               ferry_heap_malloc(heap, 70),
                               ferry_aligned_alloc(4096, 5000),
                               ferry_calloc(1000, 10),
                               ferry_heap_calloc(heap, 7, 0)};
    CHECK(blocks[4][0] == 0 && memcmp(blocks[4], blocks[4] + 1, 9999) == 0);
    CHECK((uintptr_t)blocks[3] % 4096 == 0);
    const size_t sizes[] = {0, 100000, 70, 5000, 10000, 0};
    for (int i = 0; i < 6; i++) {
        plain_block(blocks[i], sizes[i]);
        blocks[i] = ferry_realloc(blocks[i], sizes[i] + 50000);
        REQUIRE(blocks[i] != NULL);
        CHECK(sizes[i] == 0 || (blocks[i][0] == 0x5a && blocks[i][sizes[i] - 1] == 0x5a));
        plain_block(blocks[i], sizes[i] + 50000);
        blocks[i] = ferry_realloc(blocks[i], 0);
        plain_block(blocks[i], 0);
        ferry_free(blocks[i]);
    }
    void *block = ferry_realloc(NULL, 30);
    plain_block(block, 30);
    ferry_free(block);
    errno = 0;
    CHECK(ferry_malloc(SIZE_MAX) == NULL && errno == ENOMEM);
    CHECK(ferry_aligned_alloc(64, SIZE_MAX) == NULL);
    CHECK(ferry_aligned_alloc(64, SIZE_MAX - 70) == NULL);
    CHECK(ferry_calloc(SIZE_MAX, 2) == NULL);
}

/* The parent's regions are not mapped here: their addresses must not be given to anybody. */
static void plain_memory_is_not_taken_for_managed(void) {
    enum { PIECES = 64 };
    static void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = ferry_malloc((size_t)16 << 20);
        REQUIRE(pieces[i] != NULL);
        CHECK(!ferry_owns(pieces[i]));
    }
    for (int i = 0; i < PIECES; i++) {
        ferry_free(pieces[i]);
    }
}

static void free_parents(void) {
    errno = 4711;
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(ferry_owns(parents[i]));
        CHECK(ferry_usable_size(parents[i]) >= parents_bytes[i]);
        ferry_free(parents[i]);
    }
    CHECK_INT(errno, 4711);
}

static void child_frees_and_allocates(void) {
    const uint64_t calls = fake_calls();
    ferry_stats stats;
    plain_memory_is_not_taken_for_managed();
    allocate_plainly();
    CHECK(ferry_realloc(parents[0], 10) == NULL);
    free_parents();
    allocate_plainly();
    CHECK_OK(ferry_stats_get(&stats));
    CHECK_OK(ferry_stats_reset());
    CHECK_OK(ferry_trim());
    CHECK_OK(ferry_sync(NULL));
    ferry_heap_destroy(heap);
    ferry_stream_destroy(stream);
    CHECK_OK(ferry_init(NULL));
    CHECK_UINT(fake_calls(), calls);
}

/* Each of these would be a driver call. */
static void child_is_refused_devices(void) {
    const uint64_t calls = fake_calls();
    static char ordinary[10000];
    const ferry_view view = {parents[1], FERRY_UINT8, 1, false, {1}, {1}};
    const ferry_view own = {ordinary, FERRY_UINT8, 1, false, {10000}, {1}};
    const ferry_operand operand = {.view = &view, .access = FERRY_READ};
    ferry_stream *fresh = NULL;
    ferry_kernel *kernel = NULL;
    ferry_device_info info;
    CHECK_STATUS(ferry_acquire(&operand, 1, stream), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_complete(&operand, 1, NULL), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_host_acquire(&view, FERRY_READ), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_prefetch(&view, 0, NULL), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_prefetch(&view, FERRY_PLACE_HOST, NULL), FERRY_UNSUPPORTED);
    CHECK_OK(ferry_host_acquire(&own, FERRY_READWRITE));
    CHECK_STATUS(ferry_stream_create(0, &fresh), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_stream_wrap(0, NULL, &fresh), FERRY_UNSUPPORTED);
    CHECK(ferry_stream_native(stream) == NULL);
    CHECK_STATUS(ferry_kernel_load("", 1, "k", NULL, &kernel), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_kernel_enqueue(no_kernel, (ferry_grid){{0}, {0}, 0}, NULL, NULL, 0, stream), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_trace_start(), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_trace_stop(), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_device_get(0, &info), FERRY_UNSUPPORTED);
    (void)ferry_view_place(&view);
    CHECK(ferry_device_pointer(ordinary) == ordinary);
    CHECK_STRING(ferry_backend_name(), "fake");
    CHECK(fresh == NULL && kernel == NULL);
    CHECK_UINT(fake_calls(), calls);
}

static void grandchild(void) {
    free_parents();
    allocate_plainly();
}

static void child_forks(void) {
    in_child(grandchild);
    free_parents();
}

static void *allocate_and_free(void *argument) {
    test_random random = {(uint64_t)(uintptr_t)argument};
    for (int i = 0; i < 200; i++) {
        void *block = ferry_malloc(block_random_bytes(&random) % 100000);
        ferry_free(block);
    }
    return NULL;
}

static void child_has_threads(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, allocate_and_free, NULL) == 0);
    pthread_join(thread, NULL);
    grandchild();
}

static void children(void) {
    allocate_in_parent();
    in_child(child_frees_and_allocates);
    in_child(child_is_refused_devices);
    in_child(child_forks);
    in_child(child_has_threads);
    free_parents();
    fake_finish(stream);
    CHECK_OK(ferry_trim());
}

static _Atomic bool stop;

/* Allocates, trims, makes heaps and threads: whatever lock there is, some fork meets it held. */
static void *disturb(void *argument) {
    const uintptr_t who = (uintptr_t)argument;
    for (uintptr_t i = who; !atomic_load(&stop); i++) {
        allocate_and_free((void *)i);
        if (who == 1) {
            ferry_heap *own = NULL;
            CHECK_OK(ferry_heap_create(NULL, &own));
            ferry_free(ferry_heap_malloc(own, 10000));
            ferry_heap_destroy(own);
        } else if (who == 2) {
            pthread_t thread;
            REQUIRE(pthread_create(&thread, NULL, allocate_and_free, (void *)i) == 0);
            pthread_join(thread, NULL);
            CHECK_OK(ferry_trim());
        }
    }
    return NULL;
}

/* From a thread that the library does not know yet. */
static void *fork_from_thread(void *argument) {
    (void)argument;
    in_child(grandchild);
    return NULL;
}

static void forks_amid_threads(void) {
    pthread_t threads[3], forker;
    allocate_in_parent();
    for (uintptr_t i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, disturb, (void *)i) == 0);
    }
    for (int i = 0; i < 6; i++) {
        in_child(child_frees_and_allocates);
        REQUIRE(pthread_create(&forker, NULL, fork_from_thread, NULL) == 0);
        pthread_join(forker, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    free_parents();
    fake_finish(stream);
    CHECK_OK(ferry_trim());
}

static void *say_ok(void *argument) {
    return argument;
}

/* Before the library has started a child is a process like any other. */
static void child_starts_the_library(void) {
    void *block = ferry_malloc(10000);
    CHECK(ferry_owns(block));
    ferry_free(block);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, say_ok, NULL) == 0);
    pthread_join(thread, NULL);
}

int main(void) {
    core_use_backend(fake_backend());
    in_child(child_starts_the_library);
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    REQUIRE_OK(ferry_stream_create(0, &stream));
    RUN(children);
    RUN(forks_amid_threads);
    return test_finish();
}
