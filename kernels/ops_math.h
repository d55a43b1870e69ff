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

/* A result some ulp off must not leave the function's range: programs take its arcsine or square root next. */
#define FERRY_CALL_WITHIN(T, s, name, function, low, high)                                                             \
    FERRY_MATH T name##_##s(T a) {                                                                                     \
        const T r = function(a);                                                                                       \
        return r < (T)(low) ? (T)(low) : r > (T)(high) ? (T)(high) : r;                                                \
    }
#define FERRY_CALL_AT_LEAST(T, s, name, function, low)                                                                 \
    FERRY_MATH T name##_##s(T a) {                                                                                     \
        const T r = function(a);                                                                                       \
        return r < (T)(low) ? (T)(low) : r;                                                                            \
    }
#define FERRY_PI 3.141592653589793238462643383279502884

/*
 * exact_product and exact_power are 0 where the product, or one on the way to the power, rounds or is below `least`,
 * where what rounding drops may be too small to see. Powers that have an exact value thus are it, as programs expect of
 * 10**3, where CUDA's pow is only near. The power 2 is NumPy's for a scalar exponent.
 *
 * floor_divide and remainder are one division: the remainder has b's sign (fmod has a's), and the quotient is the
 * integer nearest to (a - remainder) / b, which is one up to rounding.
 */
