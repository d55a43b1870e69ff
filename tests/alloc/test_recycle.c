/* What has been freed serves whatever comes next: memory follows what was live at once, not how much was ever asked. */
#include <pthread.h>

#include "alloc/core.h"
#include "alloc/region.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static uint64_t seed;

static uint64_t reserved_bytes(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.reserved_bytes;
}

static void *small_blocks(void *argument) {
    test_random random = {seed + (uint64_t)(uintptr_t)argument};
    for (int i = 0; i < 100; i++) {
        void *one = ferry_malloc((size_t)test_random_int(&random, 8, 1600));
        void *two = ferry_malloc((size_t)test_random_int(&random, 8, 1600));
        TEST_REQUIRED(CHECK(one != NULL && two != NULL));
        ferry_free(one);
        ferry_free(two);
    }
    return NULL;
}

static void round_of_threads(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, small_blocks, (void *)(uintptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Every round ends with all slabs free: they join. */
static void threads_that_come_and_go(void) {
    round_of_threads();
    const uint64_t reserved = reserved_bytes();
    for (int round = 0; round < 150; round++) {
        round_of_threads();
    }
    CHECK_UINT(reserved_bytes(), reserved);
    CHECK_THAT(region_extent_bytes() < 16 * MIB, "%zu bytes for threads that have ended", region_extent_bytes());
    CHECK_OK(ferry_trim());
    CHECK_UINT(region_extent_bytes(), 0);
}

static void fill_and_free(size_t bytes, size_t total) {
    static void *blocks[8192];
    const size_t n = total / bytes;
    REQUIRE(n <= sizeof blocks / sizeof *blocks);
    for (size_t i = 0; i < n; i++) {
        blocks[i] = ferry_malloc(bytes);
        REQUIRE(blocks[i] != NULL);
    }
    for (size_t i = 0; i < n; i++) {
        ferry_free(blocks[i]);
    }
}

/* Many blocks of a size, all freed, again and again, by one thread. */
static void rounds_of_one_size(void) {
    const size_t sizes[] = {300, 3000, 4 * KIB, 12 * KIB, 16 * KIB, 64 * KIB, 200 * KIB, MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t total = sizes[i] < 4 * KIB ? MIB : sizes[i] < 64 * KIB ? 16 * MIB : 128 * MIB;
        fill_and_free(sizes[i], total);
        const size_t once = region_extent_bytes();
        for (int round = 0; round < 10; round++) {
            fill_and_free(sizes[i], total);
        }
        CHECK_THAT(region_extent_bytes() <= once + once / 4,
                   "blocks of %zu bytes: %zu after a round, %zu after ten more", sizes[i], once, region_extent_bytes());
        CHECK_OK(ferry_trim());
        CHECK_UINT(region_extent_bytes(), 0);
    }
}

/* One free block is room for a block of any smaller size. */
static void large_serves_small(void) {
    for (size_t bytes = 16 * KIB; bytes < 256 * MIB; bytes *= 4) {
        ferry_free(ferry_malloc(256 * MIB));
        const size_t before = region_extent_bytes();
        void *block = ferry_malloc(bytes);
        REQUIRE(block != NULL);
        CHECK_UINT(region_extent_bytes(), before);
        ferry_free(block);
        CHECK_OK(ferry_trim());
    }
}

/* Regions grow with what is there, not with how often it was given back. */
static void trims_forget_how_large_regions_were(void) {
    uint64_t reserved[2] = {0};
    for (int round = 0; round < 8; round++) {
        void *page = ferry_malloc(MIB), *tiny = ferry_malloc(100);
        REQUIRE(page != NULL && tiny != NULL);
        reserved[round > 0] = reserved_bytes();
        ferry_free(page);
        ferry_free(tiny);
        CHECK_OK(ferry_trim());
        CHECK_UINT(reserved_bytes(), 0);
    }
    CHECK_UINT(reserved[1], reserved[0]);
}

int main(void) {
    seed = test_seed(12);
    core_use_backend(fake_backend());
    REQUIRE_OK(ferry_init(&(ferry_options){.limit_bytes = (size_t)8 << 30}));
    RUN(threads_that_come_and_go);
    RUN(rounds_of_one_size);
    RUN(large_serves_small);
    RUN(trims_forget_how_large_regions_were);
    return test_finish();
}
