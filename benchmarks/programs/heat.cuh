/* Kernels of heat: one block per row. */
#ifndef __CUDACC_RTC__
#include "kernels.h"
#include "shapes.h"
#endif

KERNEL heat_step(const float *from, float *to, int size) {
    const float *row = from + (long long)BLOCK * size;
    bool inside = BLOCK > 0 && BLOCK + 1 < BLOCKS;
    EACH_THREAD(t) {
        for (int x = t; x < size; x += THREADS) {
            float here = row[x];
            if (inside && x > 0 && x + 1 < size)
                here += 0.2f * (row[x - 1] + row[x + 1] + row[x - size] + row[x + size] - 4 * here);
            to[(long long)BLOCK * size + x] = here;
        }
    }
}
SIMULATED(heat_step, ARGUMENT(float *, 0), ARGUMENT(float *, 1), ARGUMENT(int, 2))

/* Four pixels at a time, since narrower stores are slow on a bus. */
KERNEL heat_paint(const float *grid, unsigned *picture, int size) {
    EACH_THREAD(t) {
        for (int x = t; x < size / 4; x += THREADS) {
            unsigned four = 0;
            for (int i = 0; i < 4; i++)
                four |= (unsigned)(grid[(long long)BLOCK * size + 4 * x + i] * 255.0f + 0.5f) << 8 * i;
            picture[(long long)BLOCK * (size / 4) + x] = four;
        }
    }
}
SIMULATED(heat_paint, ARGUMENT(float *, 0), ARGUMENT(unsigned *, 1), ARGUMENT(int, 2))

KERNEL heat_sum(const float *grid, double *row_sums, int size) {
    SHARED double sums[THREADS];
    EACH_THREAD(t) {
        sums[t] = 0;
        for (int x = t; x < size; x += THREADS)
            sums[t] += grid[(long long)BLOCK * size + x];
    }
    SUM_OF_THREADS(sums)
    EACH_THREAD(t) {
        if (t == 0)
            row_sums[BLOCK] = sums[0];
    }
}
SIMULATED(heat_sum, ARGUMENT(float *, 0), ARGUMENT(double *, 1), ARGUMENT(int, 2))
