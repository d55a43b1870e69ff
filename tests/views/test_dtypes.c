/* Element types, and casts at the edges: what docs/casting.md promises. NumPy's answers: assign_numpy.py. */
#include <math.h>

#include "ferry/dtype.h"
#include "tests/test.h"

static void names_are_found(void) {
    ferry_dtype found = FERRY_BOOL;
    for (int i = 0; i < FERRY_DTYPE_COUNT; ++i) {
        CHECK_OK(ferry_dtype_find(ferry_dtype_name((ferry_dtype)i), &found));
        CHECK_INT(found, i);
    }
    CHECK_STATUS(ferry_dtype_find("float80", &found), FERRY_NOT_FOUND);
    CHECK(strstr(ferry_error_detail(), "float80") && strstr(ferry_error_detail(), "complex128"));
    CHECK_STATUS(ferry_dtype_find(NULL, &found), FERRY_INVALID_ARGUMENT);
    CHECK_INT(found, FERRY_COMPLEX128);
}

static void what_is_no_dtype_answers(void) {
    ferry_dtype none = FERRY_DTYPE_COUNT;
    CHECK_UINT(ferry_dtype_size(none), 0);
    CHECK_INT(ferry_dtype_kind(none), 0);
    CHECK_STRING(ferry_dtype_name(none), "?");
    CHECK(!ferry_dtype_can_cast(none, FERRY_INT8, FERRY_CAST_UNSAFE));
    CHECK(!ferry_dtype_can_cast(FERRY_INT8, none, FERRY_CAST_UNSAFE));
    CHECK(ferry_dtype_cast(none, FERRY_INT8) == NULL);
}

/* The definition, tried on every pair: the first type to which both cast safely. */
static void promotion_is_the_first_common_type(void) {
    for (int a = 0; a < FERRY_DTYPE_COUNT; ++a) {
        for (int b = 0; b < FERRY_DTYPE_COUNT; ++b) {
            ferry_dtype to = ferry_dtype_promote((ferry_dtype)a, (ferry_dtype)b);
            CHECK_INT(ferry_dtype_promote((ferry_dtype)b, (ferry_dtype)a), to);
            CHECK(ferry_dtype_can_cast((ferry_dtype)a, to, FERRY_CAST_SAFE));
            CHECK(ferry_dtype_can_cast((ferry_dtype)b, to, FERRY_CAST_SAFE));
            for (int c = 0; c < (int)to; ++c) {
                CHECK(!ferry_dtype_can_cast((ferry_dtype)a, (ferry_dtype)c, FERRY_CAST_SAFE) ||
                      !ferry_dtype_can_cast((ferry_dtype)b, (ferry_dtype)c, FERRY_CAST_SAFE));
            }
        }
    }
}

/* The value of a binary16, from its definition. */
static double float16_value(uint16_t bits) {
    int exponent = bits >> 10 & 0x1f;
    int fraction = bits & 0x3ff;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Signalling NaNs become quiet ones. */
static void every_float16_goes_round(void) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        float value = ferry_float16_to_float32((uint16_t)bits);
        uint32_t want = isnan(value) ? bits | 0x200 : bits;
        CHECK_UINT(ferry_float32_to_float16(value), want);
        CHECK_UINT(ferry_float64_to_float16((double)value), want);
        if ((bits & 0x7c00) != 0x7c00) {
            CHECK(value == (float)float16_value((uint16_t)bits));
        }
    }
}

static void float16_rounds_to_nearest_even(void) {
    for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
        double below = float16_value(bits);
        double above = float16_value((uint16_t)(bits + 1));
        double middle = (below + above) / 2;
        CHECK_UINT(ferry_float64_to_float16(middle), bits + (bits & 1));
        CHECK_UINT(ferry_float64_to_float16(nextafter(middle, 0)), bits);
        CHECK_UINT(ferry_float64_to_float16(nextafter(middle, 1e9)), bits + 1);
    }
    CHECK_UINT(ferry_float64_to_float16(65520), 0x7c00);
    CHECK_UINT(ferry_float64_to_float16(nextafter(65520, 0)), 0x7bff);
    CHECK_UINT(ferry_float64_to_float16(-1e300), 0xfc00);
    CHECK_UINT(ferry_float64_to_float16(-1e-300), 0x8000);
}

