/* Conjugate gradients: A x = b for a sparse, symmetric, positive definite A in CSR, the heat that flows through a plate
 * of uneven material in one long step. */
#ifndef PROGRAMS_CG_H
#define PROGRAMS_CG_H

#include "program.h"
#include "shapes.h"

#define CHECKED_EVERY 25 /* iterations */
#define TOLERANCE 1e-8   /* of the residual, over the first */

#ifdef __cplusplus
extern "C" {
#endif

struct cg {
    int side, rows, iterations;
    int parts;        /* blocks of a kernel: one per THREADS rows, PARTS_MOST at most */
    int64_t elements; /* of A that are not zero */
    const char *solution;
};

void cg_fill(const struct cg *cg, int *offsets, int *columns, double *values, double *b);
/* Whether the squares of a residual and of the first one say that x is good enough. */
bool cg_converged(double squares, double first);
void cg_answer(const struct cg *cg, int iterations, double squares, const float *x);

/* Of the version. */
void cg_run(const struct cg *cg);

#ifdef __cplusplus
}
#endif
#endif
