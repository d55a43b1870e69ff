/*
 * Positional notation shows the shortest digits that are unique, at most 8 after the point; scientific notation as many
 * digits as the value that needs most, at most 8, and the others' own next digits rather than zeros. It is taken when
 * the magnitudes are large or far apart. The rules are those of NumPy 2.3 and later, where "large" depends on the type.
 */
#include "real_column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"

#define PRECISION 8

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* Digits after the point in positional notation. */
static int fraction_digits(const decimal *number) {
    return larger(0, number->count - 1 - number->exponent);
}

/* At most PRECISION digits after the point. The value is at least 1e-5, or 0. */
static decimal positional(double value, ferry_dtype dtype) {
    decimal number = decimal_shortest(value, dtype);
    if (fraction_digits(&number) > PRECISION) {
        number = decimal_rounded(value, number.exponent + 1 + PRECISION);
        decimal_strip(&number);
    }
    return number;
}

/* d.ddd with at most PRECISION digits after the point. */
static decimal scientific(double value, ferry_dtype dtype) {
    decimal number = decimal_shortest(value, dtype);
    if (number.count - 1 > PRECISION) {
        number = decimal_rounded(value, 1 + PRECISION);
        decimal_strip(&number);
    }
    return number;
}

static int sign_width(const real_column *column, double value) {
    return signbit(value) || column->plus_sign ? 1 : 0;
}

static void measure_magnitude(real_column *column, double magnitude) {
    if (magnitude != 0) {
        column->greatest = fmax(column->greatest, magnitude);
        column->least = column->least == 0 ? magnitude : fmin(column->least, magnitude);
    }
}

static void measure_scientific(real_column *column, double value) {
    decimal number = scientific(value, column->dtype);
    column->mantissa_whole = larger(column->mantissa_whole, sign_width(column, value) + 1);
    column->mantissa_fraction = larger(column->mantissa_fraction, number.count - 1);
    column->exponent_digits = larger(column->exponent_digits, number.exponent > 99 || number.exponent < -99 ? 3 : 2);
}

static void measure_positional(real_column *column, double value) {
    decimal number = positional(value, column->dtype);
    column->whole = larger(column->whole, sign_width(column, value) + larger(0, number.exponent) + 1);
    column->fraction = larger(column->fraction, fraction_digits(&number));
}

void real_column_measure(real_column *column, double value) {
    if (!isfinite(value)) {
        column->not_finite = true;
        column->negative_infinity = column->negative_infinity || (isinf(value) && value < 0);
        return;
    }
    double magnitude = fabs(value);
    column->finite = true;
    measure_magnitude(column, magnitude);
    measure_scientific(column, value);
    /* Beyond these the column is scientific. */
    if (magnitude == 0 || (magnitude > 1e-5 && magnitude < 1e9)) {
        measure_positional(column, value);
    }
}

/* A value as the column's type holds it: NumPy compares in that type. */
static double in_type(double value, ferry_dtype dtype) {
    switch (dtype) {
    case FERRY_FLOAT16:
        return (double)ferry_float16_to_float32(ferry_float64_to_float16(value));
    case FERRY_FLOAT32:
        return (double)(float)value;
    default:
        return value;
    }
}

/* Where scientific notation begins: 10^(decimal digits that the type always holds), or what NumPy takes for float64. */
static double large_from(ferry_dtype dtype, double for_float64) {
    return dtype == FERRY_FLOAT16 ? 1e3 : dtype == FERRY_FLOAT32 ? 1e6 : for_float64;
}

static bool needs_scientific(const real_column *column) {
    if (column->greatest == 0) {
        return false;
    }
    return column->greatest >= large_from(column->dtype, 1e8) || column->least < in_type(1e-4, column->dtype) ||
           in_type(column->greatest / column->least, column->dtype) > 1000;
}

void real_column_finish(real_column *column) {
    column->scientific = needs_scientific(column);
    if (column->scientific) {
        column->pad_left = column->mantissa_whole;
        column->pad_right = column->exponent_digits + 2 + column->mantissa_fraction;
    } else {
        column->pad_left = column->whole;
        column->pad_right = column->fraction;
    }
    if (column->not_finite) {
        int infinity = 3 + (column->plus_sign || column->negative_infinity ? 1 : 0);
        column->pad_left = larger(column->pad_left, infinity - (column->pad_right + 1));
    }
}

