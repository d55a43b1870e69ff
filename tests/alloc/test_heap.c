/* Heaps against a shadow: what is handed out, what it holds, and what jemalloc may do with its extents. */
#include <errno.h>
#include <pthread.h>

#include "alloc/core.h"
#include "alloc/heap.h"
#include "tests/alloc/block.h"
#include "tests/alloc/fake.h"

#define MIB ((size_t)1 << 20)

static uint64_t seed;

static bool is_tiny(size_t bytes) {
    return bytes < FERRY_PAGE_BYTES;
}

/* A block of 4 KiB or more shares no page with anything, whatever the other is. */
static void check_apart(const struct block *a, const struct block *b) {
    const size_t unit = is_tiny(a->bytes) && is_tiny(b->bytes) ? 1 : FERRY_PAGE_BYTES;
    const uintptr_t a_first = (uintptr_t)a->at / unit, b_first = (uintptr_t)b->at / unit;
    const uintptr_t a_end = ((uintptr_t)a->at + (a->bytes == 0 ? 1 : a->bytes) + unit - 1) / unit;
    const uintptr_t b_end = ((uintptr_t)b->at + (b->bytes == 0 ? 1 : b->bytes) + unit - 1) / unit;
    CHECK_THAT(a_end <= b_first || b_end <= a_first, "blocks of %zu and %zu bytes overlap", a->bytes, b->bytes);
}

static void everything_given_back(void) {
    ferry_stats stats;
    CHECK_OK(ferry_trim());
    CHECK_OK(ferry_stats_get(&stats));
    CHECK_UINT(stats.live_bytes, 0);
    CHECK_UINT(stats.reserved_bytes, 0);
    CHECK_UINT(stats.allocations, stats.frees);
    CHECK_UINT(region_extent_bytes(), 0);
}

static void blocks_never_overlap(void) {
    enum { BLOCKS = 200 };
    static struct block blocks[BLOCKS];
    test_random random = {seed};
    ferry_heap *heaps[3] = {NULL, NULL, NULL};
    REQUIRE_OK(ferry_heap_create(NULL, &heaps[1]));
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){"third", FERRY_POLICY_NONE}, &heaps[2]));
    for (int i = 0; i < 8000; i++) {
        struct block *block = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
        if (block->at == NULL) {
            block_make(block, heaps[test_random_int(&random, 0, 2)], block_random_bytes(&random), &random);
            REQUIRE(block->at != NULL);
        } else if (test_random_int(&random, 0, 3) == 0) {
            block_realloc(block, block_random_bytes(&random), &random);
        } else {
            block_free(block);
            continue;
        }
        for (int j = 0; j < BLOCKS; j++) {
            if (&blocks[j] != block && blocks[j].at != NULL) {
                check_apart(block, &blocks[j]);
            }
        }
        if (i % 3000 == 0) {
            CHECK_OK(ferry_trim());
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL) {
            block_free(&blocks[i]);
        }
    }
    ferry_heap_destroy(heaps[1]);
    ferry_heap_destroy(heaps[2]);
    everything_given_back();
}