#define FERRY_FLOAT_MATH(T, s, f, least)                                                                               \
    FERRY_CALL_1(T, s, sqrt, sqrt##f)                                                                                  \
    FERRY_CALL_1(T, s, exp, exp##f)                                                                                    \
    FERRY_CALL_AT_LEAST(T, s, expm1, expm1##f, -1)                                                                     \
    FERRY_CALL_1(T, s, log, log##f)                                                                                    \
    FERRY_CALL_1(T, s, log1p, log1p##f)                                                                                \
    FERRY_CALL_WITHIN(T, s, sin, sin##f, -1, 1)                                                                        \
    FERRY_CALL_WITHIN(T, s, cos, cos##f, -1, 1)                                                                        \
    FERRY_CALL_1(T, s, tan, tan##f)                                                                                    \
    FERRY_CALL_WITHIN(T, s, asin, asin##f, -FERRY_PI / 2, FERRY_PI / 2)                                                \
    FERRY_CALL_WITHIN(T, s, acos, acos##f, 0, FERRY_PI)                                                                \
    FERRY_CALL_WITHIN(T, s, atan, atan##f, -FERRY_PI / 2, FERRY_PI / 2)                                                \
    FERRY_CALL_1(T, s, sinh, sinh##f)                                                                                  \
    FERRY_CALL_AT_LEAST(T, s, cosh, cosh##f, 1)                                                                        \
    FERRY_CALL_WITHIN(T, s, tanh, tanh##f, -1, 1)                                                                      \
    FERRY_CALL_1(T, s, floor, floor##f)                                                                                \
    FERRY_CALL_1(T, s, ceil, ceil##f)                                                                                  \
    FERRY_CALL_1(T, s, trunc, trunc##f)                                                                                \
    FERRY_CALL_1(T, s, rint, rint##f)                                                                                  \
    FERRY_CALL_2(T, s, fmod, fmod##f)                                                                                  \
    FERRY_MATH T atan2_##s(T a, T b) {                                                                                 \
        const T r = atan2##f(a, b);                                                                                    \
        return fabs##f(r) > (T)FERRY_PI ? copysign##f((T)FERRY_PI, r) : r;                                             \
    }                                                                                                                  \
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
    FERRY_MATH T exact_product_##s(T a, T b) {                                                                         \
        const T product = a * b;                                                                                       \
        return fma##f(a, b, -product) == 0 && fabs##f(product) > (least) ? product : 0;                                \
    }                                                                                                                  \
    FERRY_MATH T exact_power_##s(T a, unsigned n) {                                                                    \
        T power = n & 1 ? a : 1;                                                                                       \
        while ((n >>= 1) != 0 && a != 0) {                                                                             \
            a = exact_product_##s(a, a);                                                                               \
            power = n & 1 ? exact_product_##s(power, a) : power;                                                       \
        }                                                                                                              \
        return a != 0 ? power : 0;                                                                                     \
    }                                                                                                                  \
    FERRY_MATH T power_##s(T a, T b) {                                                                                 \
        const T n = fabs##f(b);                                                                                        \
        if (a == 1 || b == 0) /* glibc makes an exception of signalling NaNs */                                        \
            return 1;                                                                                                  \
        if (b == 2)                                                                                                    \
            return a * a;                                                                                              \
        if (b == (T)0.5) /* of -0 and -infinity a power is positive */                                                 \
            return sqrt##f(isinf_##s(a) ? fabs##f(a) : a + 0);                                                         \
        const T exact = n <= 1024 && n == floor##f(n) ? exact_power_##s(a, (unsigned)n) : 0;                           \
        if (exact != 0)                                                                                                \
            return b < 0 ? 1 / exact : exact;                                                                          \
        return pow##f(a, b);                                                                                           \
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

FERRY_FLOAT_MATH(float, f32, f, 1e-30f)
FERRY_FLOAT_MATH(double, f64, , 1e-290)

/*
 * absolute and negative change the sign and nothing else, of NaNs too. What glibc has exact is exact on the device too,
 * where CUDA promises some ulp: exp2 of integers, log2 of powers of 2, log10 of 10^n to the n = `tens` that the type
 * holds and of the numbers nearest to 10^-n.
 */
#ifdef __CUDACC__
#define FERRY_FLOAT_SPECIAL(T, s, f, tens, epsilon)                                                                    \
    FERRY_MATH T absolute_##s(T a) {                                                                                   \
        return without_sign(a);                                                                                        \
    }                                                                                                                  \
    FERRY_MATH T negative_##s(T a) {                                                                                   \
        return with_other_sign(a);                                                                                     \
    }                                                                                                                  \
    FERRY_MATH T exp2_##s(T a) {                                                                                       \
        return a == floor##f(a) && fabs##f(a) < 2000 ? ldexp##f((T)1, (int)a) : exp2##f(a);                            \
    }                                                                                                                  \
    FERRY_MATH T log2_##s(T a) {                                                                                       \
        int exponent;                                                                                                  \
        return frexp##f(a, &exponent) == (T)0.5 ? (T)(exponent - 1) : log2##f(a);                                      \
    }                                                                                                                  \
    FERRY_MATH T log10_##s(T a) {                                                                                      \
        const T r = log10##f(a), n = rint##f(r), size = fabs##f(n);                                                    \
        if (n != 0 && size <= (tens) && fabs##f(r - n) <= 4 * (epsilon)*size) {                                        \
            const T power = exact_power_##s(10, (unsigned)size);                                                       \
            const T excess = n < 0 ? fma##f(a, power, (T)-1) : (a - power) / power;                                    \
            return n + excess * (T)0.434294481903251827651128918916605082;                                             \
        }                                                                                                              \
        return r;                                                                                                      \
    }
FERRY_FLOAT_SPECIAL(float, f32, f, 10, 1.1920928955078125e-7f)
FERRY_FLOAT_SPECIAL(double, f64, , 22, 2.220446049250313e-16)
#else
#define FERRY_FLOAT_SPECIAL(T, s, f)                                                                                   \
    FERRY_CALL_1(T, s, absolute, fabs##f)                                                                              \
    FERRY_CALL_1(T, s, negative, -)                                                                                    \
    FERRY_CALL_1(T, s, exp2, exp2##f)                                                                                  \
    FERRY_CALL_1(T, s, log2, log2##f)                                                                                  \
    FERRY_CALL_1(T, s, log10, log10##f)
FERRY_FLOAT_SPECIAL(float, f32, f)
FERRY_FLOAT_SPECIAL(double, f64, )
#endif

FERRY_MATH float hypot_f32(float a, float b) {
    if (!isfinite_f32(a) || !isfinite_f32(b))
        return hypotf(a, b);
    return (float)sqrt((double)a * a + (double)b * b);
}

/*
 * At a scale where squares neither overflow nor vanish, the square root h with one step of Newton's method on
 * h^2 - x^2 - y^2, as differences that round little (Borges, An Improved Algorithm for hypot(a, b), 2019). CUDA's own
 * is infinite for (1, the largest number).
 */
FERRY_MATH double hypot_f64(double a, double b) {
    double x = fmax(fabs(a), fabs(b)), y = fmin(fabs(a), fabs(b));
    if (x == 0 || !isfinite_f64(a) || !isfinite_f64(b))
        return hypot(a, b);
    const double scale = x > 0x1p500 ? 0x1p-600 : x < 0x1p-450 ? 0x1p700 : 1;
    x *= scale;
    y *= scale;
    const double h = sqrt(x * x + y * y), over_x = h - x, over_y = h - y;
    const double excess = h > 2 * y ? 2 * over_x * (x - 2 * y) + ((4 * over_x - y) * y + over_x * over_x)
                                    : x * (2 * over_y - x) + (over_y - 2 * (x - y)) * over_y;
    return (h - excess / (2 * h)) / scale;
}

/*
 * One step of Newton's method on the library's, glibc's float64 of which is up to 4 ulp off: exact for cubes of
 * integers. At a scale where the cubes neither overflow nor lose bits.
 */
#define FERRY_CBRT(T, s, f, tiny, huge, scale, root)                                                                   \
    FERRY_MATH T cbrt_##s(T a) {                                                                                       \
        if (a == 0 || !isfinite_##s(a))                                                                                \
            return a + a;                                                                                              \
        const T up = fabs##f(a) < (tiny) ? (scale) : fabs##f(a) > (huge) ? 1 / (scale) : 1;                            \
        const T x = a * up, y = cbrt##f(x);                                                                            \
        return (y - (y * y * y - x) / (3 * y * y)) * (up > 1 ? 1 / (root) : up < 1 ? (root) : 1);                      \
    }
FERRY_CBRT(float, f32, f, 1e-25f, 1e25f, 0x1p60f, 0x1p20f)
FERRY_CBRT(double, f64, , 1e-200, 1e200, 0x1p300, 0x1p100)

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

#endif
