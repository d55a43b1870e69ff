/* Extents against a byte map made by visiting every element. */
#include "alloc/backend.h"
#include "alloc/extents.h"
#include "tests/test.h"

#define SPACE_BYTES ((size_t)100 * FERRY_PAGE_BYTES)
#define SPACE_PAGES (SPACE_BYTES / FERRY_PAGE_BYTES)

static char *space; /* never touched: views only name addresses in it */
static unsigned char touched[SPACE_BYTES], covered[SPACE_BYTES];

static void mark_elements(const ferry_view *view, int axis, char *at) {
    if (axis == view->ndim) {
        memset(touched + (at - space), 1, ferry_dtype_size(view->dtype));
        return;
    }
    for (int64_t i = 0; i < view->shape[axis]; i++) {
        mark_elements(view, axis + 1, at + i * view->strides[axis]);
    }
}

static size_t mark_runs(const ferry_view *view) {
    struct extents extents;
    char *begin, *end;
    size_t runs = 0;
    extents_begin(&extents, view);
    while (extents_next(&extents, &begin, &end)) {
        runs++;
        REQUIRE(begin >= space && end > begin && end <= space + SPACE_BYTES);
        memset(covered + (begin - space), 1, (size_t)(end - begin));
    }
    return runs;
}

static bool any(const unsigned char *map, size_t page) {
    return memchr(map + page * FERRY_PAGE_BYTES, 1, FERRY_PAGE_BYTES) != NULL;
}

static void check_bounds(const struct extents *extents) {
    char *low, *high;
    extents_bounds(extents, &low, &high);
    const unsigned char *first = memchr(touched, 1, SPACE_BYTES), *last = memrchr(touched, 1, SPACE_BYTES);
    if (first == NULL) {
        CHECK(low == NULL && high == NULL);
        return;
    }
    CHECK_INT(low - space, first - touched);
    CHECK_INT(high - space, last + 1 - touched);
}

static void check_view(const ferry_view *view) {
    struct extents extents;
    memset(touched, 0, sizeof touched);
    memset(covered, 0, sizeof covered);
    if (ferry_view_size(view) > 0) {
        mark_elements(view, 0, view->data);
    }
    extents_begin(&extents, view);
    check_bounds(&extents);
    CHECK(mark_runs(view) <= EXTENTS_MAX);
    size_t lost = 0, differing = 0;
    for (size_t i = 0; i < SPACE_BYTES; i++) {
        lost += touched[i] > covered[i];
    }
    CHECK_UINT(lost, 0);
    for (size_t page = 0; page < SPACE_PAGES; page++) {
        differing += any(touched, page) != any(covered, page);
    }
    CHECK_THAT(differing == 0, "%zu pages of %d axes are named that hold no element", differing, view->ndim);
    if (extents.dense) {
        CHECK_MEMORY(covered, touched, SPACE_BYTES);
    }
}

