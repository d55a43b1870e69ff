/* Floating values as decimal digits. */
#ifndef FERRY_VIEWS_DECIMAL_H
#define FERRY_VIEWS_DECIMAL_H

#include "ferry/dtype.h"

/* Digits that any value of these types needs, and one more than any column shows. */
#define DECIMAL_DIGITS 24

/* d.ddd x 10^exponent; zero is "0" with exponent 0. */
typedef struct decimal {
    bool negative; /* of -0.0 too */
    int exponent;
    int count;
    char digits[DECIMAL_DIGITS + 1];
} decimal;

/* The fewest digits that read back as `value`, a finite value of `dtype` (float16, float32 or float64), the nearest
 * such. */
decimal decimal_shortest(double value, ferry_dtype dtype);

/* The exact value rounded to `count` digits (1 to DECIMAL_DIGITS), ties to even; trailing zeros are kept. */
decimal decimal_rounded(double value, int count);

/* Removes trailing zeros, but not the first digit. */
void decimal_strip(decimal *number);

#endif
