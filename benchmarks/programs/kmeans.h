/* k-means: the shapes of a terrain around each of its points. A point's features are the heights in a window, less the
 * height in the middle. */
#ifndef PROGRAMS_KMEANS_H
#define PROGRAMS_KMEANS_H

#include "program.h"
#include "shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kmeans {
    int points, features, iterations;
    int blocks; /* of THREADS points */
    /* The terrain, and the windows in it. */
    int width, window, columns;
    const uint16_t *heights;
    const char *picture;
};

/* A row per feature, a column per point. */
void kmeans_fill(const struct kmeans *kmeans, float *points);
/* A row per feature, a column per cluster: points spread evenly over the terrain. */
void kmeans_start(const struct kmeans *kmeans, float *centres);
/* How many points have changed their cluster, from each block's two figures. */
int64_t kmeans_moved(const struct kmeans *kmeans, const double *tallies);
void kmeans_answer(const struct kmeans *kmeans, int iterations, const double *tallies, const uint8_t *shades);

/* Of the version. */
void kmeans_run(const struct kmeans *kmeans);

#ifdef __cplusplus
}
#endif
#endif
