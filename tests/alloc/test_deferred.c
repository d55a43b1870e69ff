/* Frees of blocks that kernels still use. */
#include <errno.h>

#include "alloc/core.h"
#include "alloc/deferred.h"
#include "alloc/heap.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

static ferry_stream *streams[2];

static ferry_view bytes_at(void *data, size_t bytes) {
    return (ferry_view){data, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
}

static struct fake_work use(void *data, size_t bytes, ferry_access access, ferry_stream *stream) {
    const ferry_view view = bytes_at(data, bytes);
    const ferry_operand operand = {.view = &view, .access = access};
    CHECK_OK(ferry_acquire(&operand, 1, stream));
    const struct fake_work work = fake_launch(stream);
    CHECK_OK(ferry_complete(&operand, 1, stream));
    return work;
}

/* Whether one of the next allocations of the size lies at `block`. Frees them again. */
static bool comes_back(const void *block, size_t bytes) {
    enum { TRIES = 64 };
    void *tries[TRIES];
    bool found = false;
    for (int i = 0; i < TRIES; i++) {
        tries[i] = ferry_malloc(bytes);
        found = found || tries[i] == block;
    }
    for (int i = 0; i < TRIES; i++) {
        ferry_free(tries[i]);
    }
    return found;
}

/* Frees that have been carried out, what has ended by now included. */
static uint64_t frees_now(void) {
    ferry_stats stats;
    deferred_reap();
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.frees;
}

static bool is_found(const void *block) {
    void *base;
    size_t bytes;
    return ferry_storage_find(block, &base, &bytes) == FERRY_OK;
}

static void block_waits_for_its_kernel(void) {
    const size_t sizes[] = {16, 3000, 4096, 65536, (size_t)5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = ferry_malloc(sizes[i]);
        REQUIRE(block != NULL);
        use(block, sizes[i], FERRY_READ, streams[0]);
        ferry_free(block);
        CHECK(core_attention_to(CORE_DEFERRED));
        CHECK(sizes[i] < FERRY_PAGE_BYTES || !is_found(block));
        CHECK_THAT(!comes_back(block, sizes[i]), "a block of %zu bytes was recycled too early", sizes[i]);
        const uint64_t frees = frees_now();
        fake_finish(streams[0]);
        /* Tiny blocks of the same page have waited as well. */
        const uint64_t done = frees_now() - frees;
        CHECK(sizes[i] < FERRY_PAGE_BYTES ? done > 0 : done == 1);
        CHECK(!core_attention_to(CORE_DEFERRED));
    }
}

/* A tiny storage may lie on two pages; a kernel that uses only its end holds it, too. */
static void tiny_block_on_two_pages_waits(void) {
    enum { BYTES = 3584, BLOCKS = 64 };
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = ferry_malloc(BYTES);
        REQUIRE(blocks[i] != NULL);
    }
    int tried = 0;
    for (int i = 0; i < BLOCKS; i++) {
        char *end = blocks[i] + BYTES - 1;
        if ((uintptr_t)blocks[i] / FERRY_PAGE_BYTES == (uintptr_t)end / FERRY_PAGE_BYTES) {
            continue;
        }
        tried++;
        use(end, 1, FERRY_READ, streams[0]);
        ferry_free(blocks[i]);
        CHECK(!comes_back(blocks[i], BYTES));
        fake_finish(streams[0]);
        blocks[i] = NULL;
    }
    CHECK(tried > 0);
    for (int i = 0; i < BLOCKS; i++) {
        ferry_free(blocks[i]);
    }
}

static void second_free_is_refused(void) {
    const size_t bytes = 100000;
    void *block = ferry_malloc(bytes);
    REQUIRE(block != NULL);
    use(block, bytes, FERRY_WRITE, streams[0]);
    ferry_free(block);
    ferry_stats before, after;
    REQUIRE_OK(ferry_stats_get(&before));
    ferry_free(block);
    CHECK(strstr(ferry_error_detail(), "not the start of a live block") != NULL);
    errno = 0;
    CHECK(ferry_realloc(block, 2 * bytes) == NULL);
    CHECK_INT(errno, EINVAL);
    CHECK_UINT(ferry_usable_size(block), 0);
    fake_finish(streams[0]);
    deferred_reap();
    ferry_free(block);
    CHECK(strstr(ferry_error_detail(), "not the start of a live block") != NULL);
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_UINT(after.frees - before.frees, 1);
    CHECK_UINT(before.live_bytes - after.live_bytes, bytes);
}

static void interior_free_is_refused(void) {
    char *block = ferry_malloc(100000);
    ferry_stats before, after;
    REQUIRE_OK(ferry_stats_get(&before));
    ferry_free(block + 1);
    ferry_free(block + FERRY_PAGE_BYTES);
    ferry_free(&before);
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_UINT(after.frees, before.frees);
    CHECK(is_found(block));
    ferry_free(block);
}

/* Each as soon as its own kernels have ended, whatever the order of the frees. */
static void blocks_come_back_in_any_order(void) {
    const size_t bytes = 40000;
    void *slow = ferry_malloc(bytes), *quick = ferry_malloc(bytes), *both = ferry_malloc(bytes);
    use(slow, bytes, FERRY_WRITE, streams[0]);
    use(quick, bytes, FERRY_WRITE, streams[1]);
    use(both, bytes, FERRY_READ, streams[0]);
    use(both, bytes, FERRY_READ, streams[1]);
    ferry_free(slow);
    ferry_free(both);
    ferry_free(quick);
    const uint64_t frees = frees_now();
    fake_finish(streams[1]);
    CHECK_UINT(frees_now(), frees + 1);
    CHECK(!comes_back(slow, bytes));
    CHECK(!comes_back(both, bytes));
    const uint64_t later = frees_now();
    fake_finish(streams[0]);
    CHECK_UINT(frees_now(), later + 2);
}

