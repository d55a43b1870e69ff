/* The dtype of a .npy file: NumPy's array-protocol type strings. */
#include <string.h>

#include "npy.h"

typedef struct foreign_kind {
    char kind;
    const char *what;
} foreign_kind;

static const foreign_kind FOREIGN_KINDS[] = {
    {'O', "Python objects"},     {'S', "byte strings"}, {'a', "byte strings"},     {'U', "Unicode strings"},
    {'V', "raw or structured"},  {'M', "dates"},        {'m', "time differences"}, {'T', "strings"},
    {'f', "long or odd floats"}, {'c', "long complex"}, {'i', "odd integers"},     {'u', "odd integers"},
    {'b', "odd booleans"},
};

static ferry_status foreign(const char *path, const char *descr, char kind) {
    for (size_t i = 0; i < sizeof FOREIGN_KINDS / sizeof *FOREIGN_KINDS; i++)
        if (FOREIGN_KINDS[i].kind == kind)
            return ferry_error(FERRY_DTYPE, "%s: the elements are %s (dtype '%s'); ferry takes numbers and booleans",
                               path, FOREIGN_KINDS[i].what, descr);
    return ferry_error(FERRY_DTYPE, "%s: the dtype '%s' is not known; ferry takes numbers and booleans", path, descr);
}

static bool dtype_of(char kind, size_t bytes, ferry_dtype *out) {
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        ferry_dtype dtype = (ferry_dtype)i;
        if (ferry_dtype_kind(dtype) != kind || ferry_dtype_size(dtype) != bytes)
            continue;
        *out = dtype;
        return true;
    }
    return false;
}

/* The size after the kind: at most two digits are of use, 0 stands for anything else. */
static size_t size_of(const char *digits) {
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 2 || digits[length] != '\0' || digits[0] == '0')
        return 0;
    return length == 1 ? (size_t)(digits[0] - '0') : (size_t)(10 * (digits[0] - '0') + digits[1] - '0');
}

static bool order_is_foreign(char order) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return order == '>';
#else
    return order == '<';
#endif
}

ferry_status npy_descr_parse(const char *path, const char *descr, ferry_dtype *dtype, bool *swapped) {
    char order = descr[0] != '\0' && strchr("<>=|", descr[0]) ? descr[0] : '=';
    const char *kind = order == descr[0] ? descr + 1 : descr;
    ferry_dtype found = FERRY_BOOL;
    if (strcmp(kind, "?") != 0 && !dtype_of(kind[0], kind[0] == '\0' ? 0 : size_of(kind + 1), &found))
        return foreign(path, descr, kind[0]);
    *dtype = found;
    *swapped = order_is_foreign(order) && ferry_dtype_size(found) > 1;
    return FERRY_OK;
}

size_t npy_number_bytes(ferry_dtype dtype) {
    size_t bytes = ferry_dtype_size(dtype);
    return ferry_dtype_kind(dtype) == 'c' ? bytes / 2 : bytes;
}

/* Through memcpy: the data need not be aligned. */
#define SWAP_LOOP(type, swap)                                                                                          \
    for (size_t i = 0; i < count; i++) {                                                                               \
        type value;                                                                                                    \
        memcpy(&value, bytes + i * sizeof value, sizeof value);                                                        \
        value = swap(value);                                                                                           \
        memcpy(bytes + i * sizeof value, &value, sizeof value);                                                        \
    }

void npy_swap(void *data, size_t number_bytes, size_t count) {
    char *bytes = data;
    if (number_bytes == 2)
        SWAP_LOOP(uint16_t, __builtin_bswap16)
    else if (number_bytes == 4)
        SWAP_LOOP(uint32_t, __builtin_bswap32)
    else if (number_bytes == 8)
        SWAP_LOOP(uint64_t, __builtin_bswap64)
}
