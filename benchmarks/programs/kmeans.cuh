/* Kernels of k-means. Points have a column each, so that threads next to each other read values next to each other. */
#ifndef __CUDACC_RTC__
#include "kernels.h"
#include "shapes.h"
#endif

/* A thread per point: its nearest centre. A block's tally: the sum of squared distances, and how many points moved. */
KERNEL kmeans_assign(const float *points, const float *centres, int *labels, double *tallies, int n, int features,
                     int iteration) {
    SHARED double distances[THREADS], moved[THREADS];
    EACH_THREAD(t) {
        int i = BLOCK * THREADS + t, nearest = 0;
        distances[t] = moved[t] = 0;
        if (i < n) {
            float sums[CLUSTERS];
            for (int c = 0; c < CLUSTERS; c++)
                sums[c] = 0;
            for (int j = 0; j < features; j++) {
                float value = points[(long long)j * n + i];
                for (int c = 0; c < CLUSTERS; c++) {
                    float apart = value - centres[j * CLUSTERS + c];
                    sums[c] += apart * apart;
                }
            }
            float least = sums[0];
            for (int c = 1; c < CLUSTERS; c++) {
                nearest = sums[c] < least ? c : nearest;
                least = sums[c] < least ? sums[c] : least;
            }
            distances[t] = least;
            moved[t] = iteration == 1 || labels[i] != nearest;
            labels[i] = nearest;
        }
    }
    SUM_OF_THREADS(distances)
    SUM_OF_THREADS(moved)
    EACH_THREAD(t) {
        if (t < 2)
            tallies[2 * BLOCK + t] = t == 0 ? distances[0] : moved[0];
    }
}
SIMULATED(kmeans_assign, ARGUMENT(float *, 0), ARGUMENT(float *, 1), ARGUMENT(int *, 2), ARGUMENT(double *, 3),
          ARGUMENT(int, 4), ARGUMENT(int, 5), ARGUMENT(int, 6))

/* A block per feature: each cluster's mean; one without points stays where it was. */
KERNEL kmeans_centre(const float *points, const int *labels, float *centres, int n) {
    SHARED float sums[CLUSTERS][THREADS];
    SHARED int counts[CLUSTERS][THREADS];
    EACH_THREAD(t) {
        for (int c = 0; c < CLUSTERS; c++) {
            sums[c][t] = 0;
            counts[c][t] = 0;
        }
        for (int i = t; i < n; i += THREADS) {
            sums[labels[i]][t] += points[(long long)BLOCK * n + i];
            counts[labels[i]][t]++;
        }
    }
    for (int half = THREADS / 2; half > 0; half /= 2)
        EACH_THREAD(t) {
            for (int c = 0; c < CLUSTERS && t < half; c++) {
                sums[c][t] += sums[c][t + half];
                counts[c][t] += counts[c][t + half];
            }
        }
    EACH_THREAD(t) {
        if (t < CLUSTERS && counts[t][0] > 0)
            centres[BLOCK * CLUSTERS + t] = sums[t][0] / (float)counts[t][0];
    }
}
SIMULATED(kmeans_centre, ARGUMENT(float *, 0), ARGUMENT(int *, 1), ARGUMENT(float *, 2), ARGUMENT(int, 3))

/* The picture has a shade for each cluster. */
KERNEL kmeans_paint(const int *labels, unsigned char *shades, int n) {
    EACH_THREAD(t) {
        int i = BLOCK * THREADS + t;
        if (i < n)
            shades[i] = (unsigned char)(labels[i] * 255 / (CLUSTERS - 1));
    }
}
SIMULATED(kmeans_paint, ARGUMENT(int *, 0), ARGUMENT(unsigned char *, 1), ARGUMENT(int, 2))
