/* Arrays: who keeps the memory, and when it goes. */
#include <pthread.h>

#include "ferry/stats.h"
#include "ferry/view.h"
#include "tests/test.h"

static uint64_t live_bytes(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.live_bytes;
}

static void arrays_are_c_contiguous_managed_memory(void) {
    uint64_t before = live_bytes();
    ferry_array array;
    REQUIRE_OK(ferry_array_create(NULL, FERRY_FLOAT64, 2, (const int64_t[]){300, 200}, &array));
    CHECK(ferry_owns(array.view.data));
    CHECK(ferry_view_is_c_contiguous(&array.view));
    CHECK(!array.view.readonly);
    CHECK(ferry_usable_size(array.view.data) >= 300 * 200 * 8);
    CHECK(live_bytes() > before);
    ferry_array_release(&array);
    CHECK(array.owner == NULL && array.view.data == NULL);
    ferry_array_release(&array);
    ferry_array_release(NULL);
    CHECK_UINT(live_bytes(), before);
}

static void zeros_are_zero(void) {
    for (int round = 0; round < 3; ++round) {
        ferry_array array;
        REQUIRE_OK(ferry_array_zeros(NULL, FERRY_INT32, 1, (const int64_t[]){100000}, &array));
        int32_t *numbers = array.view.data;
        bool zero = true;
        for (int i = 0; i < 100000; ++i) {
            zero = zero && numbers[i] == 0;
            numbers[i] = -1;
        }
        CHECK(zero);
        ferry_array_release(&array);
    }
}

static void empty_arrays_have_addresses_of_their_own(void) {
    ferry_array a, b, scalar;
    REQUIRE_OK(ferry_array_create(NULL, FERRY_FLOAT32, 2, (const int64_t[]){0, 5}, &a));
    REQUIRE_OK(ferry_array_zeros(NULL, FERRY_FLOAT32, 2, (const int64_t[]){5, 0}, &b));
    REQUIRE_OK(ferry_array_create(NULL, FERRY_COMPLEX128, 0, NULL, &scalar));
    CHECK(a.view.data != NULL && b.view.data != NULL && a.view.data != b.view.data);
    CHECK_INT(ferry_view_size(&scalar.view), 1);
    ferry_array_release(&a);
    ferry_array_release(&b);
    ferry_array_release(&scalar);
}

static void what_cannot_be_made(void) {
    ferry_array array, kept;
    memset(&array, 0x55, sizeof array);
    kept = array;
    const int64_t too_big[] = {INT64_C(1) << 45};
    CHECK_STATUS(ferry_array_create(NULL, FERRY_FLOAT64, 1, too_big, &array), FERRY_LIMIT);
    CHECK_STATUS(ferry_array_zeros(NULL, FERRY_FLOAT64, 1, too_big, &array), FERRY_LIMIT);
    CHECK_STATUS(ferry_array_create(NULL, FERRY_FLOAT64, 1, (const int64_t[]){-1}, &array), FERRY_SHAPE);
    CHECK_STATUS(ferry_array_create(NULL, FERRY_DTYPE_COUNT, 0, NULL, &array), FERRY_INVALID_ARGUMENT);
    CHECK_MEMORY(&array, &kept, sizeof array);
}

static void count_release(void *context) {
    atomic_fetch_add((atomic_int *)context, 1);
}

static void the_last_reference_releases(void) {
    atomic_int releases = 0;
    double numbers[6] = {0};
    ferry_view view, part;
    REQUIRE_OK(ferry_view_make(numbers, FERRY_FLOAT64, 1, (const int64_t[]){6}, &view));
    REQUIRE_OK(ferry_view_slice(&view, 1, &(ferry_slice){1, 3, 1}, &part));
    ferry_array array, shared, again;
    REQUIRE_OK(ferry_array_wrap(&view, count_release, &releases, &array));
    REQUIRE_OK(ferry_array_share(&array, &part, &shared));
    REQUIRE_OK(ferry_array_share(&shared, NULL, &again));
    CHECK(again.view.data == &numbers[1]);
    CHECK_INT(again.view.shape[0], 2);
    ferry_array_release(&array);
    ferry_array_release(&shared);
    CHECK_INT(releases, 0);
    ferry_array_release(&again);
    CHECK_INT(releases, 1);
    CHECK_STATUS(ferry_array_share(&array, NULL, &again), FERRY_INVALID_ARGUMENT);
    REQUIRE_OK(ferry_array_wrap(&view, NULL, NULL, &array));
    ferry_array_release(&array);
}

static void *share_and_release(void *context) {
    ferry_array *mine = context;
    for (int i = 0; i < 20000; ++i) {
        ferry_array other;
        CHECK_OK(ferry_array_share(mine, NULL, &other));
        ferry_array_release(&other);
    }
    ferry_array_release(mine);
    return NULL;
}

static void references_are_counted_by_many_threads(void) {
    atomic_int releases = 0;
    ferry_view view;
    REQUIRE_OK(ferry_view_make(NULL, FERRY_INT8, 1, (const int64_t[]){0}, &view));
    ferry_array array, shares[4];
    REQUIRE_OK(ferry_array_wrap(&view, count_release, &releases, &array));
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) {
        REQUIRE_OK(ferry_array_share(&array, NULL, &shares[i]));
        REQUIRE(pthread_create(&threads[i], NULL, share_and_release, &shares[i]) == 0);
    }
    ferry_array_release(&array);
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
    }
    CHECK_INT(releases, 1);
}

int main(void) {
    RUN(arrays_are_c_contiguous_managed_memory);
    RUN(zeros_are_zero);
    RUN(empty_arrays_have_addresses_of_their_own);
    RUN(what_cannot_be_made);
    RUN(the_last_reference_releases);
    RUN(references_are_counted_by_many_threads);
    return test_finish();
}