/* Of a few thousand elements at most: merging, which starts beyond EXTENTS_MAX runs, is tested apart. */
static bool random_view(test_random *random, ferry_view *out) {
    static const int64_t units[] = {0, 1, 4, 8, 24, 100, 4088, 4096, 4104, 8192, 12000, 40960};
    ferry_view view = {.dtype = (ferry_dtype)test_random_int(random, 0, FERRY_DTYPE_COUNT - 1),
                       .ndim = (int)test_random_int(random, 0, 4)};
    int64_t low = 0, high = (int64_t)ferry_dtype_size(view.dtype), elements = 1;
    for (int i = 0; i < view.ndim; i++) {
        view.shape[i] = test_random_int(random, 0, 20) == 0 ? 0 : test_random_int(random, 1, 12);
        view.strides[i] = units[test_random_int(random, 0, 11)] * test_random_int(random, -2, 3);
        const int64_t span = view.shape[i] == 0 ? 0 : view.strides[i] * (view.shape[i] - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
        elements *= view.shape[i];
    }
    const int64_t room = (int64_t)SPACE_BYTES - (high - low);
    if (room < 0 || elements > EXTENTS_MAX) {
        return false;
    }
    view.data = space + test_random_int(random, 0, room) - low;
    *out = view;
    return true;
}

static void runs_cover_what_elements_touch(void) {
    test_random random = {test_seed(1)};
    for (int i = 0; i < 700;) {
        ferry_view view;
        if (random_view(&random, &view)) {
            check_view(&view);
            i++;
        }
    }
}

static bool is_dense(const ferry_view *view, size_t *runs) {
    struct extents extents;
    char *begin, *end;
    extents_begin(&extents, view);
    for (*runs = 0; extents_next(&extents, &begin, &end);) {
        ++*runs;
    }
    return extents.dense;
}

/* Were these not dense, nothing of them would be discarded. */
static void whole_arrays_are_dense(void) {
    size_t runs;
    ferry_view view = {space, FERRY_FLOAT64, 3, false, {10, 20, 30}, {4800, 240, 8}};
    CHECK(is_dense(&view, &runs) && runs == 1);
    view = (ferry_view){space, FERRY_FLOAT64, 3, false, {30, 20, 10}, {8, 240, 4800}};
    CHECK(is_dense(&view, &runs) && runs == 1);
    view = (ferry_view){space + 4800 * 9 + 8 * 29, FERRY_FLOAT64, 3, false, {30, 20, 10}, {-8, 240, -4800}};
    view.data = space + 8 * 29 + 4800 * 9;
    CHECK(is_dense(&view, &runs) && runs == 1);
    view = (ferry_view){space, FERRY_FLOAT64, 2, false, {4, 1000}, {0, 8}};
    CHECK(is_dense(&view, &runs) && runs == 1);
    /* Rows of two pages, far apart. */
    view = (ferry_view){space, FERRY_FLOAT64, 2, false, {4, 1024}, {65536, 8}};
    CHECK(is_dense(&view, &runs) && runs == 4);
    view = (ferry_view){space, FERRY_FLOAT64, 1, false, {1000}, {16}};
    CHECK(!is_dense(&view, &runs) && runs == 1);
    view = (ferry_view){space, FERRY_FLOAT64, 0, false, {0}, {0}};
    CHECK(is_dense(&view, &runs) && runs == 1);
}

static void many_runs_are_merged(void) {
    size_t runs;
    /* As many as are allowed … */
    ferry_view view = {space, FERRY_INT8, 1, false, {EXTENTS_MAX}, {65536}};
    CHECK(is_dense(&view, &runs));
    CHECK_UINT(runs, EXTENTS_MAX);
    /* … and one more. */
    view.shape[0]++;
    CHECK(!is_dense(&view, &runs));
    CHECK_UINT(runs, 1);
    /* The shorter axis is merged, the longer one stays. */
    view = (ferry_view){space, FERRY_INT8, 2, false, {5, EXTENTS_MAX}, {(int64_t)1 << 40, 65536}};
    CHECK(!is_dense(&view, &runs));
    CHECK_UINT(runs, 5);
    struct extents extents;
    char *low, *high;
    extents_begin(&extents, &view);
    extents_bounds(&extents, &low, &high);
    CHECK_INT(low - space, 0);
    CHECK_INT(high - space, 4 * ((int64_t)1 << 40) + (EXTENTS_MAX - 1) * 65536 + 1);
    /* Counts whose product overflows. */
    view = (ferry_view){space, FERRY_INT8, 3, false, {1 << 20, 1 << 20, 1 << 20}, {1 << 13, 1 << 14, 1 << 15}};
    CHECK(!is_dense(&view, &runs));
    CHECK_UINT(runs, 1);
}

static void nothing_has_no_extents(void) {
    size_t runs;
    ferry_view view = {space, FERRY_INT8, 3, false, {5, 0, 5}, {1 << 20, 1, 65536}};
    is_dense(&view, &runs);
    CHECK_UINT(runs, 0);
}

int main(void) {
    space = (char *)(uintptr_t)0x200000000;
    RUN(runs_cover_what_elements_touch);
    RUN(whole_arrays_are_dense);
    RUN(many_runs_are_merged);
    RUN(nothing_has_no_extents);
    return test_finish();
}
