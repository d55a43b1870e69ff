/*
 * All casts between all dtypes. A cast loads an element as a value of its class (integer, real, complex), converts it,
 * and stores the result; the loops of the 14 x 14 pairs come from two lists. What converts to what: docs/casting.md.
 */
#include <string.h>

#include "ferry/dtype.h"

typedef struct complex_float32 {
    float real, imag;
} complex_float32;

typedef struct complex_float64 {
    double real, imag;
} complex_float64;

/*
 * Floating values to integers, as x86-64 converts: towards zero, and the least integer for NaN and what does not fit.
 * In C the plain cast would be undefined there.
 */
static inline int32_t real_to_int32(double x) {
    return x >= -0x1p31 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}

static inline int64_t real_to_int64(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t real_to_uint64(double x) {
    uint64_t top = UINT64_C(1) << 63;
    return x >= 0x1p63 ? (uint64_t)real_to_int64(x - 0x1p63) ^ top : (uint64_t)real_to_int64(x);
}

/* Of each dtype: the class of its values, its element in memory, and the value of an element `e`. */
#define CLASS_BOOL INTEGER
#define CLASS_INT8 INTEGER
#define CLASS_UINT8 INTEGER
#define CLASS_INT16 INTEGER
#define CLASS_UINT16 INTEGER
#define CLASS_INT32 INTEGER
#define CLASS_UINT32 INTEGER
#define CLASS_INT64 INTEGER
#define CLASS_UINT64 INTEGER
#define CLASS_FLOAT16 REAL
#define CLASS_FLOAT32 REAL
#define CLASS_FLOAT64 REAL
#define CLASS_COMPLEX64 COMPLEX
#define CLASS_COMPLEX128 COMPLEX

typedef uint8_t element_BOOL;
typedef int8_t element_INT8;
typedef uint8_t element_UINT8;
typedef int16_t element_INT16;
typedef uint16_t element_UINT16;
typedef int32_t element_INT32;
typedef uint32_t element_UINT32;
typedef int64_t element_INT64;
typedef uint64_t element_UINT64;
typedef uint16_t element_FLOAT16;
typedef float element_FLOAT32;
typedef double element_FLOAT64;
typedef complex_float32 element_COMPLEX64;
typedef complex_float64 element_COMPLEX128;

#define VALUE_BOOL(e) (uint8_t)((e) != 0)
#define VALUE_INT8(e) (e)
#define VALUE_UINT8(e) (e)
#define VALUE_INT16(e) (e)
#define VALUE_UINT16(e) (e)
#define VALUE_INT32(e) (e)
#define VALUE_UINT32(e) (e)
#define VALUE_INT64(e) (e)
#define VALUE_UINT64(e) (e)
#define VALUE_FLOAT16(e) ferry_float16_to_float32(e)
#define VALUE_FLOAT32(e) (e)
#define VALUE_FLOAT64(e) (e)
#define VALUE_COMPLEX64(e) (e)
#define VALUE_COMPLEX128(e) (e)

/* Each class to each dtype's element. */
#define INTEGER_TO_BOOL(v) (uint8_t)((v) != 0)
#define INTEGER_TO_INT8(v) ((int8_t)(v))
#define INTEGER_TO_UINT8(v) ((uint8_t)(v))
#define INTEGER_TO_INT16(v) ((int16_t)(v))
#define INTEGER_TO_UINT16(v) ((uint16_t)(v))
#define INTEGER_TO_INT32(v) ((int32_t)(v))
#define INTEGER_TO_UINT32(v) ((uint32_t)(v))
#define INTEGER_TO_INT64(v) ((int64_t)(v))
#define INTEGER_TO_UINT64(v) ((uint64_t)(v))
#define INTEGER_TO_FLOAT16(v) ferry_float32_to_float16((float)(v))
#define INTEGER_TO_FLOAT32(v) ((float)(v))
#define INTEGER_TO_FLOAT64(v) ((double)(v))
#define INTEGER_TO_COMPLEX64(v) ((complex_float32){(float)(v), 0})
#define INTEGER_TO_COMPLEX128(v) ((complex_float64){(double)(v), 0})

#define REAL_TO_BOOL(v) (uint8_t)((v) != 0)
#define REAL_TO_INT8(v) ((int8_t)real_to_int32((double)(v)))
#define REAL_TO_UINT8(v) ((uint8_t)real_to_int32((double)(v)))
#define REAL_TO_INT16(v) ((int16_t)real_to_int32((double)(v)))
#define REAL_TO_UINT16(v) ((uint16_t)real_to_int32((double)(v)))
#define REAL_TO_INT32(v) real_to_int32((double)(v))
#define REAL_TO_UINT32(v) ((uint32_t)real_to_int64((double)(v)))
#define REAL_TO_INT64(v) real_to_int64((double)(v))
#define REAL_TO_UINT64(v) real_to_uint64((double)(v))
#define REAL_TO_FLOAT16(v) ferry_float64_to_float16((double)(v))
#define REAL_TO_FLOAT32(v) ((float)(v))
#define REAL_TO_FLOAT64(v) ((double)(v))
#define REAL_TO_COMPLEX64(v) ((complex_float32){(float)(v), 0})
#define REAL_TO_COMPLEX128(v) ((complex_float64){(double)(v), 0})

#define COMPLEX_TO_BOOL(v) (uint8_t)((v).real != 0 || (v).imag != 0)
#define COMPLEX_TO_INT8(v) REAL_TO_INT8((v).real)
#define COMPLEX_TO_UINT8(v) REAL_TO_UINT8((v).real)
#define COMPLEX_TO_INT16(v) REAL_TO_INT16((v).real)
#define COMPLEX_TO_UINT16(v) REAL_TO_UINT16((v).real)
#define COMPLEX_TO_INT32(v) REAL_TO_INT32((v).real)
#define COMPLEX_TO_UINT32(v) REAL_TO_UINT32((v).real)
#define COMPLEX_TO_INT64(v) REAL_TO_INT64((v).real)
#define COMPLEX_TO_UINT64(v) REAL_TO_UINT64((v).real)
#define COMPLEX_TO_FLOAT16(v) REAL_TO_FLOAT16((v).real)
#define COMPLEX_TO_FLOAT32(v) REAL_TO_FLOAT32((v).real)
#define COMPLEX_TO_FLOAT64(v) REAL_TO_FLOAT64((v).real)
#define COMPLEX_TO_COMPLEX64(v) ((complex_float32){(float)(v).real, (float)(v).imag})
#define COMPLEX_TO_COMPLEX128(v) ((complex_float64){(double)(v).real, (double)(v).imag})

#define PASTE(class, to, v) class##_TO_##to(v)
#define CONVERT(class, to, v) PASTE(class, to, v)

/* Any alignment: elements are copied in and out. */
#define LOOP(from, to, dst_step, src_step)                                                                             \
    for (int64_t i = 0; i < n; ++i) {                                                                                  \
        element_##from element;                                                                                        \
        memcpy(&element, src + i * (src_step), sizeof element);                                                        \
        element_##to result = CONVERT(CLASS_##from, to, VALUE_##from(element));                                        \
        memcpy(dst + i * (dst_step), &result, sizeof result);                                                          \
    }

/* The contiguous case apart, with steps that the compiler knows. Elements go in order, which overlapping assignment
 * needs. */
#define CAST(from, to)                                                                                                 \
    static void cast_##from##_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {    \
        const int64_t from_bytes = sizeof(element_##from), to_bytes = sizeof(element_##to);                            \
        if (dst_stride == to_bytes && src_stride == from_bytes) {                                                      \
            LOOP(from, to, to_bytes, from_bytes)                                                                       \
        } else {                                                                                                       \
            LOOP(from, to, dst_stride, src_stride)                                                                     \
        }                                                                                                              \
    }

/* X(from, to) for each `to`. FERRY_DTYPE_LIST cannot be expanded inside itself. */
#define TARGETS(X, from)                                                                                               \
    X(from, BOOL)                                                                                                      \
    X(from, INT8)                                                                                                      \
    X(from, UINT8)                                                                                                     \
    X(from, INT16)                                                                                                     \
    X(from, UINT16)                                                                                                    \
    X(from, INT32)                                                                                                     \
    X(from, UINT32)                                                                                                    \
    X(from, INT64)                                                                                                     \
    X(from, UINT64)                                                                                                    \
    X(from, FLOAT16)                                                                                                   \
    X(from, FLOAT32)                                                                                                   \
    X(from, FLOAT64)                                                                                                   \
    X(from, COMPLEX64)                                                                                                 \
    X(from, COMPLEX128)

#define CASTS_FROM(constant, name, bytes, kind, type) TARGETS(CAST, constant)
FERRY_DTYPE_LIST(CASTS_FROM)

#define ENTRY(from, to) [FERRY_##to] = cast_##from##_##to,
#define ROW(constant, name, bytes, kind, type) [FERRY_##constant] = {TARGETS(ENTRY, constant)},
static const ferry_cast_function casts[FERRY_DTYPE_COUNT][FERRY_DTYPE_COUNT] = {FERRY_DTYPE_LIST(ROW)};

/*
 * The bits as they are: bools that are neither 0 nor 1 and NaN payloads survive. Rows without gaps are moved as a
 * whole, backwards ones too.
 */
#define COPY(bytes)                                                                                                    \
    static void copy_##bytes(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {          \
        if (n > 0 && dst_stride == src_stride && (dst_stride == (bytes) || dst_stride == -(bytes))) {                  \
            int64_t first = dst_stride < 0 ? (n - 1) * dst_stride : 0;                                                 \
            memmove(dst + first, src + first, (size_t)(n * (bytes)));                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; ++i) {                                                                              \
            memmove(dst + i * dst_stride, src + i * src_stride, (bytes));                                              \
        }                                                                                                              \
    }
COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)

static ferry_cast_function copy_of(size_t bytes) {
    switch (bytes) {
    case 1:
        return copy_1;
    case 2:
        return copy_2;
    case 4:
        return copy_4;
    case 8:
        return copy_8;
    default:
        return copy_16;
    }
}

ferry_cast_function ferry_dtype_cast(ferry_dtype from, ferry_dtype to) {
    if ((unsigned)from >= FERRY_DTYPE_COUNT || (unsigned)to >= FERRY_DTYPE_COUNT) {
        return NULL;
    }
    return from == to ? copy_of(ferry_dtype_size(from)) : casts[from][to];
}