static void nans_stay_nans(void) {
    uint64_t word = UINT64_C(0x7ff0000000000001);
    double nan_with_low_payload;
    memcpy(&nan_with_low_payload, &word, sizeof word);
    CHECK_UINT(ferry_float64_to_float16(nan_with_low_payload) & 0x7c00, 0x7c00);
    CHECK((ferry_float64_to_float16(nan_with_low_payload) & 0x3ff) != 0);
}

static int64_t to_integer(double value, ferry_dtype to) {
    char bytes[8] = {0};
    int64_t result = 0;
    ferry_dtype_cast(FERRY_FLOAT64, to)(bytes, 0, (const char *)&value, 0, 1);
    ferry_dtype_cast(to, FERRY_INT64)((char *)&result, 0, bytes, 0, 1);
    return result;
}

static void floats_to_integers_at_the_edges(void) {
    static const struct {
        double value;
        int64_t int8, uint8, int32, uint32, int64, uint64;
    } rows[] = {
        {-1.9, -1, 255, -1, UINT32_MAX, -1, -1},
        {70000, 112, 112, 70000, 70000, 70000, 70000},
        {-129, 127, 127, -129, 4294967167, -129, -129},
        {3e9, 0, 0, INT32_MIN, 3000000000, 3000000000, 3000000000},
        {0x1p63, 0, 0, INT32_MIN, 0, INT64_MIN, INT64_MIN},
        {0x1p64, 0, 0, INT32_MIN, 0, INT64_MIN, 0},
        {-0x1p64, 0, 0, INT32_MIN, 0, INT64_MIN, INT64_MIN},
        {INFINITY, 0, 0, INT32_MIN, 0, INT64_MIN, 0},
        {-INFINITY, 0, 0, INT32_MIN, 0, INT64_MIN, INT64_MIN},
        {NAN, 0, 0, INT32_MIN, 0, INT64_MIN, INT64_MIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        CHECK_INT(to_integer(rows[i].value, FERRY_INT8), rows[i].int8);
        CHECK_INT(to_integer(rows[i].value, FERRY_UINT8), rows[i].uint8);
        CHECK_INT(to_integer(rows[i].value, FERRY_INT32), rows[i].int32);
        CHECK_INT(to_integer(rows[i].value, FERRY_UINT32), rows[i].uint32);
        CHECK_INT(to_integer(rows[i].value, FERRY_INT64), rows[i].int64);
        CHECK_INT(to_integer(rows[i].value, FERRY_UINT64), rows[i].uint64);
    }
}

static void anything_not_zero_is_true(void) {
    const double values[] = {0, -0.0, NAN, 5e-324, 1};
    const uint8_t want[] = {0, 0, 1, 1, 1};
    uint8_t got[5];
    ferry_dtype_cast(FERRY_FLOAT64, FERRY_BOOL)((char *)got, 1, (const char *)values, 8, 5);
    CHECK_MEMORY(got, want, 5);
    const double imaginary[2] = {0, 2};
    ferry_dtype_cast(FERRY_COMPLEX128, FERRY_BOOL)((char *)got, 1, (const char *)imaginary, 16, 1);
    CHECK_INT(got[0], 1);
    const uint8_t odd_bool = 7;
    ferry_dtype_cast(FERRY_BOOL, FERRY_UINT8)((char *)got, 1, (const char *)&odd_bool, 1, 1);
    CHECK_INT(got[0], 1);
}

int main(void) {
    RUN(names_are_found);
    RUN(what_is_no_dtype_answers);
    RUN(promotion_is_the_first_common_type);
    RUN(every_float16_goes_round);
    RUN(float16_rounds_to_nearest_even);
    RUN(nans_stay_nans);
    RUN(floats_to_integers_at_the_edges);
    RUN(anything_not_zero_is_true);
    return test_finish();
}
