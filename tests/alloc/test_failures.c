/* A backend that fails at every point in turn: errors are reported, beliefs and contents stay as they were. */
#include "alloc/core.h"
#include "alloc/region.h"
#include "ferry/link.h"
#include "tests/alloc/story.h"

static ferry_view x, y;

/* What the table says of a view's pages. */
static uint64_t table_hash(const ferry_view *view) {
    const struct region *region = region_find(view->data);
    const size_t first = region_page(region, view->data);
    uint64_t hash = 1;
    for (size_t page = first; page < first + (size_t)view->shape[0] / PAGE; page++) {
        hash = hash * 31 + residency_run_at(&region->residency, page, page + 1).state;
    }
    return hash;
}

static bool all_bytes(const ferry_view *view, unsigned char value) {
    const unsigned char *data = view->data;
    return data[0] == value && memcmp(data, data + 1, (size_t)view->shape[0] - 1) == 0;
}

/* Fails the first call that the step makes, then the second, until it gets through. */
static void until(ferry_status (*step)(void), bool undone, const char *name) {
    uint64_t nth = 1;
    for (; nth < 200; nth++) {
        const uint64_t before_x = table_hash(&x), before_y = table_hash(&y);
        ferry_stats before, after;
        REQUIRE_OK(ferry_stats_get(&before));
        backend_faulty_arm(nth);
        const ferry_status status = step();
        backend_faulty_arm(0);
        if (status == FERRY_OK) {
            break;
        }
        CHECK_INT(status, FERRY_BACKEND);
        CHECK(strstr(ferry_error_detail(), "was to fail") != NULL);
        if (undone) {
            REQUIRE_OK(ferry_stats_get(&after));
            CHECK_UINT(table_hash(&x), before_x);
            CHECK_UINT(table_hash(&y), before_y);
            CHECK_UINT(after.bytes_to_device, before.bytes_to_device);
            CHECK_UINT(after.bytes_to_host, before.bytes_to_host);
            CHECK_UINT(after.discarded_bytes, before.discarded_bytes);
            CHECK_UINT(after.prefetches_issued, before.prefetches_issued);
        }
    }
    CHECK_THAT(nth > 1 && nth < 200, "%s succeeded at attempt %ju", name, (uintmax_t)nth);
}

#define UNTIL_IT_SUCCEEDS(step, undone) until((step), (undone), #step)

static ferry_stream *other;

static ferry_status acquire(void) {
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &y, .access = FERRY_WRITE}};
    return ferry_acquire(operands, 2, NULL);
}

static ferry_status acquire_on_other(void) {
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READWRITE}, {.view = &y, .access = FERRY_READ}};
    return ferry_acquire(operands, 2, other);
}

static ferry_status complete(void) {
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &y, .access = FERRY_WRITE}};
    return ferry_complete(operands, 2, NULL);
}

static ferry_status host_read(void) {
    return ferry_host_acquire(&y, FERRY_READ);
}

static ferry_status host_write(void) {
    return ferry_host_acquire(&x, FERRY_READWRITE);
}

static ferry_status prefetch(void) {
    return ferry_prefetch(&x, 0, NULL);
}

static ferry_status make_stream(void) {
    ferry_stream *stream = NULL;
    const ferry_status status = ferry_stream_create(0, &stream);
    CHECK_INT(stream != NULL, status == FERRY_OK);
    ferry_stream_destroy(stream);
    return status;
}

static ferry_status sync_all(void) {
    return ferry_sync(NULL);
}

