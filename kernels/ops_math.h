/*
 * The functions that the expressions of ferry/ops.def call, one per type: TYPED(f) there is f_i8 ... f_u64, f_f32,
 * f_f64 here. Compiled into the host loops and, as text, into every generated CUDA kernel: C and CUDA C++ at once, no
 * headers on the device, where the FERRY_FP_ values are defined beforehand. NumPy's answers, and one answer on both
 * where NumPy has none. No undefined behaviour: integers wrap in the unsigned type W.
 */
#ifndef FERRY_KERNELS_OPS_MATH_H
#define FERRY_KERNELS_OPS_MATH_H

#ifdef __CUDACC__
#define FERRY_MATH static __device__ __forceinline__
#else
#include <math.h>
#include <stdint.h>

#include "ferry/apply.h"
#define FERRY_MATH static inline __attribute__((unused))
#endif

/*
 * Division by zero gives 0 and the smallest integer by -1 wraps. A shift by a negative amount or by the width or more
 * shifts everything out. `zero` is 1/0 as x86-64 converts infinity to the type.
 */
#define FERRY_INTEGER_MATH(T, U, W, s, zero)                                                                           \
    FERRY_MATH T wrapping_power_##s(T a, U exponent) {                                                                 \
        W base = (W)a, product = 1;                                                                                    \
        for (; exponent; exponent = (U)(exponent >> 1)) {                                                              \
            product *= exponent & 1 ? base : 1;                                                                        \
            base *= base;                                                                                              \
        }                                                                                                              \
        return (T)product;                                                                                             \
    }                                                                                                                  \
    FERRY_MATH T left_shift_##s(T a, T b) {                                                                            \
        return (U)b < 8 * sizeof(T) ? (T)((W)a << b) : (T)0;                                                           \
    }

#define FERRY_SIGNED_MATH(T, U, W, s, zero)                                                                            \
    FERRY_INTEGER_MATH(T, U, W, s, zero)                                                                               \
    FERRY_MATH T absolute_##s(T a) {                                                                                   \
        return (T)(a < 0 ? 0 - (W)a : (W)a);                                                                           \
    }                                                                                                                  \
    FERRY_MATH T sign_##s(T a) {                                                                                       \
        return (T)((a > 0) - (a < 0));                                                                                 \
    }                                                                                                                  \
    FERRY_MATH T reciprocal_##s(T a) {                                                                                 \
        return a == 0 ? (T)(zero) : (T)((a == 1) - (a == -1));                                                         \
    }                                                                                                                  \
    FERRY_MATH T floor_divide_##s(T a, T b) {                                                                          \
        if (b == 0 || b == -1)                                                                                         \
            return b == 0 ? (T)0 : (T)(0 - (W)a);                                                                      \
        return (T)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));                                                     \
    }                                                                                                                  \
    FERRY_MATH unsigned floor_divide_raises_##s(T a, T b) {                                                            \
        if (b == 0)                                                                                                    \
            return FERRY_FP_DIVIDE;                                                                                    \
        return b == -1 && a < 0 && (T)(0 - (W)a) < 0 ? FERRY_FP_OVERFLOW : 0;                                          \
    }                                                                                                                  \
    FERRY_MATH T fmod_##s(T a, T b) {                                                                                  \
        return b == 0 || b == -1 ? (T)0 : (T)(a % b);                                                                  \
    }                                                                                                                  \
    FERRY_MATH T remainder_##s(T a, T b) {                                                                             \
        T r = fmod_##s(a, b);                                                                                          \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                                          \
    }                                                                                                                  \
    FERRY_MATH T power_##s(T a, T b) {                                                                                 \
        if (b < 0) /* NumPy raises: the integer part of the true power, 0 for a power of 0 */                          \
            return a == 1 || a == -1 ? (b & 1 ? a : (T)1) : (T)0;                                                      \
        return wrapping_power_##s(a, (U)b);                                                                            \
    }                                                                                                                  \
    FERRY_MATH T right_shift_##s(T a, T b) {                                                                           \
        return (U)b < 8 * sizeof(T) ? (T)(a >> b) : (T)(a < 0 ? -1 : 0);                                               \
    }

