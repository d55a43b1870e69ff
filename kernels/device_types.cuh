/* What a generated kernel starts with: C's integer names and half precision, which NVRTC has without headers only by
 * hand. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

/* The device's own conversions give one NaN for all; here, as on the host, a NaN keeps its sign and what fits of its
 * payload. */
static __device__ __forceinline__ float float_of_half(uint16_t bits) {
    if ((bits & 0x7fff) > 0x7c00)
        return __uint_as_float((bits & 0x8000u) << 16 | 0x7f800000u | (bits & 0x3ffu) << 13);
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

/* From a NaN's upper half: its sign, and the ten leading bits of its payload, which must not become an infinity's. */
static __device__ __forceinline__ uint16_t half_of_nan(uint32_t sign, uint32_t payload) {
    return (uint16_t)(sign << 15 | 0x7c00u | (payload == 0 ? 1 : payload));
}

static __device__ __forceinline__ uint16_t half_of_float(float value) {
    if (value != value) {
        const uint32_t word = __float_as_uint(value);
        return half_of_nan(word >> 31, word >> 13 & 0x3ff);
    }
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

static __device__ __forceinline__ uint16_t half_of_double(double value) {
    if (value != value) {
        const uint32_t word = (uint32_t)__double2hiint(value);
        return half_of_nan(word >> 31, word >> 10 & 0x3ff);
    }
    uint16_t bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return bits;
}

/* By the bits: of a NaN, PTX's abs and neg may give any NaN. In assembly, since a compiler makes them of C's & and ^.
 */
static __device__ __forceinline__ float without_sign(float a) {
    asm("and.b32 %0, %0, 0x7fffffff;" : "+f"(a));
    return a;
}
static __device__ __forceinline__ double without_sign(double a) {
    asm("and.b64 %0, %0, 0x7fffffffffffffff;" : "+d"(a));
    return a;
}
static __device__ __forceinline__ float with_other_sign(float a) {
    asm("xor.b32 %0, %0, 0x80000000;" : "+f"(a));
    return a;
}
static __device__ __forceinline__ double with_other_sign(double a) {
    asm("xor.b64 %0, %0, 0x8000000000000000;" : "+d"(a));
    return a;
}

/*
 * At the end of every thread of a kernel that is asked for its exceptions: one word for each bit, across the bus, so
 * that one thread of a block sets it, and only when one of them saw the exception. By a store: for an atomic operation
 * the driver would bring the page to the device.
 */
static __device__ __forceinline__ void report(unsigned raised, uint32_t *exceptions) {
    if (!__syncthreads_or(raised))
        return;
    for (int i = 0; i < 4; i++) {
        if (__syncthreads_or(raised >> i & 1) && threadIdx.x == 0)
            exceptions[i] = 1;
    }
}
