/* Printing in cases whose text is known. NumPy's answers: print_numpy.py. */
#include <locale.h>

#include "ferry/view.h"
#include "tests/test.h"

static const char *printed(const void *data, ferry_dtype dtype, int ndim, const int64_t *shape) {
    static char text[4096];
    ferry_view view;
    REQUIRE_OK(ferry_view_make((void *)(uintptr_t)data, dtype, ndim, shape, &view));
    int64_t length = ferry_view_format(&view, text, sizeof text);
    CHECK_INT(length, strlen(text));
    return text;
}

static void numbers_share_a_column(void) {
    const double numbers[] = {1, 0.1, -12.625, 1.0 / 3};
    const int64_t four[] = {4};
    CHECK_STRING(printed(numbers, FERRY_FLOAT64, 1, four), "[  1.           0.1        -12.625        0.33333333]");
    const double far[] = {1, 1e-5};
    CHECK_STRING(printed(far, FERRY_FLOAT64, 1, (const int64_t[]){2}), "[1.e+00 1.e-05]");
    const float thirds[] = {1.0F / 3, 2.0F / 3};
    CHECK_STRING(printed(thirds, FERRY_FLOAT32, 1, (const int64_t[]){2}), "[0.33333334 0.6666667 ]");
    const double complexes[] = {1, -2, 0.5, 0};
    CHECK_STRING(printed(complexes, FERRY_COMPLEX128, 1, (const int64_t[]){2}), "[1. -2.j 0.5+0.j]");
    const uint8_t bools[] = {1, 0};
    CHECK_STRING(printed(bools, FERRY_BOOL, 1, (const int64_t[]){2}), "[ True False]");
}

static void scalars_and_empties(void) {
    const double tenth = 0.1;
    CHECK_STRING(printed(&tenth, FERRY_FLOAT64, 0, NULL), "0.1");
    const double whole = 3;
    CHECK_STRING(printed(&whole, FERRY_FLOAT64, 0, NULL), "3.0");
    const uint64_t most = UINT64_MAX;
    CHECK_STRING(printed(&most, FERRY_UINT64, 0, NULL), "18446744073709551615");
    CHECK_STRING(printed(NULL, FERRY_FLOAT64, 2, (const int64_t[]){3, 0}), "[]");
}

static void blocks_and_summaries(void) {
    int32_t numbers[1200];
    for (int i = 0; i < 1200; ++i) {
        numbers[i] = i;
    }
    CHECK_STRING(printed(numbers, FERRY_INT32, 3, (const int64_t[]){2, 1, 2}), "[[[0 1]]\n\n [[2 3]]]");
    CHECK_STRING(printed(numbers, FERRY_INT32, 1, (const int64_t[]){1001}), "[   0    1    2 ...  998  999 1000]");
    CHECK_STRING(
        printed(numbers, FERRY_INT32, 2, (const int64_t[]){400, 3}),
        "[[   0    1    2]\n [   3    4    5]\n [   6    7    8]\n ...\n [1191 1192 1193]\n [1194 1195 1196]\n "
        "[1197 1198 1199]]");
}

static void text_is_cut_and_measured(void) {
    const int8_t numbers[] = {1, 2, 3};
    ferry_view view;
    REQUIRE_OK(ferry_view_make((void *)(uintptr_t)numbers, FERRY_INT8, 1, (const int64_t[]){3}, &view));
    char text[4] = "###";
    CHECK_INT(ferry_view_format(&view, NULL, 0), 7);
    CHECK_INT(ferry_view_format(&view, text, sizeof text), 7);
    CHECK_STRING(text, "[1 ");
}

/* Where the process writes decimal commas, the library writes points. */
static void locales_do_not_matter(void) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;
    for (size_t i = 0; !set && i < sizeof names / sizeof *names; ++i) {
        set = setlocale(LC_NUMERIC, names[i]) != NULL;
    }
    const double number = 1.0 / 3;
    CHECK_STRING(printed(&number, FERRY_FLOAT64, 0, NULL), "0.3333333333333333");
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
    RUN(numbers_share_a_column);
    RUN(scalars_and_empties);
    RUN(blocks_and_summaries);
    RUN(text_is_cut_and_measured);
    RUN(locales_do_not_matter);
    return test_finish();
}
