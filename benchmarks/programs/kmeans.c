#include "kmeans.h"

#include <stdlib.h>

static float feature(const struct kmeans *kmeans, int point, int index) {
    int corner = point / kmeans->columns * kmeans->width + point % kmeans->columns, half = kmeans->window / 2;
    int middle = corner + half * kmeans->width + half;
    int here = corner + index / kmeans->window * kmeans->width + index % kmeans->window;
    return (float)(kmeans->heights[here] - kmeans->heights[middle]);
}

struct fill {
    const struct kmeans *kmeans;
    float *points;
};

static void fill_features(void *context, int64_t first, int64_t last) {
    const struct fill *fill = context;
    for (int64_t j = first; j < last; j++) {
        for (int i = 0; i < fill->kmeans->points; i++)
            fill->points[j * fill->kmeans->points + i] = feature(fill->kmeans, i, (int)j);
    }
}

void kmeans_fill(const struct kmeans *kmeans, float *points) {
    struct fill fill = {kmeans, points};
    in_parallel(kmeans->features, fill_features, &fill);
}

void kmeans_start(const struct kmeans *kmeans, float *centres) {
    for (int j = 0; j < kmeans->features; j++) {
        for (int c = 0; c < CLUSTERS; c++)
            centres[j * CLUSTERS + c] =
                feature(kmeans, (int)((2 * c + 1) * (int64_t)kmeans->points / (2 * CLUSTERS)), j);
    }
}

int64_t kmeans_moved(const struct kmeans *kmeans, const double *tallies) {
    double moved = 0;
    for (int i = 0; i < kmeans->blocks; i++)
        moved += tallies[2 * i + 1];
    return (int64_t)moved;
}

void kmeans_answer(const struct kmeans *kmeans, int iterations, const double *tallies, const uint8_t *shades) {
    double inertia = 0;
    for (int i = 0; i < kmeans->blocks; i++)
        inertia += tallies[2 * i];
    picture_write(kmeans->picture, kmeans->columns, kmeans->points / kmeans->columns, 1, shades);
    answer_number("iterations", iterations);
    answer_number("inertia", inertia);
}

static uint16_t *heights_read(const char *path, const struct picture *terrain) {
    size_t count = (size_t)terrain->width * (size_t)terrain->height;
    uint16_t *heights = malloc(2 * count);
    if (heights == NULL)
        fail("no memory for %s", path);
    file_read(path, terrain->offset, heights, 2 * count);
    for (size_t i = 0; i < count; i++)
        heights[i] = (uint16_t)(heights[i] << 8 | heights[i] >> 8); /* the file's are big-endian */
    return heights;
}

int main(int argc, char **argv) {
    int64_t window = 8, iterations = 20;
    const struct option options[] = {{"--window", &window, 2}, {"--iterations", &iterations, 1}};
    const char *files[2];
    options_read(argc, argv, "kmeans [--window N] [--iterations N] TERRAIN.pgm CLUSTERS.pgm", options, 2, files, 2);
    struct picture terrain = picture_open(files[0]);
    if (terrain.bytes_per_value != 2 || window > terrain.width || window > terrain.height || iterations > INT32_MAX)
        fail("%s: a terrain has 16 bits a pixel and is larger than the window", files[0]);
    struct kmeans kmeans = {.features = (int)(window * window),
                            .iterations = (int)iterations,
                            .width = terrain.width,
                            .window = (int)window,
                            .columns = terrain.width - (int)window + 1,
                            .picture = files[1]};
    uint16_t *heights = heights_read(files[0], &terrain);
    kmeans.heights = heights;
    kmeans.points = kmeans.columns * (terrain.height - (int)window + 1);
    kmeans.blocks = (kmeans.points + THREADS - 1) / THREADS;
    version_start();
    kmeans_run(&kmeans);
    free(heights);
    report_print("kmeans");
    return 0;
}
