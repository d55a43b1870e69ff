/* What views refuse, in which words, and that results are written on success only. NumPy's answers: views_numpy.py. */
#include "ferry/view.h"
#include "tests/test.h"

static double numbers[24];

static ferry_view view_2_3_4(void) {
    ferry_view view;
    REQUIRE_OK(ferry_view_make(numbers, FERRY_FLOAT64, 3, (const int64_t[]){2, 3, 4}, &view));
    return view;
}

/* The call fails with `status`, its detail has `words`, and `out` is as it was. */
#define REFUSES(call, status, words)                                                                                   \
    do {                                                                                                               \
        memset(&out, 0x55, sizeof out);                                                                                \
        memset(&kept, 0x55, sizeof kept);                                                                              \
        CHECK_STATUS(call, status);                                                                                    \
        CHECK_THAT(strstr(ferry_error_detail(), words) != NULL, "%s", ferry_error_detail());                           \
        CHECK_MEMORY(&out, &kept, sizeof out);                                                                         \
    } while (0)

static ferry_view out, kept;

static void shapes_that_are_none(void) {
    const int64_t big[] = {INT64_C(1) << 40, INT64_C(1) << 21};
    const int64_t big_and_empty[] = {INT64_C(1) << 40, 0, INT64_C(1) << 21};
    REFUSES(ferry_view_make(NULL, FERRY_INT32, 2, big, &out), FERRY_SHAPE, "(1099511627776, 2097152) of int32");
    REFUSES(ferry_view_make(NULL, FERRY_INT32, 3, big_and_empty, &out), FERRY_SHAPE, "64 bits");
    REFUSES(ferry_view_make(NULL, FERRY_INT32, 2, (const int64_t[]){2, -1}, &out), FERRY_SHAPE, "(2, -1)");
    REFUSES(ferry_view_make(NULL, FERRY_INT32, 33, big, &out), FERRY_INVALID_ARGUMENT, "33 dimensions");
    REFUSES(ferry_view_make(NULL, FERRY_INT32, -1, big, &out), FERRY_INVALID_ARGUMENT, "-1 dimensions");
    REFUSES(ferry_view_make(NULL, FERRY_INT32, 1, NULL, &out), FERRY_INVALID_ARGUMENT, "missing");
    REFUSES(ferry_view_make(NULL, FERRY_DTYPE_COUNT, 0, NULL, &out), FERRY_INVALID_ARGUMENT, "no data type");
}

static void slices_and_indices_that_are_none(void) {
    ferry_view view = view_2_3_4();
    const ferry_slice slices[4] = {{0, 1, 1}, {0, 1, 0}, {0, 1, 1}, {0, 1, 1}};
    REFUSES(ferry_view_slice(&view, 2, slices, &out), FERRY_INVALID_ARGUMENT, "axis 1 has step 0");
    REFUSES(ferry_view_slice(&view, 4, slices, &out), FERRY_INVALID_ARGUMENT, "4 slices");
    REFUSES(ferry_view_slice(&view, -1, slices, &out), FERRY_INVALID_ARGUMENT, "-1 slices");
    REFUSES(ferry_view_index(&view, 2, (const int64_t[]){1, -4}, &out), FERRY_INVALID_ARGUMENT, "index -4");
    REFUSES(ferry_view_index(&view, 1, (const int64_t[]){INT64_MIN}, &out), FERRY_INVALID_ARGUMENT, "bounds");
    REFUSES(ferry_view_index(&view, 4, (const int64_t[]){0, 0, 0, 0}, &out), FERRY_INVALID_ARGUMENT, "4 indices");
}

static void transpositions_that_are_none(void) {
    ferry_view view = view_2_3_4();
    REFUSES(ferry_view_transpose(&view, (const int[]){0, 1, 3}, &out), FERRY_INVALID_ARGUMENT, "axis 3");
    REFUSES(ferry_view_transpose(&view, (const int[]){0, 1, -4}, &out), FERRY_INVALID_ARGUMENT, "axis -4");
    REFUSES(ferry_view_transpose(&view, (const int[]){0, 1, -2}, &out), FERRY_INVALID_ARGUMENT, "twice");
}

