#include "cg.h"

#include <math.h>

#define HOLD 0.01 /* what A has on its diagonal beyond what flows: makes it definite */

struct fill {
    int64_t side;
    int *offsets, *columns;
    double *values, *b;
};

/* Each point is tied to itself and to up to four neighbours: elements of A before row (y, x). */
static int64_t elements_before(int64_t side, int64_t y, int64_t x) {
    int64_t missing_up = y == 0 ? x : side, missing_down = y == side - 1 ? x : y == side ? side : 0;
    int64_t missing_left = y + (x > 0), missing_right = y;
    return 5 * (y * side + x) - missing_up - missing_down - missing_left - missing_right;
}

/* What flows between neighbours: the same from either side, `to` being the right or the lower one. */
static double flow(int64_t to, bool down) {
    return 0.5 + random_at((uint64_t)to * 2 + down);
}

static void fill_point(const struct fill *fill, int64_t y, int64_t x) {
    const int64_t side = fill->side, here = y * side + x;
    const struct {
        bool there;
        int64_t column;
        double flow;
    } neighbours[] = {{y > 0, here - side, flow(here, true)},
                      {x > 0, here - 1, flow(here, false)},
                      {x + 1 < side, here + 1, flow(here + 1, false)},
                      {y + 1 < side, here + side, flow(here + side, true)}};
    int64_t at = elements_before(side, y, x), diagonal = -1;
    double sum = HOLD;
    fill->offsets[here] = (int)at;
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            diagonal = at++;
        if (!neighbours[i].there)
            continue;
        sum += neighbours[i].flow;
        fill->columns[at] = (int)neighbours[i].column;
        fill->values[at++] = -neighbours[i].flow;
    }
    fill->columns[diagonal] = (int)here;
    fill->values[diagonal] = sum;
    fill->b[here] = random_at((uint64_t)here + ((uint64_t)1 << 40)) - 0.5;
}

static void fill_lines(void *context, int64_t first, int64_t last) {
    const struct fill *fill = context;
    for (int64_t y = first; y < last; y++) {
        for (int64_t x = 0; x < fill->side; x++)
            fill_point(fill, y, x);
    }
}

void cg_fill(const struct cg *cg, int *offsets, int *columns, double *values, double *b) {
    struct fill fill = {cg->side, offsets, columns, values, b};
    in_parallel(cg->side, fill_lines, &fill);
    offsets[cg->rows] = (int)cg->elements;
}

bool cg_converged(double squares, double first) {
    return squares <= TOLERANCE * TOLERANCE * first;
}

void cg_answer(const struct cg *cg, int iterations, double squares, const float *x) {
    file_write(cg->solution, "", x, (size_t)cg->rows * sizeof *x);
    answer_number("iterations", iterations);
    answer_number("residual", sqrt(squares));
}

int main(int argc, char **argv) {
    int64_t side = 256, iterations = 1000;
    const struct option options[] = {{"--size", &side, 2}, {"--iterations", &iterations, 1}};
    struct cg cg = {0};
    options_read(argc, argv, "cg [--size N] [--iterations N] SOLUTION", options, 2, &cg.solution, 1);
    if (side > 16384 || iterations > INT32_MAX)
        fail("the size is at most 16384");
    cg.side = (int)side;
    cg.rows = (int)(side * side);
    cg.parts = (cg.rows + THREADS - 1) / THREADS < PARTS_MOST ? (cg.rows + THREADS - 1) / THREADS : PARTS_MOST;
    cg.elements = 5 * side * side - 4 * side;
    cg.iterations = (int)iterations;
    version_start();
    cg_run(&cg);
    report_print("cg");
    return 0;
}
