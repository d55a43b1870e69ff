/*
 * The header of a .npy file: a Python dict literal such as
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * The grammar is NumPy's, strictly: exactly the three keys, once each, in any order; strings in either quotes without
 * escapes; extents are decimal, with the L that Python 2 wrote; trailing commas and white space as Python allows them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npy.h"

#define STRING_LIMIT 64 /* of keys and type strings, with the terminator */

typedef struct cursor {
    const char *path;
    const char *start, *at, *end;
} cursor;

enum { KEY_DESCR = 1, KEY_FORTRAN_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static FERRY_PRINTF(2, 3) ferry_status malformed(const cursor *c, const char *format, ...) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return ferry_error(FERRY_FORMAT, "%s: the header is malformed: %s at character %td", c->path, what,
                       c->at - c->start);
}

static void skip_space(cursor *c) {
    while (c->at < c->end && strchr(" \t\n\r\f", *c->at) && *c->at != '\0')
        c->at++;
}

/* The next character that is not white space, '\0' at the end. Stays in front of it. */
static char peek(cursor *c) {
    skip_space(c);
    return c->at < c->end ? *c->at : '\0';
}

static bool accept(cursor *c, char wanted) {
    if (wanted == '\0' || peek(c) != wanted)
        return false;
    c->at++;
    return true;
}

static ferry_status expect(cursor *c, char wanted) {
    return accept(c, wanted) ? FERRY_OK : malformed(c, "'%c' expected", wanted);
}

static bool plain(char ch) {
    return ch >= ' ' && ch <= '~' && ch != '\\';
}

static ferry_status parse_string(cursor *c, const char *what, char *out) {
    char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return malformed(c, "%s in quotes expected", what);
    const char *first = ++c->at;
    while (c->at < c->end && *c->at != quote && plain(*c->at))
        c->at++;
    if (c->at == c->end || *c->at != quote)
        return malformed(c, "%s without an end", what);
    size_t length = (size_t)(c->at - first);
    if (length >= STRING_LIMIT)
        return malformed(c, "%s longer than %d characters", what, STRING_LIMIT - 1);
    memcpy(out, first, length);
    out[length] = '\0';
    c->at++;
    return FERRY_OK;
}

static bool accept_word(cursor *c, const char *word) {
    skip_space(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static ferry_status parse_fortran_order(cursor *c, bool *out) {
    if (accept_word(c, "True"))
        *out = true;
    else if (accept_word(c, "False"))
        *out = false;
    else
        return malformed(c, "True or False expected");
    return FERRY_OK;
}

static bool digit(const cursor *c) {
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static ferry_status parse_extent(cursor *c, int64_t *out) {
    if (peek(c) == '-')
        return ferry_error(FERRY_SHAPE, "%s: the header's shape has a negative extent", c->path);
    if (!digit(c))
        return malformed(c, "an extent expected");
    bool zero = *c->at == '0';
    int64_t value = 0;
    int digits = 0;
    for (; digit(c); c->at++, digits++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value))
            return ferry_error(FERRY_SHAPE, "%s: the header's shape has an extent that 63 bits do not hold", c->path);
    if (zero && digits > 1)
        return malformed(c, "an extent with a leading zero");
    if (c->at < c->end && *c->at == 'L')
        c->at++;
    *out = value;
    return FERRY_OK;
}

/* A tuple: () or (n,) or (n, m) or (n, m,); (n) is a number in Python and refused. */
static ferry_status parse_shape(cursor *c, ferry_npy_info *out) {
    ferry_status status = expect(c, '(');
    bool comma = true;
    out->ndim = 0;
    while (status == FERRY_OK && peek(c) != ')') {
        if (!comma)
            return malformed(c, "',' or ')' expected");
        if (out->ndim == FERRY_MAX_DIMS)
            return ferry_error(FERRY_SHAPE, "%s: more than %d dimensions", c->path, FERRY_MAX_DIMS);
        status = parse_extent(c, &out->shape[out->ndim++]);
        comma = accept(c, ',');
    }
    if (status == FERRY_OK && out->ndim == 1 && !comma)
        return malformed(c, "',' expected in a shape of one extent");
    return status == FERRY_OK ? expect(c, ')') : status;
}

static ferry_status parse_descr(cursor *c, ferry_npy_info *out) {
    char first = peek(c);
    if (first == '[' || first == '(')
        return ferry_error(FERRY_DTYPE, "%s: the elements are structured (records); ferry takes numbers and booleans",
                           c->path);
    char descr[STRING_LIMIT];
    ferry_status status = parse_string(c, "a type string", descr);
    return status == FERRY_OK ? npy_descr_parse(c->path, descr, &out->dtype, &out->swapped) : status;
}

static int key_bit(const char *key) {
    if (strcmp(key, "descr") == 0)
        return KEY_DESCR;
    if (strcmp(key, "fortran_order") == 0)
        return KEY_FORTRAN_ORDER;
    return strcmp(key, "shape") == 0 ? KEY_SHAPE : 0;
}

static ferry_status parse_value(cursor *c, int key, ferry_npy_info *out) {
    if (key == KEY_DESCR)
        return parse_descr(c, out);
    return key == KEY_SHAPE ? parse_shape(c, out) : parse_fortran_order(c, &out->fortran_order);
}

static ferry_status parse_entry(cursor *c, int *seen, ferry_npy_info *out) {
    char key[STRING_LIMIT];
    ferry_status status = parse_string(c, "a key", key);
    if (status != FERRY_OK)
        return status;
    int bit = key_bit(key);
    if (bit == 0)
        return malformed(c, "unknown key '%s'", key);
    if (*seen & bit)
        return malformed(c, "key '%s' a second time", key);
    *seen |= bit;
    status = expect(c, ':');
    return status == FERRY_OK ? parse_value(c, bit, out) : status;
}

static ferry_status parse_dict(cursor *c, ferry_npy_info *out) {
    int seen = 0;
    bool comma = true;
    ferry_status status = expect(c, '{');
    while (status == FERRY_OK && peek(c) != '}') {
        if (!comma)
            return malformed(c, "',' or '}' expected");
        status = parse_entry(c, &seen, out);
        if (status == FERRY_OK)
            comma = accept(c, ',');
    }
    if (status != FERRY_OK)
        return status;
    c->at++;
    if (seen != KEY_ALL)
        return malformed(c, "descr, fortran_order and shape expected");
    return peek(c) == '\0' && c->at == c->end ? FERRY_OK : malformed(c, "nothing more expected");
}

/* Extents of 0 do not hide an overflow of the others: strides are made from them. */
static ferry_status count_bytes(const char *path, ferry_npy_info *out) {
    int64_t bytes = (int64_t)ferry_dtype_size(out->dtype);
    bool empty = false;
    for (int i = 0; i < out->ndim; i++) {
        empty = empty || out->shape[i] == 0;
        if (out->shape[i] != 0 && __builtin_mul_overflow(bytes, out->shape[i], &bytes))
            return ferry_error(FERRY_SHAPE, "%s: the header's shape of %d dimensions overflows 63 bits of bytes", path,
                               out->ndim);
    }
    out->data_bytes = empty ? 0 : bytes;
    return FERRY_OK;
}

ferry_status npy_header_parse(const char *path, const char *text, size_t length, ferry_npy_info *out) {
    cursor c = {.path = path, .start = text, .at = text, .end = text + length};
    ferry_npy_info info = {.dtype = FERRY_BOOL};
    ferry_status status = parse_dict(&c, &info);
    if (status == FERRY_OK)
        status = count_bytes(path, &info);
    if (status == FERRY_OK)
        *out = info;
    return status;
}
