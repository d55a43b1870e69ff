#include "ferry/dtype.h"

#include <string.h>

typedef struct dtype_row {
    const char *name;
    size_t bytes;
    char kind;
} dtype_row;

static const dtype_row rows[FERRY_DTYPE_COUNT] = {
#define ROW(constant, text, size, letter, type) [FERRY_##constant] = {text, size, letter},
    FERRY_DTYPE_LIST(ROW)
#undef ROW
};

static const dtype_row *row_of(ferry_dtype dtype) {
    static const dtype_row none = {"?", 0, 0};
    return (unsigned)dtype < FERRY_DTYPE_COUNT ? &rows[dtype] : &none;
}

size_t ferry_dtype_size(ferry_dtype dtype) {
    return row_of(dtype)->bytes;
}

char ferry_dtype_kind(ferry_dtype dtype) {
    return row_of(dtype)->kind;
}

const char *ferry_dtype_name(ferry_dtype dtype) {
    return row_of(dtype)->name;
}

ferry_status ferry_dtype_find(const char *name, ferry_dtype *out) {
    if (name == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the name of a data type is missing (NULL)");
    }
    for (unsigned i = 0; i < FERRY_DTYPE_COUNT; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            *out = (ferry_dtype)i;
            return FERRY_OK;
        }
    }
#define NAME(constant, text, size, letter, type) " " text
    return ferry_error(FERRY_NOT_FOUND, "there is no data type \"%.64s\"; there are" FERRY_DTYPE_LIST(NAME), name);
#undef NAME
}

/*
 * Bytes of the floating type that NumPy takes to hold an integer of `bytes` bytes "safely": float64 for 4 and 8,
 * although it does not hold every 64-bit integer.
 */
static size_t float_bytes_for_integer(size_t bytes) {
    return bytes >= 4 ? 8 : bytes * 2;
}

/* Bytes of the real floating type that holds values of the type; a bool counts as an 8-bit integer. */
static size_t float_bytes(const dtype_row *row) {
    switch (row->kind) {
    case 'f':
        return row->bytes;
    case 'c':
        return row->bytes / 2;
    default:
        return float_bytes_for_integer(row->bytes);
    }
}

static bool casts_safely(const dtype_row *from, const dtype_row *to) {
    bool from_integer = from->kind == 'i' || from->kind == 'u';
    switch (to->kind) {
    case 'u':
        return from->kind == 'b' || (from->kind == 'u' && from->bytes <= to->bytes);
    case 'i':
        return from->kind == 'b' || (from_integer && from->bytes + (from->kind == 'u') <= to->bytes);
    case 'f':
        return from->kind != 'c' && (from->kind == 'b' || float_bytes(from) <= to->bytes);
    case 'c':
        return from->kind == 'b' || float_bytes(from) <= to->bytes / 2;
    default:
        return from->kind == 'b';
    }
}

/* The place of a kind in NumPy's order: a cast is of the same kind when it does not step down. */
static int kind_rank(char kind) {
    return (int)(strchr("buifc", kind) - "buifc");
}

bool ferry_dtype_can_cast(ferry_dtype from, ferry_dtype to, ferry_casting rule) {
    if ((unsigned)from >= FERRY_DTYPE_COUNT || (unsigned)to >= FERRY_DTYPE_COUNT) {
        return false;
    }
    switch (rule) {
    case FERRY_CAST_NO:
        return from == to;
    case FERRY_CAST_SAFE:
        return casts_safely(&rows[from], &rows[to]);
    case FERRY_CAST_SAME_KIND:
        return kind_rank(rows[from].kind) <= kind_rank(rows[to].kind);
    case FERRY_CAST_UNSAFE:
        return true;
    }
    return false;
}

/* The order of FERRY_DTYPE_LIST never puts a type before one that casts safely to it, so the first fit is the smallest.
 */
ferry_dtype ferry_dtype_promote(ferry_dtype a, ferry_dtype b) {
    unsigned to = FERRY_BOOL;
    while (to < FERRY_COMPLEX128 && !(casts_safely(row_of(a), &rows[to]) && casts_safely(row_of(b), &rows[to]))) {
        ++to;
    }
    return (ferry_dtype)to;
}
