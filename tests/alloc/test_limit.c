/* The limit: what it bounds, and that what was freed counts no more. */
#include "alloc/core.h"
#include "alloc/heap.h"
#include "tests/alloc/block.h"
#include "tests/alloc/fake.h"

#define MIB ((size_t)1 << 20)
#define LIMIT (64 * MIB)

static void *blocks[LIMIT / 16];
static size_t nblocks;

static size_t live_bytes(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.live_bytes;
}

static size_t fill(ferry_heap *heap, size_t bytes) {
    const size_t before = nblocks;
    void *block;
    while (nblocks < sizeof blocks / sizeof *blocks && (block = ferry_heap_malloc(heap, bytes)) != NULL) {
        blocks[nblocks++] = block;
    }
    return nblocks - before;
}

static void free_all(void) {
    while (nblocks > 0) {
        ferry_free(blocks[--nblocks]);
    }
    CHECK_THAT(live_bytes() == 0, "%zu bytes are live after all frees: %s", live_bytes(), ferry_error_detail());
}

static void failure_is_explained(void) {
    CHECK(strstr(ferry_error_detail(), "FERRY_LIMIT") != NULL);
    CHECK(live_bytes() <= LIMIT);
}

static void one_large_block_after_many_of_one_size(void) {
    static const size_t sizes[] = {200, 3000, 4096, 5000, 30000, 100000, 700000, 5 * MIB, 33 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = fill(NULL, sizes[i]);
        failure_is_explained();
        /* Whole pages and size classes cost something, at most a quarter. */
        CHECK_THAT(n * sizes[i] >= LIMIT / 2 || sizes[i] > LIMIT / 2, "only %zu blocks of %zu bytes", n, sizes[i]);
        free_all();
        void *large = ferry_malloc(60 * MIB);
        CHECK_THAT(large != NULL, "after blocks of %zu bytes: %s", sizes[i], ferry_error_detail());
        CHECK(ferry_malloc(5 * MIB) == NULL);
        failure_is_explained();
        ferry_free(large);
    }
}

static void exactly_the_limit(void) {
    void *all = ferry_malloc(LIMIT);
    CHECK_THAT(all != NULL, "%s", ferry_error_detail());
    CHECK(ferry_malloc(LIMIT / 64) == NULL);
    ferry_free(all);
    CHECK(ferry_malloc(LIMIT + 1) == NULL);
    failure_is_explained();
    void *most = ferry_malloc(LIMIT - 100 * 4096);
    CHECK(most != NULL);
    ferry_free(most);
}

static void half_freed_blocks_make_room(void) {
    const size_t n = fill(NULL, 100000);
    for (size_t i = 0; i < n; i++) {
        if (i % 2 == 0) {
            ferry_free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    /* In pieces that are larger than any hole. */
    void *large[6] = {NULL};
    for (int i = 0; i < 6; i++) {
        large[i] = ferry_malloc(4 * MIB);
        CHECK_THAT(large[i] != NULL, "%s", ferry_error_detail());
    }
    for (int i = 0; i < 6; i++) {
        ferry_free(large[i]);
    }
    free_all();
}

static void heaps_share_the_limit(void) {
    ferry_heap *heap = NULL;
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    fill(heap, 100000);
    CHECK(ferry_malloc(5 * MIB) == NULL);
    free_all();
    CHECK(fill(NULL, 50 * MIB) == 1);
    CHECK(ferry_heap_malloc(heap, 20 * MIB) == NULL);
    free_all();
    fill(heap, 10 * MIB);
    nblocks = 0;
    ferry_heap_destroy(heap);
    CHECK(fill(NULL, 60 * MIB) == 1);
    free_all();
}

static void kernels_in_flight_make_room(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    void *busy = ferry_malloc(40 * MIB);
    const ferry_view view = {busy, FERRY_UINT8, 1, false, {40 << 20}, {1}};
    const ferry_operand operand = {.view = &view, .access = FERRY_WRITE};
    CHECK_OK(ferry_acquire(&operand, 1, stream));
    fake_launch(stream);
    CHECK_OK(ferry_complete(&operand, 1, stream));
    ferry_free(busy);
    void *next = ferry_malloc(50 * MIB);
    CHECK_THAT(next != NULL, "%s", ferry_error_detail());
    ferry_free(next);
    ferry_stream_destroy(stream);
}

static void calloc_and_realloc_obey(void) {
    unsigned char *block = ferry_malloc(30 * MIB);
    REQUIRE(block != NULL);
    block[0] = 7;
    block[30 * MIB - 1] = 9;
    CHECK(ferry_realloc(block, 40 * MIB) == NULL);
    CHECK(block[0] == 7 && block[30 * MIB - 1] == 9);
    CHECK(ferry_calloc(40, MIB) == NULL);
    CHECK_UINT(live_bytes(), 30 * MIB);
    block = ferry_realloc(block, 10 * MIB);
    CHECK(block != NULL && block[0] == 7);
    ferry_free(block);
    CHECK_UINT(live_bytes(), 0);
}

static void random_mixes(void) {
    enum { SLOTS = 1000 };
    static struct block slots[SLOTS];
    test_random random = {test_seed(8)};
    size_t live = 0, refused = 0;
    for (int i = 0; i < 8000; i++) {
        struct block *slot = &slots[test_random_int(&random, 0, SLOTS - 1)];
        if (slot->at != NULL) {
            live -= slot->bytes;
            block_free(slot);
            continue;
        }
        block_make(slot, NULL, block_random_bytes(&random), &random);
        live += slot->at == NULL ? 0 : slot->bytes;
        refused += slot->at == NULL;
        CHECK(live <= LIMIT);
        CHECK(region_extent_bytes() <= LIMIT + LIMIT / 4 + 8 * MIB);
        CHECK_THAT(slot->at != NULL || live + slot->bytes > LIMIT / 2, "refused %zu bytes with %zu live", slot->bytes,
                   live);
    }
    CHECK(refused > 0);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].at != NULL) {
            block_free(&slots[i]);
        }
    }
    CHECK_OK(ferry_trim());
    CHECK_UINT(region_extent_bytes(), 0);
    CHECK_UINT(region_reserved_bytes(), 0);
}

int main(void) {
    core_use_backend(fake_backend());
    setenv("FERRY_LIMIT", "64M", 1);
    CHECK_UINT(ferry_limit(), LIMIT);
    RUN(exactly_the_limit);
    RUN(one_large_block_after_many_of_one_size);
    RUN(half_freed_blocks_make_room);
    RUN(heaps_share_the_limit);
    RUN(kernels_in_flight_make_room);
    RUN(calloc_and_realloc_obey);
    RUN(random_mixes);
    return test_finish();
}
