/* Element types, NumPy's, in native byte order. */
#ifndef FERRY_DTYPE_H
#define FERRY_DTYPE_H

#include <stdbool.h>

#include "ferry/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(CONSTANT, "name", bytes, kind, C type that holds the bits). Kinds are NumPy's: b bool, i signed, u unsigned,
 * f floating, c complex. The order is NumPy's promotion order within a kind and the numbering.
 */
#define FERRY_DTYPE_LIST(X)                                                                                            \
    X(BOOL, "bool", 1, 'b', uint8_t)                                                                                   \
    X(INT8, "int8", 1, 'i', int8_t)                                                                                    \
    X(UINT8, "uint8", 1, 'u', uint8_t)                                                                                 \
    X(INT16, "int16", 2, 'i', int16_t)                                                                                 \
    X(UINT16, "uint16", 2, 'u', uint16_t)                                                                              \
    X(INT32, "int32", 4, 'i', int32_t)                                                                                 \
    X(UINT32, "uint32", 4, 'u', uint32_t)                                                                              \
    X(INT64, "int64", 8, 'i', int64_t)                                                                                 \
    X(UINT64, "uint64", 8, 'u', uint64_t)                                                                              \
    X(FLOAT16, "float16", 2, 'f', uint16_t)                                                                            \
    X(FLOAT32, "float32", 4, 'f', float)                                                                               \
    X(FLOAT64, "float64", 8, 'f', double)                                                                              \
    X(COMPLEX64, "complex64", 8, 'c', float)                                                                           \
    X(COMPLEX128, "complex128", 16, 'c', double)

typedef enum ferry_dtype {
#define FERRY_DTYPE_ENUM(constant, name, bytes, kind, type) FERRY_##constant,
    FERRY_DTYPE_LIST(FERRY_DTYPE_ENUM)
#undef FERRY_DTYPE_ENUM
        FERRY_DTYPE_COUNT
} ferry_dtype;

/* 0 for a value that is no dtype. */
FERRY_API size_t ferry_dtype_size(ferry_dtype dtype);
/* 'b', 'i', 'u', 'f', 'c'; 0 for a value that is no dtype. */
FERRY_API char ferry_dtype_kind(ferry_dtype dtype);
/* "float64"; "?" for a value that is no dtype. */
FERRY_API const char *ferry_dtype_name(ferry_dtype dtype);
/* By NumPy's name ("float64"); FERRY_NOT_FOUND. */
FERRY_API ferry_status ferry_dtype_find(const char *name, ferry_dtype *out);

/* NumPy's casting rules, each including the ones before it (numpy.can_cast). */
typedef enum ferry_casting { FERRY_CAST_NO, FERRY_CAST_SAFE, FERRY_CAST_SAME_KIND, FERRY_CAST_UNSAFE } ferry_casting;

FERRY_API bool ferry_dtype_can_cast(ferry_dtype from, ferry_dtype to, ferry_casting rule);

/* numpy.promote_types: the smallest dtype to which both cast safely. Total on valid dtypes. */
FERRY_API ferry_dtype ferry_dtype_promote(ferry_dtype a, ferry_dtype b);

/*
 * Converts n elements at strides in bytes (may be negative or 0, any alignment), as NumPy's astype does on
 * x86-64 for in-range values; NaN and out-of-range floats to integers have one answer, docs/casting.md.
 * src and dst do not overlap, or are the same addresses with the same strides and element size.
 */
typedef void (*ferry_cast_function)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);

/* Never NULL for valid dtypes; from == to gives a copy. */
FERRY_API ferry_cast_function ferry_dtype_cast(ferry_dtype from, ferry_dtype to);

/* IEEE 754 binary16, round to nearest even, NaN payloads kept where they fit. */
FERRY_API float ferry_float16_to_float32(uint16_t bits);
FERRY_API uint16_t ferry_float32_to_float16(float value);
FERRY_API uint16_t ferry_float64_to_float16(double value);

#ifdef __cplusplus
}
#endif
#endif