#define FERRY_UNSIGNED_MATH(T, W, s)                                                                                   \
    FERRY_INTEGER_MATH(T, T, W, s, 0)                                                                                  \
    FERRY_MATH T absolute_##s(T a) {                                                                                   \
        return a;                                                                                                      \
    }                                                                                                                  \
    FERRY_MATH T sign_##s(T a) {                                                                                       \
        return a != 0;                                                                                                 \
    }                                                                                                                  \
    FERRY_MATH T reciprocal_##s(T a) {                                                                                 \
        return a == 1;                                                                                                 \
    }                                                                                                                  \
    FERRY_MATH T floor_divide_##s(T a, T b) {                                                                          \
        return b == 0 ? (T)0 : (T)(a / b);                                                                             \
    }                                                                                                                  \
    FERRY_MATH unsigned floor_divide_raises_##s(T a, T b) {                                                            \
        return (void)a, b == 0 ? FERRY_FP_DIVIDE : 0;                                                                  \
    }                                                                                                                  \
    FERRY_MATH T fmod_##s(T a, T b) {                                                                                  \
        return b == 0 ? (T)0 : (T)(a % b);                                                                             \
    }                                                                                                                  \
    FERRY_MATH T remainder_##s(T a, T b) {                                                                             \
        return fmod_##s(a, b);                                                                                         \
    }                                                                                                                  \
    FERRY_MATH T power_##s(T a, T b) {                                                                                 \
        return wrapping_power_##s(a, b);                                                                               \
    }                                                                                                                  \
    FERRY_MATH T right_shift_##s(T a, T b) {                                                                           \
        return b < 8 * sizeof(T) ? (T)(a >> b) : (T)0;                                                                 \
    }

FERRY_SIGNED_MATH(int8_t, uint8_t, uint32_t, i8, 0)
FERRY_SIGNED_MATH(int16_t, uint16_t, uint32_t, i16, 0)
FERRY_SIGNED_MATH(int32_t, uint32_t, uint32_t, i32, -2147483647 - 1)
FERRY_SIGNED_MATH(int64_t, uint64_t, uint64_t, i64, -9223372036854775807 - 1)
FERRY_UNSIGNED_MATH(uint8_t, uint32_t, u8)
FERRY_UNSIGNED_MATH(uint16_t, uint32_t, u16)
FERRY_UNSIGNED_MATH(uint32_t, uint32_t, u32)
FERRY_UNSIGNED_MATH(uint64_t, uint64_t, u64)

/* Below, equal or above, of the true values. */
FERRY_MATH int compare_i64u64(int64_t a, uint64_t b) {
    return a < 0 ? -1 : ((uint64_t)a > b) - ((uint64_t)a < b);
}
FERRY_MATH int compare_u64i64(uint64_t a, int64_t b) {
    return -compare_i64u64(b, a);
}

#define FERRY_CALL_1(T, s, name, function)                                                                             \
    FERRY_MATH T name##_##s(T a) {                                                                                     \
        return function(a);                                                                                            \
    }
#define FERRY_CALL_2(T, s, name, function)                                                                             \
    FERRY_MATH T name##_##s(T a, T b) {                                                                                \
        return function(a, b);                                                                                         \
    }

/*
 * floor_divide and remainder are one division: the remainder has b's sign (fmod has a's), and the quotient is the
 * integer nearest to (a - remainder) / b, which is one up to rounding.
 */