static void reshapes_that_are_none(void) {
    ferry_view view = view_2_3_4();
    REFUSES(ferry_view_reshape(&view, 1, NULL, &out), FERRY_INVALID_ARGUMENT, "missing");
    REFUSES(ferry_view_reshape(&view, 2, (const int64_t[]){5, 5}, &out), FERRY_SHAPE,
            "(2, 3, 4) does not reshape to (5, 5)");
    REFUSES(ferry_view_reshape(&view, 2, (const int64_t[]){5, -1}, &out), FERRY_SHAPE, "(5, -1)");
    REFUSES(ferry_view_reshape(&view, 2, (const int64_t[]){-1, -1}, &out), FERRY_SHAPE, "negative");
    REFUSES(ferry_view_reshape(&view, 2, (const int64_t[]){-2, -12}, &out), FERRY_SHAPE, "negative");
    REFUSES(ferry_view_reshape(&view, 2, (const int64_t[]){0, -1}, &out), FERRY_SHAPE, "(0, -1)");
    REQUIRE_OK(ferry_view_transpose(&view, NULL, &view));
    REFUSES(ferry_view_reshape(&view, 1, (const int64_t[]){24}, &out), FERRY_SHAPE, "strides (8, 32, 96)");
}

static void broadcasts_that_are_none(void) {
    ferry_view view = view_2_3_4();
    REFUSES(ferry_view_broadcast(&view, 3, (const int64_t[]){2, 3, 5}, &out), FERRY_SHAPE,
            "(2, 3, 4) does not broadcast to (2, 3, 5)");
    REFUSES(ferry_view_broadcast(&view, 2, (const int64_t[]){3, 4}, &out), FERRY_SHAPE, "(3, 4)");
    REFUSES(ferry_view_broadcast(&view, 4, (const int64_t[]){INT64_C(1) << 60, 2, 3, 4}, &out), FERRY_SHAPE, "64 bits");
    ferry_view other;
    REQUIRE_OK(ferry_view_make(numbers, FERRY_FLOAT64, 2, (const int64_t[]){2, 4}, &other));
    const ferry_view *both[] = {&view, &other};
    int ndim;
    int64_t shape[FERRY_MAX_DIMS];
    CHECK_STATUS(ferry_broadcast_shapes(both, 2, &ndim, shape), FERRY_SHAPE);
    CHECK(strstr(ferry_error_detail(), "(2, 3, 4) (2, 4)") != NULL);
}

static void results_may_replace_their_source(void) {
    ferry_view view = view_2_3_4();
    REQUIRE_OK(ferry_view_transpose(&view, (const int[]){2, 0, 1}, &view));
    REQUIRE_OK(ferry_view_slice(&view, 1, &(ferry_slice){FERRY_SLICE_NONE, FERRY_SLICE_NONE, -2}, &view));
    REQUIRE_OK(ferry_view_index(&view, 1, (const int64_t[]){-1}, &view));
    REQUIRE_OK(ferry_view_reshape(&view, 3, (const int64_t[]){2, 3, 1}, &view));
    REQUIRE_OK(ferry_view_broadcast(&view, 4, (const int64_t[]){5, 2, 3, 1}, &view));
    CHECK_INT(view.ndim, 4);
    CHECK(view.readonly);
    CHECK(view.data == &numbers[1]);
    CHECK_INT(view.strides[0], 0);
    CHECK_INT(view.strides[1], 96);
    CHECK_INT(view.strides[2], 32);
}

int main(void) {
    RUN(shapes_that_are_none);
    RUN(slices_and_indices_that_are_none);
    RUN(transpositions_that_are_none);
    RUN(reshapes_that_are_none);
    RUN(broadcasts_that_are_none);
    RUN(results_may_replace_their_source);
    return test_finish();
}
