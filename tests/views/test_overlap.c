/* Overlap and the order of overlapping assignment, against a map of bytes. */
#include "ferry/view.h"
#include "tests/test.h"
#include "views/walk.h"

#define BUFFER_BYTES 512

static char buffer[BUFFER_BYTES];
static test_random source;

/* Random extents and strides, or nothing when the view does not fit into the buffer. */
static bool random_view(ferry_view *view) {
    *view = (ferry_view){.dtype = (ferry_dtype)test_random_int(&source, 0, FERRY_DTYPE_COUNT - 1)};
    view->ndim = (int)test_random_int(&source, 0, 4);
    int64_t low = 0;
    int64_t high = (int64_t)ferry_dtype_size(view->dtype);
    for (int i = 0; i < view->ndim; ++i) {
        view->shape[i] = test_random_int(&source, 1, 5);
        view->strides[i] = test_random_int(&source, -60, 60);
        int64_t reach = view->strides[i] * (view->shape[i] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    if (high - low > BUFFER_BYTES) {
        return false;
    }
    view->data = buffer + test_random_int(&source, -low, BUFFER_BYTES - high);
    return true;
}

/* Adds one to each byte's count, once for each element that holds it. */
static void count_bytes(const ferry_view *view, int axis, const char *data, int *counts) {
    if (axis == view->ndim) {
        for (size_t i = 0; i < ferry_dtype_size(view->dtype); ++i) {
            ++counts[data + i - buffer];
        }
        return;
    }
    for (int64_t i = 0; i < view->shape[axis]; ++i) {
        count_bytes(view, axis + 1, data + i * view->strides[axis], counts);
    }
}

static void overlap_is_exact_on_small_views(void) {
    int met = 0;
    for (int round = 0; round < 40000; ++round) {
        ferry_view a, b;
        if (!random_view(&a) || !random_view(&b)) {
            continue;
        }
        int in_a[BUFFER_BYTES] = {0}, in_b[BUFFER_BYTES] = {0};
        count_bytes(&a, 0, a.data, in_a);
        count_bytes(&b, 0, b.data, in_b);
        bool shared = false, repeated = false;
        for (int i = 0; i < BUFFER_BYTES; ++i) {
            shared = shared || (in_a[i] && in_b[i]);
            repeated = repeated || in_a[i] > 1;
        }
        CHECK_INT(ferry_view_overlap(&a, &b), shared);
        CHECK_INT(ferry_view_overlap(&b, &a), shared);
        CHECK_INT(ferry_view_self_overlap(&a), repeated);
        met += shared;
    }
    CHECK_THAT(met > 1000, "only %d pairs overlap", met);
}

/* A walk that says it is ordered gives what a copy of the source gives. */
static void ordered_walks_need_no_copy(void) {
    int ordered = 0;
    for (int round = 0; round < 60000; ++round) {
        ferry_view dst;
        if (!random_view(&dst) || ferry_view_self_overlap(&dst)) {
            continue;
        }
        ferry_view src = dst;
        src.data = (char *)dst.data + test_random_int(&source, -40, 40);
        const char *low, *high;
        ferry_view_bounds(&src, &low, &high);
        if (low < buffer || high > buffer + BUFFER_BYTES) {
            continue;
        }
        for (int i = 0; i < BUFFER_BYTES; ++i) {
            buffer[i] = (char)test_random_next(&source);
        }
        char before[BUFFER_BYTES];
        memcpy(before, buffer, sizeof before);
        view_walk walk = walk_make(&dst, &src);
        if (!walk_orders_overlap(&walk, (int64_t)ferry_dtype_size(dst.dtype))) {
            continue;
        }
        ferry_cast_function copy = ferry_dtype_cast(dst.dtype, dst.dtype);
        walk_run(&walk, copy);
        char after[BUFFER_BYTES];
        memcpy(after, buffer, sizeof after);
        /* The oracle reads from what was before. */
        memcpy(buffer, before, sizeof buffer);
        src.data = before + ((char *)src.data - buffer);
        view_walk apart = walk_make(&dst, &src);
        walk_run(&apart, copy);
        CHECK_MEMORY(after, buffer, sizeof after);
        ++ordered;
    }
    CHECK_THAT(ordered > 2000, "only %d walks are ordered", ordered);
}

static void a_shift_of_rows_is_ordered(void) {
    double numbers[100];
    ferry_view dst, src;
    REQUIRE_OK(ferry_view_make(numbers + 1, FERRY_FLOAT64, 2, (const int64_t[]){9, 9}, &dst));
    dst.strides[0] = 80;
    src = dst;
    src.data = numbers;
    view_walk walk = walk_make(&dst, &src);
    CHECK(walk_orders_overlap(&walk, 8));
    CHECK(walk.dst_strides[0] < 0);
    walk = walk_make(&src, &dst);
    CHECK(walk_orders_overlap(&walk, 8));
    CHECK(walk.dst_strides[0] > 0);
}

static void axes_merge(void) {
    float numbers[120];
    ferry_view view, reversed;
    REQUIRE_OK(ferry_view_make(numbers, FERRY_FLOAT32, 4, (const int64_t[]){2, 3, 4, 5}, &view));
    view_walk walk = walk_make(&view, &view);
    CHECK_INT(walk.ndim, 1);
    CHECK_INT(walk.shape[0], 120);
    REQUIRE_OK(ferry_view_transpose(&view, NULL, &view));
    const ferry_slice back = {FERRY_SLICE_NONE, FERRY_SLICE_NONE, -1};
    REQUIRE_OK(ferry_view_slice(&view, 4, (const ferry_slice[]){back, back, back, back}, &reversed));
    walk = walk_make(&reversed, &reversed);
    CHECK_INT(walk.ndim, 1);
    CHECK_INT(walk.dst_strides[0], 4);
    walk = walk_make(&reversed, &view);
    CHECK_INT(walk.ndim, 1);
    CHECK_INT(walk.src_strides[0], -4);
}

/* A step as large as can be leaves one element, whose stride may be anything; the sanitizers see how it is met. */
static void the_stride_of_one_element_is_not_looked_at(void) {
    static const int64_t extents[2] = {4, 3};
    ferry_view view, one;
    REQUIRE_OK(ferry_view_make(buffer, FERRY_FLOAT64, 2, extents, &view));
    const ferry_slice far[2] = {{0, FERRY_SLICE_NONE, INT64_C(1) << 60}, {0, FERRY_SLICE_NONE, INT64_C(1) << 60}};
    REQUIRE_OK(ferry_view_slice(&view, 2, far, &one));
    CHECK_INT(ferry_view_size(&one), 1);
    CHECK(ferry_view_overlap(&one, &view));
    CHECK(ferry_view_overlap(&one, &one));
    CHECK(!ferry_view_self_overlap(&one));
    one.strides[0] = one.strides[1] = INT64_MIN;
    CHECK(ferry_view_overlap(&view, &one));
    CHECK(!ferry_view_self_overlap(&one));
}

int main(void) {
    source.state = test_seed(17);
    RUN(overlap_is_exact_on_small_views);
    RUN(ordered_walks_need_no_copy);
    RUN(a_shift_of_rows_is_ordered);
    RUN(axes_merge);
    RUN(the_stride_of_one_element_is_not_looked_at);
    return test_finish();
}
