// What the source of generated kernels needs to be compiled for the host, and run thread by thread.
#include <cmath>
#include <cstdint>
#include <math.h>

#define __CUDACC__ 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static
#define __syncthreads() emulated_barrier()

struct emulated_dim {
    unsigned x;
};
extern "C" {
emulated_dim blockIdx, blockDim, gridDim, threadIdx;
void (*emulated_barrier)();
float (*emulated_float_of_half)(uint16_t);
uint16_t (*emulated_half_of_float)(float);
uint16_t (*emulated_half_of_double)(double);
}

struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline float float_of_half(uint16_t bits) {
    return emulated_float_of_half(bits);
}
static inline uint16_t half_of_float(float value) {
    return emulated_half_of_float(value);
}
static inline uint16_t half_of_double(double value) {
    return emulated_half_of_double(value);
}
static inline float without_sign(float a) {
    return std::fabs(a);
}
static inline double without_sign(double a) {
    return std::fabs(a);
}
static inline float with_other_sign(float a) {
    return -a;
}
static inline double with_other_sign(double a) {
    return -a;
}
// Thread by thread, no thread speaks for its block.
static inline void report(unsigned raised, uint32_t *exceptions) {
    for (int i = 0; i < 4; i++) {
        if (raised >> i & 1)
            exceptions[i] = 1;
    }
}
