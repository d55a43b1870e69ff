/* Kernels of epoch: a sample at a time for each block, which keeps it, and its own part of the gradient, in shared
 * memory. */
#ifndef __CUDACC_RTC__
#include "kernels.h"
#include "shapes.h"
#endif

/* The constant term takes the place of what is to be predicted. */
#define FEATURE(sample, j) ((j) == 0 ? 1.0f : (sample)[j])

/* A row of `gradients`, and a part of the losses, per block: losses go on from batch to batch. */
KERNEL epoch_gradient(const float *samples, const float *weights, float *gradients, double *losses, int n, int batch) {
    SHARED float sample[FIELDS], gradient[FIELDS], sums[THREADS];
    SHARED double loss[THREADS]; /* the block's, in the first */
    EACH_THREAD(t) {
        loss[t] = 0;
        for (int j = t; j < FIELDS; j += THREADS)
            gradient[j] = 0;
        if (t == 0 && batch > 0)
            loss[0] = losses[BLOCK];
    }
    for (int i = BLOCK; i < n; i += BLOCKS) {
        EACH_THREAD(t) {
            sums[t] = 0;
            for (int j = t; j < FIELDS; j += THREADS) {
                sample[j] = samples[(long long)i * FIELDS + j];
                sums[t] += FEATURE(sample, j) * weights[j];
            }
        }
        SUM_OF_THREADS(sums)
        EACH_THREAD(t) {
            float chance = 1 / (1 + expf(-sums[0]));
            for (int j = t; j < FIELDS; j += THREADS)
                gradient[j] += (chance - sample[0]) * FEATURE(sample, j);
            if (t == 0)
                loss[0] -= logf((sample[0] > 0.5f ? chance : 1 - chance) + 1e-12f);
        }
    }
    EACH_THREAD(t) {
        for (int j = t; j < FIELDS; j += THREADS)
            gradients[(long long)BLOCK * FIELDS + j] = gradient[j];
        if (t == 0)
            losses[BLOCK] = loss[0];
    }
}
SIMULATED(epoch_gradient, ARGUMENT(float *, 0), ARGUMENT(float *, 1), ARGUMENT(float *, 2), ARGUMENT(double *, 3),
          ARGUMENT(int, 4), ARGUMENT(int, 5))

/* A step down the mean of the gradients: a thread per weight. The learning rate falls from batch to batch. */
KERNEL epoch_update(const float *gradients, float *weights, int n, int batch) {
    EACH_THREAD(t) {
        int j = BLOCK * THREADS + t;
        float sum = 0;
        for (int group = 0; group < GROUPS; group++)
            sum += gradients[(long long)group * FIELDS + j];
        weights[j] = (batch == 0 ? 0 : weights[j]) - 4.0f / (1 + 0.1f * (float)batch) * sum / (float)n;
    }
}
SIMULATED(epoch_update, ARGUMENT(float *, 0), ARGUMENT(float *, 1), ARGUMENT(int, 2), ARGUMENT(int, 3))
