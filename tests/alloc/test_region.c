/* Regions: what is carved against a list of what is held. */
#include <pthread.h>

#include "alloc/core.h"
#include "alloc/region.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)
#define HELD 256

static struct extent {
    char *at;
    size_t bytes;
} held[HELD];
static size_t nheld;

static void check_new(const char *at, size_t bytes, size_t alignment) {
    CHECK((uintptr_t)at % alignment == 0);
    const struct region *region = region_find(at);
    REQUIRE(region != NULL);
    CHECK(at >= region->base && at + bytes <= region->base + region->bytes);
    CHECK(region_find(at + bytes - 1) == region);
    for (size_t i = 0; i < nheld; i++) {
        CHECK(at + bytes <= held[i].at || held[i].at + held[i].bytes <= at);
    }
}

static size_t held_bytes(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < nheld; i++) {
        bytes += held[i].bytes;
    }
    return bytes;
}

static bool carve(struct region_list *list, size_t bytes, size_t alignment) {
    char *at = region_carve(list, bytes, alignment);
    if (at != NULL) {
        check_new(at, bytes, alignment);
        held[nheld++] = (struct extent){at, bytes};
    }
    return at != NULL;
}

static void give_back(struct region_list *list, size_t i) {
    region_give_back(list, held[i].at, held[i].bytes);
    held[i] = held[--nheld];
}

static void give_all_back(struct region_list *list) {
    while (nheld > 0) {
        give_back(list, 0);
    }
}

static void extents_never_overlap_nor_cross_regions(void) {
    test_random random = {test_seed(3)};
    struct region_list list;
    region_list_init(&list, NULL, false, true);
    for (int i = 0; i < 30000; i++) {
        if (nheld < HELD && test_random_int(&random, 0, 9) < 5) {
            const size_t pages = (size_t)test_random_int(&random, 1, test_random_int(&random, 0, 9) == 0 ? 3000 : 20);
            const size_t alignment = FERRY_PAGE_BYTES
                                     << (test_random_int(&random, 0, 3) == 0 ? test_random_int(&random, 0, 9) : 0);
            const bool fits = held_bytes() + pages * FERRY_PAGE_BYTES <= core.limit_bytes;
            CHECK_INT(carve(&list, pages * FERRY_PAGE_BYTES, alignment), fits);
        } else if (nheld > 0) {
            give_back(&list, (size_t)test_random_int(&random, 0, (int64_t)nheld - 1));
        }
        CHECK_UINT(region_extent_bytes(), held_bytes());
        if (test_random_int(&random, 0, 999) == 0) {
            give_all_back(&list);
            region_trim(&list);
            CHECK_UINT(region_reserved_bytes(), 0);
        }
    }
    region_list_finish(&list);
    nheld = 0;
    CHECK_UINT(region_extent_bytes(), 0);
    CHECK_UINT(region_reserved_bytes(), 0);
}

static void limit_is_exact(void) {
    struct region_list list;
    region_list_init(&list, NULL, false, true);
    CHECK(!carve(&list, core.limit_bytes + FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    CHECK(strstr(ferry_error_detail(), "FERRY_LIMIT") != NULL);
    CHECK(carve(&list, core.limit_bytes, FERRY_PAGE_BYTES));
    CHECK(!carve(&list, FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    region_stretch_limit(true);
    CHECK(carve(&list, FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    region_stretch_limit(false);
    give_back(&list, 1);
    CHECK(!carve(&list, FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    give_all_back(&list);
    region_list_finish(&list);
}

/* One page of a region stays; nearly the whole of the limit must fit beside it, without another region. */
static void free_tail_is_used_again(void) {
    struct region_list list;
    region_list_init(&list, NULL, false, true);
    REQUIRE(carve(&list, FERRY_PAGE_BYTES, FERRY_PAGE_BYTES));
    for (int i = 0; i < 14; i++) {
        REQUIRE(carve(&list, MIB, FERRY_PAGE_BYTES));
    }
    const size_t reserved = region_reserved_bytes();
    while (nheld > 1) {
        give_back(&list, nheld - 1);
    }
    CHECK(carve(&list, 15 * MIB, FERRY_PAGE_BYTES));
    CHECK_UINT(region_reserved_bytes(), reserved);
    give_all_back(&list);
    region_list_finish(&list);
}

static void trim_keeps_what_is_used(void) {
    struct region_list list;
    region_list_init(&list, NULL, false, true);
    list.next_bytes = 4 * MIB;
    REQUIRE(carve(&list, 4 * MIB, FERRY_PAGE_BYTES));
    list.next_bytes = 4 * MIB;
    REQUIRE(carve(&list, 4 * MIB, FERRY_PAGE_BYTES));
    const char *first = held[0].at, *second = held[1].at;
    CHECK(region_find(first) != region_find(second));
    give_back(&list, 0);
    region_trim(&list);
    CHECK(region_find(first) == NULL);
    CHECK(!ferry_owns(first + 4 * MIB - 1));
    CHECK(region_find(second) != NULL);
    CHECK_UINT(region_reserved_bytes(), 4 * MIB);
    give_all_back(&list);
    region_list_finish(&list);
}

static void foreign_addresses_have_no_region(void) {
    int local;
    CHECK(region_find(NULL) == NULL);
    CHECK(region_find(&local) == NULL);
    CHECK(region_find((void *)UINTPTR_MAX) == NULL);
    CHECK(region_find((void *)((uintptr_t)1 << 47)) == NULL);
    CHECK(region_find((void *)(((uintptr_t)1 << 47) - 1)) == NULL);
}

struct lists {
    struct region_list list;
    test_random random;
};

static void *carve_and_give_back(void *argument) {
    struct lists *own = argument;
    struct extent mine[32] = {{NULL, 0}};
    for (int i = 0; i < 3000; i++) {
        struct extent *slot = &mine[test_random_int(&own->random, 0, 31)];
        if (slot->at != NULL) {
            CHECK_INT(*slot->at, (char)((uintptr_t)own >> 6));
            region_give_back(&own->list, slot->at, slot->bytes);
            slot->at = NULL;
        } else {
            slot->bytes = FERRY_PAGE_BYTES * (size_t)test_random_int(&own->random, 1, 32);
            slot->at = region_carve(&own->list, slot->bytes, FERRY_PAGE_BYTES);
            if (slot->at != NULL) {
                *slot->at = (char)((uintptr_t)own >> 6);
            }
        }
        if (i % 512 == 0) {
            region_trim(&own->list);
        }
    }
    return NULL;
}

static void lists_do_not_disturb_one_another(void) {
    static struct lists lists[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        lists[i].random.state = (uint64_t)i;
        region_list_init(&lists[i].list, NULL, false, true);
        REQUIRE(pthread_create(&threads[i], NULL, carve_and_give_back, &lists[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        region_list_finish(&lists[i].list);
    }
    CHECK_UINT(region_extent_bytes(), 0);
    CHECK_UINT(region_reserved_bytes(), 0);
}

int main(void) {
    core_use_backend(fake_backend());
    REQUIRE_OK(ferry_init(&(ferry_options){.limit_bytes = 16 * MIB}));
    RUN(extents_never_overlap_nor_cross_regions);
    RUN(limit_is_exact);
    RUN(free_tail_is_used_again);
    RUN(trim_keeps_what_is_used);
    RUN(foreign_addresses_have_no_region);
    RUN(lists_do_not_disturb_one_another);
    return test_finish();
}
