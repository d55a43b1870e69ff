#include "heat.h"

#include <stdio.h>

struct fill {
    int size;
    float *grid;
};

/* Noise, with squares of one temperature in it. */
static void fill_rows(void *context, int64_t first, int64_t last) {
    const struct fill *fill = context;
    for (int64_t y = first; y < last; y++) {
        for (int64_t x = 0; x < fill->size; x++) {
            uint64_t square = (uint64_t)(y * 8 / fill->size * 8 + x * 8 / fill->size);
            uint64_t place = (uint64_t)(y * fill->size + x) + 64;
            fill->grid[y * fill->size + x] = (float)(0.75 * random_at(square) + 0.25 * random_at(place));
        }
    }
}

void heat_fill(const struct heat *heat, float *grid) {
    struct fill fill = {heat->size, grid};
    in_parallel(heat->size, fill_rows, &fill);
}

void heat_save(const struct heat *heat, int number, const uint8_t *picture) {
    char path[4096];
    snprintf(path, sizeof path, "%s/heat%04d.pgm", heat->folder, number);
    picture_write(path, heat->size, heat->size, 1, picture);
}

void heat_answer(const struct heat *heat, const double *row_sums) {
    double total = 0;
    for (int y = 0; y < heat->size; y++)
        total += row_sums[y];
    answer_number("heat", total);
    answer_number("pictures", heat->steps / heat->every);
}

int main(int argc, char **argv) {
    int64_t size = 1024, steps = 200, every = 50;
    const struct option options[] = {{"--size", &size, 8}, {"--steps", &steps, 1}, {"--every", &every, 1}};
    struct heat heat = {0};
    options_read(argc, argv, "heat [--size N] [--steps N] [--every N] FOLDER", options, 3, &heat.folder, 1);
    if (size % 4 != 0 || size > 32768 || steps % every != 0 || steps > INT32_MAX)
        fail("the size is a multiple of 4, at most 32768, and the steps are one of --every");
    heat.size = (int)size;
    heat.steps = (int)steps;
    heat.every = (int)every;
    heat.area = (size_t)(size * size);
    version_start();
    heat_run(&heat);
    report_print("heat");
    return 0;
}