static size_t fill(char *text, char with, int count) {
    if (count <= 0) {
        return 0;
    }
    memset(text, with, (size_t)count);
    return (size_t)count;
}

/* The digits of places 10^from down to 10^to, zeros where there are none. */
static size_t put_digits(char *text, const decimal *number, int from, int to) {
    size_t length = 0;
    for (int place = from; place >= to; --place) {
        int i = number->exponent - place;
        text[length++] = i >= 0 && i < number->count ? number->digits[i] : '0';
    }
    return length;
}

/* "123.45": `least` digits after the point at least. */
static size_t put_positional(char *text, const decimal *number, int least) {
    size_t length = put_digits(text, number, larger(0, number->exponent), 0);
    text[length++] = '.';
    length += put_digits(text + length, number, -1, -larger(least, fraction_digits(number)));
    return length;
}

static size_t put_exponent(char *text, int exponent, int digits) {
    return (size_t)sprintf(text, "e%c%0*d", exponent < 0 ? '-' : '+', digits, exponent < 0 ? -exponent : exponent);
}

/* "1.2345e+08", or "1e+08" without a point. */
static size_t put_scientific(char *text, const decimal *number, bool point, int exponent_digits) {
    size_t length = 0;
    text[length++] = number->digits[0];
    if (point || number->count > 1) {
        text[length++] = '.';
    }
    memcpy(text + length, number->digits + 1, (size_t)number->count - 1);
    length += (size_t)number->count - 1;
    return length + put_exponent(text + length, number->exponent, exponent_digits);
}

static size_t put_sign(char *text, double value, bool plus) {
    if (!isnan(value) && signbit(value)) {
        text[0] = '-';
        return 1;
    }
    text[0] = '+';
    return plus ? 1 : 0;
}

/* "nan", "-inf"; returns the length. */
static size_t put_not_finite(char *text, double value, bool plus) {
    size_t length = put_sign(text, value, plus);
    memcpy(text + length, isnan(value) ? "nan" : "inf", 3);
    return length + 3;
}

static size_t not_finite_word(const real_column *column, double value, char *word) {
    char text[8];
    size_t length = put_not_finite(text, value, column->plus_sign);
    size_t used = fill(word, ' ', column->pad_left + column->pad_right + 1 - (int)length);
    memcpy(word + used, text, length);
    return used + length;
}

static size_t scientific_word(const real_column *column, double value, char *word) {
    decimal number = decimal_shortest(value, column->dtype);
    if (number.count != column->mantissa_fraction + 1) {
        number = decimal_rounded(value, column->mantissa_fraction + 1);
    }
    size_t used = fill(word, ' ', column->pad_left - 1 - sign_width(column, value));
    used += put_sign(word + used, value, column->plus_sign);
    return used + put_scientific(word + used, &number, true, column->exponent_digits);
}

static size_t positional_word(const real_column *column, double value, char *word) {
    decimal number = positional(value, column->dtype);
    int whole = sign_width(column, value) + larger(0, number.exponent) + 1;
    size_t used = fill(word, ' ', column->pad_left - whole);
    used += put_sign(word + used, value, column->plus_sign);
    used += put_positional(word + used, &number, 0);
    return used + fill(word + used, ' ', column->pad_right - fraction_digits(&number));
}

size_t real_column_word(const real_column *column, double value, char *word) {
    if (!isfinite(value)) {
        return not_finite_word(column, value, word);
    }
    return column->scientific ? scientific_word(column, value, word) : positional_word(column, value, word);
}

size_t real_scalar(double value, ferry_dtype dtype, bool point, char *word) {
    if (!isfinite(value)) {
        return put_not_finite(word, value, false);
    }
    decimal number = decimal_shortest(value, dtype);
    double magnitude = fabs(value);
    size_t length = put_sign(word, value, false);
    if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= large_from(dtype, 1e16))) {
        return length + put_scientific(word + length, &number, false, 2);
    }
    length += put_positional(word + length, &number, point ? 1 : 0);
    return word[length - 1] == '.' ? length - 1 : length;
}
