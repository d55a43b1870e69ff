#include "cg.h"
#include "with_ferry.h"

#include "cg.cuh"

#define PAGE_DOUBLES 512 /* less than a page would stay on the host */

/* Whether to stop is asked every CHECKED_EVERY iterations, of a residual that kernels store across the bus. */
void cg_run(const struct cg *cg) {
    ferry_kernel *start = OPEN(cg_start), *multiply = OPEN(cg_multiply), *advance = OPEN(cg_advance),
                 *turn = OPEN(cg_turn), *to_float = OPEN(cg_round);
    int iteration = 0;
    lap_start();
    ferry_array offsets = array_on_device(FERRY_INT32, cg->rows + 1), b = array_new(FERRY_FLOAT64, cg->rows);
    ferry_array columns = array_on_device(FERRY_INT32, cg->elements);
    ferry_array values = array_on_device(FERRY_FLOAT64, cg->elements);
    ferry_array x = array_of_kernels(FERRY_FLOAT64, cg->rows), r = array_of_kernels(FERRY_FLOAT64, cg->rows);
    ferry_array p = array_of_kernels(FERRY_FLOAT64, cg->rows), q = array_of_kernels(FERRY_FLOAT64, cg->rows);
    ferry_array products = array_of_kernels(FERRY_FLOAT64, cg->parts),
                squares = array_of_kernels(FERRY_FLOAT64, cg->parts);
    ferry_array rho = array_of_kernels(FERRY_FLOAT64, PAGE_DOUBLES), residual = array_new(FERRY_FLOAT64, 1);
    ferry_array rounded = array_at_home(FERRY_FLOAT32, cg->rows);
    const double *squares_left = residual.view.data;
    lap("allocate");
    cg_fill(cg, offsets.view.data, columns.view.data, values.view.data, b.view.data);
    lap("input");
    LAUNCH(start, cg->parts, NULL, IN(b), OUT(x), OUT(r), OUT(p), OUT(squares), VALUE(cg->rows));
    LAUNCH(turn, cg->parts, NULL, IN(r), IN(squares), INOUT(p), INOUT(rho), OUT(residual), VALUE(cg->rows),
           VALUE(iteration));
    CHECK(ferry_host_acquire(&residual.view, FERRY_READ));
    double first = *squares_left;
    while (!cg_converged(*squares_left, first) && iteration < cg->iterations) {
        for (int i = 0; i < CHECKED_EVERY; i++) {
            iteration++;
            LAUNCH(multiply, cg->parts, NULL, IN(offsets), IN(columns), IN(values), IN(p), OUT(q), OUT(products),
                   VALUE(cg->rows));
            LAUNCH(advance, cg->parts, NULL, IN(p), IN(q), IN(products), IN(rho), INOUT(x), INOUT(r), OUT(squares),
                   VALUE(cg->rows), VALUE(iteration));
            LAUNCH(turn, cg->parts, NULL, IN(r), IN(squares), INOUT(p), INOUT(rho), OUT(residual), VALUE(cg->rows),
                   VALUE(iteration));
        }
        CHECK(ferry_host_acquire(&residual.view, FERRY_READ));
    }
    LAUNCH(to_float, cg->parts, NULL, IN(x), OUT(rounded), VALUE(cg->rows));
    CHECK(ferry_host_acquire(&rounded.view, FERRY_READ));
    lap("work");
    cg_answer(cg, iteration, *squares_left, rounded.view.data);
    ferry_array *const arrays[] = {&offsets, &columns,  &values,  &b,   &x,        &r,      &p,
                                   &q,       &products, &squares, &rho, &residual, &rounded};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ferry_array_release(arrays[i]);
}