/* Every address inside, and those around, against a list. */
static void addresses_find_their_block(void) {
    enum { BLOCKS = 120 };
    static struct block blocks[BLOCKS];
    test_random random = {seed + 1};
    for (int round = 0; round < 400; round++) {
        struct block *changed = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
        if (changed->at != NULL) {
            ferry_free(changed->at);
            changed->at = NULL;
        } else {
            changed->bytes = (size_t)test_random_int(&random, FERRY_PAGE_BYTES,
                                                     test_random_int(&random, 0, 4) == 0 ? 9 * MIB : 30000);
            changed->at = ferry_malloc(changed->bytes);
            REQUIRE(changed->at != NULL);
        }
        for (int probe = 0; probe < 60; probe++) {
            const struct block *block = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
            if (block->at == NULL) {
                continue;
            }
            const size_t pages_end = (block->bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES * FERRY_PAGE_BYTES;
            const unsigned char *address = block->at + test_random_int(&random, -40000, (int64_t)pages_end + 40000);
            const struct block *want = NULL;
            for (int i = 0; i < BLOCKS; i++) {
                const size_t pages = (blocks[i].bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES;
                if (blocks[i].at != NULL && address >= blocks[i].at &&
                    address < blocks[i].at + pages * FERRY_PAGE_BYTES) {
                    want = &blocks[i];
                }
            }
            void *base = NULL;
            size_t bytes = 0;
            const ferry_status status = ferry_storage_find(address, &base, &bytes);
            CHECK_INT(status, want == NULL ? FERRY_NOT_FOUND : FERRY_OK);
            CHECK(base == (want == NULL ? NULL : want->at));
            CHECK_UINT(bytes, want == NULL ? 0 : want->bytes);
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        ferry_free(blocks[i].at);
    }
    everything_given_back();
}

static void odd_requests(void) {
    errno = 0;
    CHECK(ferry_malloc(SIZE_MAX) == NULL && errno == ENOMEM);
    CHECK(ferry_malloc(PTRDIFF_MAX) == NULL);
    CHECK(ferry_malloc((size_t)1 << 62) == NULL);
    CHECK(ferry_malloc((size_t)1 << 47) == NULL);
    CHECK(*ferry_error_detail() != '\0');
    errno = 0;
    CHECK(ferry_calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    CHECK(ferry_calloc(3, SIZE_MAX / 2) == NULL);
    CHECK(ferry_aligned_alloc(4096, SIZE_MAX) == NULL);
    CHECK(ferry_aligned_alloc(4096, SIZE_MAX - 4095) == NULL);
    errno = 0;
    CHECK(ferry_aligned_alloc(3, 10) == NULL && errno == EINVAL);
    CHECK(ferry_aligned_alloc(0, 10) == NULL);
    CHECK(ferry_aligned_alloc(4 * MIB, 10) == NULL);
    void *one = ferry_malloc(0), *two = ferry_malloc(0), *three = ferry_calloc(0, 8), *four = ferry_calloc(8, 0);
    CHECK(one != NULL && two != NULL && three != NULL && four != NULL);
    CHECK(one != two && two != three && three != four);
    one = ferry_realloc(one, 100000);
    CHECK(ferry_usable_size(one) >= 100000);
    one = ferry_realloc(one, 0);
    CHECK(one != NULL);
    void *five = ferry_realloc(NULL, 50);
    CHECK(five != NULL);
    errno = 0;
    CHECK(ferry_realloc(five, SIZE_MAX) == NULL && errno == ENOMEM);
    CHECK(ferry_usable_size(five) >= 50);
    CHECK_UINT(ferry_usable_size(NULL), 0);
    CHECK_UINT(ferry_usable_size(&one), 0);
    ferry_free(one);
    ferry_free(two);
    ferry_free(three);
    ferry_free(four);
    ferry_free(five);
    ferry_free(NULL);
    everything_given_back();
}

/* Small blocks at large alignments are not what they seem to jemalloc: many of them, freed in every order. */
static void aligned_blocks_come_and_go(void) {
    enum { BLOCKS = 100 };
    static struct block blocks[BLOCKS];
    test_random random = {seed + 2};
    for (int i = 0; i < 8000; i++) {
        struct block *block = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
        if (block->at != NULL) {
            block_free(block);
            continue;
        }
        const size_t alignment = (size_t)1 << test_random_int(&random, 4, 17);
        const size_t bytes = (size_t)test_random_int(&random, 0, 40000);
        *block = (struct block){i % 2 == 0 ? ferry_malloc(bytes) : ferry_aligned_alloc(alignment, bytes), bytes, 0};
        REQUIRE(block->at != NULL);
        CHECK(i % 2 == 0 || (uintptr_t)block->at % alignment == 0);
        memset(block->at, 0, bytes);
        ferry_free(block->at);
        block_make(block, NULL, bytes, &random);
        for (int j = 0; j < BLOCKS; j++) {
            if (&blocks[j] != block && blocks[j].at != NULL) {
                check_apart(block, &blocks[j]);
            }
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL) {
            block_free(&blocks[i]);
        }
    }
    everything_given_back();
}

static void calloc_clears_recycled_blocks(void) {
    const size_t sizes[] = {1, 100, 3000, 4096, 20000, 70000, 3 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int round = 0; round < 40; round++) {
            unsigned char *dirty = ferry_malloc(sizes[i]);
            REQUIRE(dirty != NULL);
            memset(dirty, 0xa5, sizes[i]);
            unsigned char *second = ferry_malloc(sizes[i]);
            memset(second, 0x5a, sizes[i]);
            ferry_free(dirty);
            unsigned char *clean = ferry_calloc(sizes[i], 1);
            REQUIRE(clean != NULL);
            CHECK(clean[0] == 0 && memcmp(clean, clean + 1, sizes[i] - 1) == 0);
            ferry_free(second);
            ferry_free(clean);
        }
    }
    everything_given_back();
}

static void destroyed_heap_takes_its_blocks(void) {
    ferry_stats before, after;
    test_random random = {seed + 3};
    void *kept = ferry_malloc(12345);
    REQUIRE_OK(ferry_stats_get(&before));
    for (int round = 0; round < 30; round++) {
        ferry_heap *heap = NULL;
        REQUIRE_OK(ferry_heap_create(NULL, &heap));
        unsigned char *last = NULL;
        for (int i = 0; i < 60; i++) {
            const size_t bytes = block_random_bytes(&random);
            last = ferry_heap_malloc(heap, bytes);
            REQUIRE(last != NULL);
            *last = 1;
            if (i % 3 == 0) {
                ferry_free(last);
                last = ferry_heap_malloc(heap, 1);
            }
        }
        ferry_heap_destroy(heap);
        CHECK(!ferry_owns(last));
    }
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_UINT(after.live_bytes, before.live_bytes);
    CHECK_UINT(after.reserved_bytes, before.reserved_bytes);
    CHECK_UINT(after.allocations - before.allocations, after.frees - before.frees);
    ferry_free(kept);
    everything_given_back();
}

/* jemalloc asks the hooks before it joins extents. Regions lie side by side here. */
static void extents_are_not_joined_across_regions(void) {
    struct region_list *list = &core.heap->pages.regions;
    extent_hooks_t *hooks = &core.heap->pages.hooks;
    list->next_bytes = 4 * MIB;
    char *first = ferry_malloc(4 * MIB), *half = NULL;
    list->next_bytes = 4 * MIB;
    char *second = ferry_malloc(4 * MIB);
    REQUIRE(first != NULL && second != NULL);
    CHECK_INT(second - first, 4 * (intptr_t)MIB);
    CHECK(region_find(first) != region_find(second));
    half = first + 2 * MIB;
    CHECK(hooks->merge(hooks, first, 4 * MIB, second, 4 * MIB, true, core.heap->pages.index));
    CHECK(!hooks->merge(hooks, first, 2 * MIB, half, 2 * MIB, true, core.heap->pages.index));
    CHECK(!hooks->split(hooks, first, 4 * MIB, 2 * MIB, 2 * MIB, true, core.heap->pages.index));
    bool zero = false, commit = true;
    CHECK(hooks->alloc(hooks, half, MIB, FERRY_PAGE_BYTES, &zero, &commit, core.heap->pages.index) == NULL);
    ferry_free(first);
    ferry_free(second);
    /* Were the two one extent, this would lie across them. */
    list->next_bytes = 8 * MIB;
    char *whole = ferry_malloc(7 * MIB);
    CHECK(region_find(whole) == region_find(whole + 7 * MIB - 1));
    ferry_free(whole);
    everything_given_back();
    CHECK(!ferry_owns(first) && !ferry_owns(second));
}

static void blocks_stay_inside_small_regions(void) {
    enum { BLOCKS = 60 };
    static struct block blocks[BLOCKS];
    test_random random = {seed + 4};
    struct region_list *list = &core.heap->pages.regions;
    for (int i = 0; i < 4000; i++) {
        struct block *block = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
        list->next_bytes = 4 * MIB;
        if (block->at != NULL) {
            block_free(block);
        } else {
            block_make(block, NULL, (size_t)test_random_int(&random, 4096, 3 * MIB), &random);
        }
        if (i % 500 == 0) {
            CHECK_OK(ferry_trim());
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL) {
            block_free(&blocks[i]);
        }
    }
    everything_given_back();
}

int main(void) {
    seed = test_seed(5);
    core_use_backend(fake_backend());
    REQUIRE_OK(ferry_init(&(ferry_options){.limit_bytes = (size_t)8 << 30}));
    RUN(odd_requests);
    RUN(blocks_never_overlap);
    RUN(addresses_find_their_block);
    RUN(aligned_blocks_come_and_go);
    RUN(calloc_clears_recycled_blocks);
    RUN(destroyed_heap_takes_its_blocks);
    RUN(extents_are_not_joined_across_regions);
    RUN(blocks_stay_inside_small_regions);
    return test_finish();
}