#define FERRY_FLOAT_MATH(T, s, f)                                                                                      \
    FERRY_CALL_1(T, s, absolute, fabs##f)                                                                              \
    FERRY_CALL_1(T, s, sqrt, sqrt##f)                                                                                  \
    FERRY_CALL_1(T, s, exp, exp##f)                                                                                    \
    FERRY_CALL_1(T, s, exp2, exp2##f)                                                                                  \
    FERRY_CALL_1(T, s, expm1, expm1##f)                                                                                \
    FERRY_CALL_1(T, s, log, log##f)                                                                                    \
    FERRY_CALL_1(T, s, log2, log2##f)                                                                                  \
    FERRY_CALL_1(T, s, log10, log10##f)                                                                                \
    FERRY_CALL_1(T, s, log1p, log1p##f)                                                                                \
    FERRY_CALL_1(T, s, sin, sin##f)                                                                                    \
    FERRY_CALL_1(T, s, cos, cos##f)                                                                                    \
    FERRY_CALL_1(T, s, tan, tan##f)                                                                                    \
    FERRY_CALL_1(T, s, asin, asin##f)                                                                                  \
    FERRY_CALL_1(T, s, acos, acos##f)                                                                                  \
    FERRY_CALL_1(T, s, atan, atan##f)                                                                                  \
    FERRY_CALL_1(T, s, sinh, sinh##f)                                                                                  \
    FERRY_CALL_1(T, s, cosh, cosh##f)                                                                                  \
    FERRY_CALL_1(T, s, tanh, tanh##f)                                                                                  \
    FERRY_CALL_1(T, s, floor, floor##f)                                                                                \
    FERRY_CALL_1(T, s, ceil, ceil##f)                                                                                  \
    FERRY_CALL_1(T, s, trunc, trunc##f)                                                                                \
    FERRY_CALL_1(T, s, rint, rint##f)                                                                                  \
    FERRY_CALL_2(T, s, fmod, fmod##f)                                                                                  \
    FERRY_CALL_2(T, s, atan2, atan2##f)                                                                                \
    FERRY_CALL_2(T, s, hypot, hypot##f)                                                                                \
    FERRY_CALL_2(T, s, copysign, copysign##f)                                                                          \
    FERRY_MATH int isinf_##s(T a) {                                                                                    \
        return isinf(a) != 0;                                                                                          \
    }                                                                                                                  \
    FERRY_MATH int isfinite_##s(T a) {                                                                                 \
        return isfinite(a) != 0;                                                                                       \
    }                                                                                                                  \
    FERRY_MATH int signbit_##s(T a) { /* not signbit(), on whose vectorised form gcc 12 fails */                       \
        return copysign##f((T)1, a) < 0;                                                                               \
    }                                                                                                                  \
    FERRY_MATH T power_##s(T a, T b) { /* glibc makes an exception of signalling NaNs */                               \
        return a == 1 || b == 0 ? (T)1 : pow##f(a, b);                                                                 \
    }                                                                                                                  \
    FERRY_MATH T sign_##s(T a) {                                                                                       \
        return a != a ? a : (T)((a > 0) - (a < 0));                                                                    \
    }                                                                                                                  \
    FERRY_MATH T remainder_##s(T a, T b) {                                                                             \
        T r = fmod##f(a, b);                                                                                           \
        if (b == 0)                                                                                                    \
            return r;                                                                                                  \
        if (r == 0)                                                                                                    \
            return copysign##f((T)0, b);                                                                               \
        return (r < 0) != (b < 0) ? r + b : r;                                                                         \
    }                                                                                                                  \
    FERRY_MATH T floor_divide_##s(T a, T b) {                                                                          \
        T r = fmod##f(a, b), quotient = (a - r) / b;                                                                   \
        if (b == 0)                                                                                                    \
            return a / b;                                                                                              \
        if (r != 0 && (r < 0) != (b < 0))                                                                              \
            quotient -= 1;                                                                                             \
        if (quotient == 0)                                                                                             \
            return copysign##f((T)0, a / b);                                                                           \
        T whole = floor##f(quotient);                                                                                  \
        return quotient - whole > (T)0.5 ? whole + 1 : whole;                                                          \
    }                                                                                                                  \
    FERRY_MATH T logaddexp_##s(T a, T b) {                                                                             \
        T high = a > b ? a : b, difference = a - b;                                                                    \
        if (a == b) /* infinities too */                                                                               \
            return a + (T)0.693147180559945309417232121458176568;                                                      \
        return difference != difference ? difference : high + log1p##f(exp##f(-fabs##f(difference)));                  \
    }                                                                                                                  \
    FERRY_MATH T logaddexp2_##s(T a, T b) {                                                                            \
        T high = a > b ? a : b, difference = a - b;                                                                    \
        if (a == b)                                                                                                    \
            return a + 1;                                                                                              \
        if (difference != difference)                                                                                  \
            return difference;                                                                                         \
        return high + (T)1.442695040888963407359924681001892137 * log1p##f(exp2##f(-fabs##f(difference)));             \
    }

FERRY_FLOAT_MATH(float, f32, f)
FERRY_FLOAT_MATH(double, f64, )

/*
 * Floating-point exceptions, by value. product_rounds and quotient_rounds say whether r, below the smallest normal
 * number, is not the exact a * b or a / b: at 2^64 times the size every bit that was lost shows, and nothing overflows,
 * since the factor of a tiny product is small. narrowed is of a value that was rounded to the element of a type whose
 * smallest normal number is `smallest`.
 */
#define FERRY_FLOAT_EXCEPTIONS(T, s, f, smallest_normal)                                                               \
    FERRY_MATH int product_rounds_##s(T a, T b, T r) {                                                                 \
        const T scale = (T)18446744073709551616.0;                                                                     \
        return a != 0 && b != 0 && (r == 0 || a * scale * b != r * scale);                                             \
    }                                                                                                                  \
    FERRY_MATH int quotient_rounds_##s(T a, T b, T r) {                                                                \
        const T scale = (T)18446744073709551616.0;                                                                     \
        return a != 0 && fma##f(r * scale, b, -(a * scale)) != 0;                                                      \
    }                                                                                                                  \
    FERRY_MATH unsigned raised_##s(T a, T b, T r, int pole, int rounds) {                                              \
        if (r != r)                                                                                                    \
            return a == a && b == b ? FERRY_FP_INVALID : 0;                                                            \
        if (!isfinite_##s(a) || !isfinite_##s(b))                                                                      \
            return 0;                                                                                                  \
        if (isinf_##s(r))                                                                                              \
            return pole ? FERRY_FP_DIVIDE : FERRY_FP_OVERFLOW;                                                         \
        return fabs##f(r) < smallest_normal && rounds ? FERRY_FP_UNDERFLOW : 0;                                        \
    }                                                                                                                  \
    FERRY_MATH unsigned narrowed_##s(T value, T element, T smallest) {                                                 \
        if (!isfinite_##s(value) || element == value)                                                                  \
            return 0;                                                                                                  \
        return isinf_##s(element) ? FERRY_FP_OVERFLOW : fabs##f(element) < smallest ? FERRY_FP_UNDERFLOW : 0;          \
    }

#define FERRY_SMALLEST_F16 6.103515625e-05f
#define FERRY_SMALLEST_F32 1.1754943508222875e-38f
#define FERRY_SMALLEST_F64 2.2250738585072014e-308
FERRY_FLOAT_EXCEPTIONS(float, f32, f, FERRY_SMALLEST_F32)
FERRY_FLOAT_EXCEPTIONS(double, f64, , FERRY_SMALLEST_F64)
FERRY_CALL_1(float, f32, cbrt, cbrtf)

#ifdef __CUDACC__
FERRY_CALL_1(double, f64, cbrt, cbrt)
#else
/* glibc's is up to 4 ulp off: one step of Newton's method, at a scale where the cubes neither overflow nor lose bits.
 */
FERRY_MATH double cbrt_f64(double a) {
    if (a == 0 || isfinite(a) == 0)
        return a + a;
    double scale = fabs(a) < 1e-200 ? 0x1p-300 : fabs(a) > 1e200 ? 0x1p300 : 1;
    double x = a / scale, y = cbrt(x);
    y -= (y * y * y - x) / (3 * y * y);
    return y * (scale < 1 ? 0x1p-100 : scale > 1 ? 0x1p100 : 1);
}
#endif

#endif
