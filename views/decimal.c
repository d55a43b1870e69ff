#include "decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 48

/*
 * Reads "-d.ddde-dd". The decimal point is whatever the process's locale makes it, of any length: digits are picked
 * out. strtod reads what snprintf wrote under the same locale.
 */
static decimal parse(const char *text) {
    decimal number = {.negative = *text == '-'};
    for (; *text != 'e'; ++text) {
        if (*text >= '0' && *text <= '9') {
            number.digits[number.count++] = *text;
        }
    }
    number.exponent = (int)strtol(text + 1, NULL, 10);
    return number;
}

decimal decimal_rounded(double value, int count) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    return parse(text);
}

void decimal_strip(decimal *number) {
    while (number->count > 1 && number->digits[number->count - 1] == '0') {
        --number->count;
    }
    number->digits[number->count] = 0;
}

/* Whether the text denotes `value` among the dtype's values. */
static bool reads_back(const char *text, double value, ferry_dtype dtype) {
    switch (dtype) {
    case FERRY_FLOAT16:
        return ferry_float64_to_float16(strtod(text, NULL)) == ferry_float64_to_float16(value);
    case FERRY_FLOAT32:
        return strtof(text, NULL) == (float)value;
    default:
        return strtod(text, NULL) == value;
    }
}

typedef struct digit_range {
    double least_normal;
    int enough; /* values of so many digits survive a round trip: a shorter form is a prefix of this one */
    int most;   /* the values survive a round trip through so many digits */
} digit_range;

static digit_range digits_of(ferry_dtype dtype) {
    switch (dtype) {
    case FERRY_FLOAT16:
        return (digit_range){0x1p-14, 3, 5};
    case FERRY_FLOAT32:
        return (digit_range){0x1p-126, 6, 9};
    default:
        return (digit_range){0x1p-1022, 15, 17};
    }
}

/* Adds one to the last digit. */
static void increment(decimal *number) {
    int i = number->count - 1;
    while (i >= 0 && number->digits[i] == '9') {
        number->digits[i--] = '0';
    }
    if (i >= 0) {
        ++number->digits[i];
    } else {
        number->digits[0] = '1';
        ++number->exponent;
    }
}

/*
 * At a power of two the values below are half as far away as those above, so that the decimal next above may read back
 * where the nearest, below, does not.
 */
static bool next_reads_back(decimal *number, double value, ferry_dtype dtype) {
    int exponent;
    char text[TEXT_BYTES];
    if (fabs(frexp(value, &exponent)) != 0.5) {
        return false;
    }
    increment(number);
    snprintf(text, sizeof text, "%s%.*se%d", number->negative ? "-" : "", number->count, number->digits,
             number->exponent - (number->count - 1));
    return reads_back(text, value, dtype);
}

decimal decimal_shortest(double value, ferry_dtype dtype) {
    char text[TEXT_BYTES];
    digit_range range = digits_of(dtype);
    int count = fabs(value) < range.least_normal ? 1 : range.enough;
    decimal number;
    do {
        snprintf(text, sizeof text, "%.*e", count - 1, value);
        number = parse(text);
    } while (!reads_back(text, value, dtype) && !next_reads_back(&number, value, dtype) && ++count <= range.most);
    decimal_strip(&number);
    return number;
}
