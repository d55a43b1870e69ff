#include <string.h>

#include "ferry/dtype.h"

/* binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. Subnormals are multiples of 2^-24. */

float ferry_float16_to_float32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000U) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fU;
    uint32_t fraction = bits & 0x3ffU;
    uint32_t word;
    float value;
    if (exponent == 0) {
        value = (float)fraction * 0x1p-24F;
        memcpy(&word, &value, sizeof word);
    } else if (exponent == 0x1f) {
        word = 0x7f800000U | fraction << 13;
    } else {
        word = (exponent + 127 - 15) << 23 | fraction << 13;
    }
    word |= sign;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* significand / 2^shift, to nearest, ties to even; shift is 1 to 63. */
static uint64_t shift_to_nearest_even(uint64_t significand, unsigned shift) {
    uint64_t half = UINT64_C(1) << (shift - 1);
    uint64_t odd = (significand >> shift) & 1;
    return (significand + half - 1 + odd) >> shift;
}

/* The fraction of a NaN: the leading bits of its payload, which must not become an infinity's. */
static uint16_t nan_fraction(uint64_t fraction) {
    uint16_t kept = (uint16_t)(fraction >> 42);
    return kept != 0 ? kept : 1;
}

uint16_t ferry_float64_to_float16(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    uint16_t sign = (uint16_t)(word >> 48 & 0x8000U);
    int exponent = (int)(word >> 52 & 0x7ffU) - 1023;
    uint64_t fraction = word & ((UINT64_C(1) << 52) - 1);
    if (exponent == 1024) {
        return (uint16_t)(sign | 0x7c00U | (fraction != 0 ? nan_fraction(fraction) : 0));
    }
    if (exponent > 15) {
        return sign | 0x7c00U;
    }
    if (exponent < -25) {
        return sign;
    }
    if (exponent < -14) {
        uint64_t significand = fraction | UINT64_C(1) << 52;
        return (uint16_t)(sign | shift_to_nearest_even(significand, (unsigned)(28 - exponent)));
    }
    /* A carry out of the fraction goes into the exponent, where it belongs; out of the largest exponent it gives
     * infinity. */
    return (uint16_t)(sign | shift_to_nearest_even((uint64_t)(exponent + 15) << 52 | fraction, 42));
}

/* Widening is exact, so there is one rounding. */
uint16_t ferry_float32_to_float16(float value) {
    return ferry_float64_to_float16((double)value);
}
