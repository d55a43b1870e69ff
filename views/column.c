#include "column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "real_column.h"

static ferry_dtype part_dtype(ferry_dtype dtype) {
    return dtype == FERRY_COMPLEX64 ? FERRY_FLOAT32 : dtype == FERRY_COMPLEX128 ? FERRY_FLOAT64 : dtype;
}

value_column column_make(ferry_dtype dtype) {
    value_column result = {.dtype = dtype, .width = dtype == FERRY_BOOL ? 5 : 0};
    result.real.dtype = part_dtype(dtype);
    result.imag.dtype = part_dtype(dtype);
    result.imag.plus_sign = true;
    return result;
}

/* Real and imaginary part; the second is 0 for real types. */
static void load_parts(ferry_dtype dtype, const char *element, double parts[2]) {
    ferry_dtype_cast(dtype, FERRY_COMPLEX128)((char *)parts, 0, element, 0, 1);
}

static size_t put_integer(ferry_dtype dtype, const char *element, int width, char *word) {
    if (ferry_dtype_kind(dtype) == 'i') {
        int64_t value;
        ferry_dtype_cast(dtype, FERRY_INT64)((char *)&value, 0, element, 0, 1);
        return (size_t)snprintf(word, COLUMN_WORD_BYTES, "%*" PRId64, width, value);
    }
    uint64_t value;
    ferry_dtype_cast(dtype, FERRY_UINT64)((char *)&value, 0, element, 0, 1);
    return (size_t)snprintf(word, COLUMN_WORD_BYTES, "%*" PRIu64, width, value);
}

static size_t put_bool(const char *element, int width, char *word) {
    return (size_t)snprintf(word, COLUMN_WORD_BYTES, "%*s", width, *element != 0 ? "True" : "False");
}

void column_measure(value_column *column, const char *element) {
    char word[COLUMN_WORD_BYTES];
    double parts[2];
    int length;
    switch (ferry_dtype_kind(column->dtype)) {
    case 'b':
        return;
    case 'i':
    case 'u':
        length = (int)put_integer(column->dtype, element, 0, word);
        column->width = length > column->width ? length : column->width;
        return;
    default:
        load_parts(column->dtype, element, parts);
        real_column_measure(&column->real, parts[0]);
        real_column_measure(&column->imag, parts[1]);
    }
}

void column_finish(value_column *column) {
    real_column_finish(&column->real);
    real_column_finish(&column->imag);
}

/* The imaginary part's padding goes behind its "j". */
static size_t put_imaginary(const real_column *imag, double value, char *word) {
    size_t length = real_column_word(imag, value, word);
    size_t end = length;
    while (end > 0 && word[end - 1] == ' ') {
        --end;
    }
    memmove(word + end + 1, word + end, length - end);
    word[end] = 'j';
    return length + 1;
}

static size_t floating_word(const value_column *column, const char *element, char *word) {
    double parts[2];
    load_parts(column->dtype, element, parts);
    size_t length = real_column_word(&column->real, parts[0], word);
    if (ferry_dtype_kind(column->dtype) == 'c') {
        length += put_imaginary(&column->imag, parts[1], word + length);
    }
    word[length] = 0;
    return length;
}

size_t column_word(const value_column *column, const char *element, char word[COLUMN_WORD_BYTES]) {
    switch (ferry_dtype_kind(column->dtype)) {
    case 'b':
        return put_bool(element, column->width, word);
    case 'i':
    case 'u':
        return put_integer(column->dtype, element, column->width, word);
    default:
        return floating_word(column, element, word);
    }
}

/* "(1+2j)", but "2j" where the real part is +0. */
static size_t complex_scalar(ferry_dtype part, const double parts[2], char *word) {
    char real[COLUMN_WORD_BYTES / 2];
    char imag[COLUMN_WORD_BYTES / 2];
    size_t real_length = real_scalar(parts[0], part, false, real);
    size_t imag_length = real_scalar(parts[1], part, false, imag);
    if (parts[0] == 0 && !signbit(parts[0])) {
        return (size_t)snprintf(word, COLUMN_WORD_BYTES, "%.*sj", (int)imag_length, imag);
    }
    const char *plus = imag[0] == '-' ? "" : "+";
    return (size_t)snprintf(word, COLUMN_WORD_BYTES, "(%.*s%s%.*sj)", (int)real_length, real, plus, (int)imag_length,
                            imag);
}

size_t column_scalar(ferry_dtype dtype, const char *element, char word[COLUMN_WORD_BYTES]) {
    double parts[2];
    size_t length;
    switch (ferry_dtype_kind(dtype)) {
    case 'b':
        return put_bool(element, 0, word);
    case 'i':
    case 'u':
        return put_integer(dtype, element, 0, word);
    case 'c':
        load_parts(dtype, element, parts);
        return complex_scalar(part_dtype(dtype), parts, word);
    default:
        load_parts(dtype, element, parts);
        length = real_scalar(parts[0], dtype, true, word);
        word[length] = 0;
        return length;
    }
}
