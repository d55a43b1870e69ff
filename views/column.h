/* How NumPy writes the elements of an array: all alike, from what the widest of them need. */
#ifndef FERRY_VIEWS_COLUMN_H
#define FERRY_VIEWS_COLUMN_H

#include <stddef.h>

#include "ferry/dtype.h"

/* Room for a complex128's word. */
#define COLUMN_WORD_BYTES 128

/* A column of real floating numbers: numpy.core.arrayprint.FloatingFormat with precision 8, floatmode "maxprec". */
typedef struct real_column {
    ferry_dtype dtype; /* float16, float32 or float64 */
    bool plus_sign;
    /* Over the values measured. */
    bool finite, not_finite, negative_infinity;
    double greatest, least;                                 /* magnitudes, of those that are not 0 */
    int whole, fraction;                                    /* characters of "-123" and "45" in positional notation */
    int mantissa_whole, mantissa_fraction, exponent_digits; /* and in scientific: "-1", "2345", "08" */
    /* What follows from them. */
    bool scientific;
    int pad_left, pad_right;
} real_column;

typedef struct value_column {
    ferry_dtype dtype;
    int width; /* of integers and bools */
    real_column real, imag;
} value_column;

value_column column_make(ferry_dtype dtype);
/* Every element that will be written is measured first; element points at its bytes, of any alignment. */
void column_measure(value_column *column, const char *element);
void column_finish(value_column *column);
/* Writes one element, terminated; returns its length. */
size_t column_word(const value_column *column, const char *element, char word[COLUMN_WORD_BYTES]);

/* str() of a NumPy scalar. */
size_t column_scalar(ferry_dtype dtype, const char *element, char word[COLUMN_WORD_BYTES]);

#endif