static void movement(void) {
    x = story_array(NULL, 3 * BLOCK, 1);
    y = story_array(NULL, 3 * BLOCK, 2);
    UNTIL_IT_SUCCEEDS(acquire, true);
    UNTIL_IT_SUCCEEDS(complete, false);
    UNTIL_IT_SUCCEEDS(acquire_on_other, true);
    CHECK_OK(ferry_complete(&(ferry_operand){.view = &x, .access = FERRY_READWRITE}, 1, other));
    UNTIL_IT_SUCCEEDS(host_read, true);
    UNTIL_IT_SUCCEEDS(host_write, true);
    CHECK(all_bytes(&x, 1));
    UNTIL_IT_SUCCEEDS(prefetch, true);
    UNTIL_IT_SUCCEEDS(make_stream, true);
    UNTIL_IT_SUCCEEDS(sync_all, true);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK(all_bytes(&x, 1));
    ferry_free(x.data);
    ferry_free(y.data);
}

/* malloc, calloc and realloc: a failure of the backend is a failure of theirs, and nothing is lost. */
static void allocation(void) {
    for (uint64_t nth = 1; nth < 60; nth++) {
        ferry_stats before, after;
        CHECK_OK(ferry_trim());
        REQUIRE_OK(ferry_stats_get(&before));
        backend_faulty_arm(nth);
        const ferry_view big = {ferry_malloc(5 * BLOCK), FERRY_UINT8, 1, false, {5 * BLOCK}, {1}};
        backend_faulty_arm(0);
        if (big.data == NULL) {
            CHECK(strstr(ferry_error_detail(), "was to fail") != NULL);
            continue;
        }
        memset(big.data, 4, 5 * BLOCK);
        CHECK_OK(story_use(&big, FERRY_READWRITE, 5, NULL));
        backend_faulty_arm(nth);
        unsigned char *moved = ferry_realloc(big.data, 6 * BLOCK);
        backend_faulty_arm(0);
        const ferry_view result = {moved == NULL ? big.data : moved, FERRY_UINT8, 1, false, {5 * BLOCK}, {1}};
        CHECK_OK(ferry_host_acquire(&result, FERRY_READ));
        CHECK(all_bytes(&result, 5));
        CHECK_OK(story_use(&result, FERRY_READWRITE, 6, NULL));
        CHECK_OK(ferry_sync(NULL));
        ferry_free(result.data);
        backend_faulty_arm(nth);
        unsigned char *zeros = ferry_calloc(6, BLOCK);
        backend_faulty_arm(0);
        CHECK(zeros == NULL || (zeros[0] == 0 && memcmp(zeros, zeros + 1, 6 * BLOCK - 1) == 0));
        ferry_free(zeros);
        CHECK_OK(ferry_trim());
        REQUIRE_OK(ferry_stats_get(&after));
        CHECK_UINT(after.live_bytes, before.live_bytes);
    }
}

/* A free cannot fail: when the device cannot be asked, the block waits. */
static void frees_in_flight(void) {
    for (uint64_t nth = 1; nth < 12; nth++) {
        ferry_stats before, after;
        const ferry_view big = story_array(NULL, 2 * BLOCK, 1);
        REQUIRE_OK(ferry_stats_get(&before));
        CHECK_OK(story_use(&big, FERRY_WRITE, 2, NULL));
        backend_faulty_arm(nth);
        ferry_free(big.data);
        const ferry_view next = story_untouched(NULL, 2 * BLOCK);
        memset(next.data, 7, 2 * BLOCK);
        backend_faulty_arm(0);
        CHECK_OK(ferry_sync(NULL));
        CHECK(all_bytes(&next, 7));
        ferry_free(next.data);
        CHECK_OK(ferry_trim());
        REQUIRE_OK(ferry_stats_get(&after));
        CHECK_UINT(before.live_bytes - after.live_bytes, 2 * BLOCK);
    }
}

int main(void) {
    ferry_link_costs costs;
    core_use_backend(backend_faulty(&backend_sim));
    REQUIRE_OK(ferry_stream_create(0, &other));
    REQUIRE_OK(ferry_link_get(0, &costs)); /* later calls of the backend are those of movement */
    RUN(movement);
    RUN(allocation);
    RUN(frees_in_flight);
    return test_finish();
}