/* A free, a reuse by another kernel and another free, all in flight, must not mix. */
static void reused_block_waits_again(void) {
    const size_t bytes = 70000;
    for (int i = 0; i < 200; i++) {
        void *block = ferry_malloc(bytes);
        const struct fake_work work = use(block, bytes, i % 2 == 0 ? FERRY_WRITE : FERRY_READ, streams[i % 2]);
        ferry_free(block);
        void *other = ferry_malloc(bytes);
        CHECK(other != block || fake_ended(&work));
        ferry_free(other);
        if (i % 3 == 0) {
            fake_finish(streams[i % 2]);
        }
    }
    CHECK_OK(ferry_sync(NULL));
    deferred_reap();
    CHECK(!core_attention_to(CORE_DEFERRED));
}

static void acquire_without_launch_holds_the_block(void) {
    const size_t bytes = 8192;
    void *block = ferry_malloc(bytes);
    const ferry_view view = bytes_at(block, bytes);
    /* A recycled block may be on the device already, where an acquire moves nothing. */
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    CHECK_OK(ferry_acquire(&(ferry_operand){.view = &view, .access = FERRY_WRITE}, 1, streams[0]));
    ferry_free(block);
    CHECK_THAT(!comes_back(block, bytes), "recycled under a discard in flight");
    const uint64_t frees = frees_now();
    fake_finish(streams[0]);
    CHECK_UINT(frees_now(), frees + 1);
}

static void free_keeps_errno(void) {
    void *block = ferry_malloc(8192), *tiny = ferry_malloc(8), *busy = ferry_malloc(8192);
    use(busy, 8192, FERRY_READ, streams[0]);
    errno = 4711;
    ferry_free(block);
    ferry_free(tiny);
    ferry_free(busy);
    ferry_free(NULL);
    ferry_free(busy);
    CHECK_INT(errno, 4711);
    fake_finish(streams[0]);
    deferred_reap();
}

/* Kernels end with their heap; frees that waited for them are forgotten with it. */
static void heap_goes_with_its_waiting_frees(void) {
    ferry_heap *heap = NULL;
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    void *freed = ferry_heap_malloc(heap, 50000), *kept = ferry_heap_malloc(heap, 50000);
    const struct fake_work work = use(freed, 50000, FERRY_READ, streams[0]);
    use(kept, 50000, FERRY_READ, streams[0]);
    ferry_free(freed);
    ferry_heap_destroy(heap);
    CHECK(fake_ended(&work));
    CHECK(!core_attention_to(CORE_DEFERRED));
    CHECK(!ferry_owns(freed) && !ferry_owns(kept));
    ferry_free(ferry_malloc(50000));
}

static void stream_goes_before_its_arrays(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    void *block = ferry_malloc(50000);
    const struct fake_work work = use(block, 50000, FERRY_WRITE, stream);
    ferry_stream_destroy(stream);
    CHECK(fake_ended(&work));
    /* Its record serves the next stream, whose work is not the array's. */
    REQUIRE_OK(ferry_stream_create(0, &stream));
    void *other = ferry_malloc(50000);
    use(other, 50000, FERRY_WRITE, stream);
    uint64_t frees = frees_now();
    ferry_free(block);
    CHECK_UINT(frees_now(), frees + 1);
    ferry_free(other);
    CHECK_UINT(frees_now(), frees + 1);
    CHECK(!comes_back(other, 50000));
    frees = frees_now();
    ferry_stream_destroy(stream);
    CHECK_UINT(frees_now(), frees + 1);
}

/* Work that nobody completed has no number, and is the stream's all the same. */
static void stream_waits_for_work_without_a_number(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    const struct fake_work work = fake_launch(stream);
    ferry_stream_destroy(stream);
    CHECK(fake_ended(&work));
}

/* A malloc in a row of launches must not cost more the longer the row is. */
static void a_stream_is_asked_once_for_all_its_blocks(void) {
    enum { BLOCKS = 50 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = ferry_malloc(65536);
        use(blocks[i], 65536, FERRY_READ, streams[0]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        ferry_free(blocks[i]);
    }
    const uint64_t calls = fake_calls();
    deferred_reap();
    CHECK(core_attention_to(CORE_DEFERRED));
    CHECK_THAT(fake_calls() - calls <= 2, "%d calls", (int)(fake_calls() - calls));
    fake_finish(streams[0]);
    deferred_reap();
    deferred_reap();
    CHECK(!core_attention_to(CORE_DEFERRED));
}

int main(void) {
    core_use_backend(fake_backend());
    REQUIRE_OK(ferry_stream_create(0, &streams[0]));
    REQUIRE_OK(ferry_stream_create(0, &streams[1]));
    RUN(a_stream_is_asked_once_for_all_its_blocks);
    RUN(block_waits_for_its_kernel);
    RUN(tiny_block_on_two_pages_waits);
    RUN(second_free_is_refused);
    RUN(interior_free_is_refused);
    RUN(blocks_come_back_in_any_order);
    RUN(reused_block_waits_again);
    RUN(acquire_without_launch_holds_the_block);
    RUN(free_keeps_errno);
    RUN(heap_goes_with_its_waiting_frees);
    RUN(stream_goes_before_its_arrays);
    RUN(stream_waits_for_work_without_a_number);
    return test_finish();
}
