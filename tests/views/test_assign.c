/* Assignment in managed memory whose pages are on a device: nothing is lost, and what is overwritten does not cross. */
#include "ferry/apply.h"
#include "ferry/stats.h"
#include "ferry/view.h"
#include "tests/test.h"

#define N 200000 /* float64: 1.6 MB, many pages */

static ferry_array counting(void) {
    ferry_array array;
    REQUIRE_OK(ferry_array_create(NULL, FERRY_FLOAT64, 1, (const int64_t[]){N}, &array));
    REQUIRE_OK(ferry_host_acquire(&array.view, FERRY_WRITE));
    for (int i = 0; i < N; ++i) {
        ((double *)array.view.data)[i] = i;
    }
    return array;
}

static void to_device(const ferry_array *array) {
    REQUIRE_OK(ferry_prefetch(&array->view, 0, NULL));
    REQUIRE_OK(ferry_sync(NULL));
}

static ferry_view slice(const ferry_array *array, int64_t start, int64_t stop, int64_t step) {
    ferry_view view;
    REQUIRE_OK(ferry_view_slice(&array->view, 1, &(ferry_slice){start, stop, step}, &view));
    return view;
}

/* dst[k] = first + k * step. */
static void check_run(const ferry_view *dst, double first, double step) {
    int64_t wrong = 0;
    for (int64_t k = 0; k < dst->shape[0]; ++k) {
        double value = *(const double *)((const char *)dst->data + k * dst->strides[0]);
        wrong += value != first + (double)k * step;
    }
    CHECK_INT(wrong, 0);
}

static void overwriting_moves_nothing_home(void) {
    ferry_array from = counting(), to = counting();
    to_device(&to);
    ferry_stats before, after;
    REQUIRE_OK(ferry_stats_get(&before));
    REQUIRE_OK(ferry_assign_host(&to.view, &from.view));
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK(after.bytes_to_host - before.bytes_to_host <= 2 * 4096);
    check_run(&to.view, 0, 1);
    ferry_array_release(&from);
    ferry_array_release(&to);
}

static void halves_that_share_a_page(void) {
    ferry_array array = counting();
    to_device(&array);
    ferry_view low = slice(&array, 0, N / 2, 1);
    ferry_view high = slice(&array, N / 2, N, 1);
    REQUIRE_OK(ferry_assign_host(&low, &high));
    check_run(&low, N / 2, 1);
    check_run(&high, N / 2, 1);
    ferry_array_release(&array);
}

static void elements_between_the_assigned_ones_stay(void) {
    ferry_array array = counting();
    to_device(&array);
    ferry_view even = slice(&array, 0, N, 2);
    ferry_view odd = slice(&array, 1, N, 2);
    REQUIRE_OK(ferry_assign_host(&even, &odd));
    check_run(&even, 1, 2);
    check_run(&odd, 1, 2);
    ferry_array_release(&array);
}

static void a_scalar_into_every_third(void) {
    ferry_array array = counting();
    to_device(&array);
    double number = -1;
    ferry_view scalar;
    REQUIRE_OK(ferry_view_make(&number, FERRY_FLOAT64, 0, NULL, &scalar));
    ferry_view third = slice(&array, 0, N, 3), second = slice(&array, 1, N, 3);
    REQUIRE_OK(ferry_assign_host(&third, &scalar));
    check_run(&third, -1, 0);
    check_run(&second, 1, 3);
    ferry_array_release(&array);
}

static void overlap_on_the_device(void) {
    ferry_array array = counting();
    to_device(&array);
    ferry_view low = slice(&array, 0, N - 1, 1), high = slice(&array, 1, N, 1);
    REQUIRE_OK(ferry_assign_host(&high, &low));
    check_run(&high, 0, 1);
    ferry_array_release(&array);

    array = counting();
    to_device(&array);
    ferry_view reversed = slice(&array, FERRY_SLICE_NONE, FERRY_SLICE_NONE, -1);
    REQUIRE_OK(ferry_assign_host(&array.view, &reversed));
    check_run(&array.view, N - 1, -1);
    ferry_array_release(&array);
}

/* NumPy's assignment drops leading axes of one element, wherever the bytes are. */
static void extra_axes_of_one_on_the_device(void) {
    ferry_array array = counting(), other = counting();
    to_device(&array);
    to_device(&other);
    const int64_t shape[] = {1, 1, N};
    ferry_view row;
    REQUIRE_OK(ferry_view_reshape(&array.view, 3, shape, &row));
    ferry_view reversed = slice(&other, FERRY_SLICE_NONE, FERRY_SLICE_NONE, -1);
    CHECK_OK(ferry_assign(&reversed, &row, NULL));
    CHECK_INT(ferry_view_place(&other.view), 0);
    REQUIRE_OK(ferry_host_acquire(&other.view, FERRY_READ));
    check_run(&other.view, N - 1, -1);

    const int64_t two_rows[] = {2, N / 2};
    REQUIRE_OK(ferry_view_reshape(&array.view, 2, two_rows, &row));
    to_device(&array);
    CHECK_STATUS(ferry_assign(&reversed, &row, NULL), FERRY_SHAPE);
    ferry_array_release(&array);
    ferry_array_release(&other);
}

static void printing_brings_home_what_it_shows(void) {
    ferry_array array;
    const int64_t shape[] = {4000, 3000};
    REQUIRE_OK(ferry_array_zeros(NULL, FERRY_FLOAT64, 2, shape, &array));
    to_device(&array);
    ferry_stats before, after;
    REQUIRE_OK(ferry_stats_get(&before));
    char text[400];
    CHECK(ferry_view_format(&array.view, text, sizeof text) > 0);
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_STRING(text, "[[0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n ...\n"
                       " [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]]");
    CHECK_THAT(after.bytes_to_host - before.bytes_to_host <= 16 << 20, "%" PRIu64 " bytes came home",
               after.bytes_to_host - before.bytes_to_host);
    ferry_array_release(&array);
}

int main(void) {
    RUN(overwriting_moves_nothing_home);
    RUN(halves_that_share_a_page);
    RUN(elements_between_the_assigned_ones_stay);
    RUN(a_scalar_into_every_third);
    RUN(overlap_on_the_device);
    RUN(extra_axes_of_one_on_the_device);
    RUN(printing_brings_home_what_it_shows);
    return test_finish();
}
