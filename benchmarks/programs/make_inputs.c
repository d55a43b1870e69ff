/* make_inputs images FOLDER [--count N] [--size N]: pictures, grey and in colour by turns, of several sizes.
 * make_inputs samples FILE [--count N]: samples for epoch, of which a hidden rule with some noise decides.
 * The same every time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "shapes.h"

#define USAGE "make_inputs images|samples PATH [--count N] [--size N]"

struct picture_job {
    uint8_t *values;
    int64_t row, height, channels;
    uint64_t seed;
};

/* Circles and noise: edges, and something to blur. */
static void picture_rows(void *context, int64_t first, int64_t last) {
    const struct picture_job *job = context;
    for (int64_t y = first; y < last; y++) {
        for (int64_t at = 0; at < job->row; at++) {
            int64_t x = at / job->channels, channel = at % job->channels;
            int64_t ring = ((x - job->row / 6) * (x - job->row / 6) + (y - job->height / 3) * (y - job->height / 3)) >>
                           (12 + channel);
            double noise = random_at(job->seed + (uint64_t)(y * job->row + at));
            job->values[y * job->row + at] = (uint8_t)((ring % 2 ? 40 : 160) + 80 * noise);
        }
    }
}

static void make_images(const char *folder, int64_t count, int64_t size) {
    for (int64_t i = 0; i < count; i++) {
        int64_t width = (size - i % 3 * (size / 8)) / 4 * 4, height = size - i % 2 * (size / 8);
        struct picture_job job = {NULL, 0, height, i % 2 ? 3 : 1, (uint64_t)i << 40};
        char path[4096];
        job.row = width * job.channels;
        job.values = malloc((size_t)(job.row * height));
        if (job.values == NULL)
            fail("no memory for a picture");
        in_parallel(height, picture_rows, &job);
        snprintf(path, sizeof path, "%s/image%03d.%s", folder, (int)i, job.channels == 3 ? "ppm" : "pgm");
        picture_write(path, (int)width, (int)height, (int)job.channels, job.values);
        free(job.values);
    }
}

/* What weighs how much: nothing that the program is told. */
static double hidden(int64_t j) {
    return 2 * random_at((uint64_t)j) - 1;
}

static void make_some(void *context, int64_t first, int64_t last) {
    float *samples = context;
    for (int64_t i = first; i < last; i++) {
        double sum = 0;
        for (int64_t j = 1; j < FIELDS; j++) {
            double value = 2 * random_at((uint64_t)(i * FIELDS + j) + 1024 * FIELDS) - 1;
            samples[i * FIELDS + j] = (float)value;
            sum += value * hidden(j);
        }
        sum += 8 * (random_at((uint64_t)(i * FIELDS) + 1024 * FIELDS) - 0.5);
        samples[i * FIELDS] = sum > 0 ? 1 : 0;
    }
}

static void make_samples(const char *path, int64_t count) {
    size_t bytes = (size_t)count * FIELDS * sizeof(float);
    float *samples = malloc(bytes);
    if (samples == NULL)
        fail("no memory for %lld samples", (long long)count);
    in_parallel(count, make_some, samples);
    file_write(path, "", samples, bytes);
    free(samples);
}

int main(int argc, char **argv) {
    int64_t count = 8, size = 256;
    const struct option options[] = {{"--count", &count, 1}, {"--size", &size, 32}};
    const char *arguments[2];
    options_read(argc, argv, USAGE, options, 2, arguments, 2);
    if (count > 1 << 24 || size > 16384)
        fail("at most 2^24 samples or images, of at most 16384 pixels each way");
    if (strcmp(arguments[0], "images") == 0)
        make_images(arguments[1], count, size);
    else if (strcmp(arguments[0], "samples") == 0)
        make_samples(arguments[1], count);
    else
        fail("usage: %s", USAGE);
    return 0;
}
