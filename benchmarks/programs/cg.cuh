/* Kernels of conjugate gradients. Sums over all rows are made in PARTS parts by one kernel and added up by every block
 * of the next, so that no figure goes to the host in between. */
#ifndef __CUDACC_RTC__
#include "kernels.h"
#include "shapes.h"
#endif

#define EACH_ROW(i, t) (int i = BLOCK * THREADS + t; i < n; i += BLOCKS * THREADS)

/* x = 0, and the residual is b: squares has the parts of the sum of its squares. */
KERNEL cg_start(const double *b, double *x, double *r, double *p, double *squares, int n) {
    SHARED double sums[THREADS];
    EACH_THREAD(t) {
        sums[t] = 0;
        for
            EACH_ROW(i, t) {
                x[i] = 0;
                p[i] = 0;
                double right = b[i];
                r[i] = right;
                sums[t] += right * right;
            }
    }
    SUM_OF_THREADS(sums)
    EACH_THREAD(t) {
        if (t == 0)
            squares[BLOCK] = sums[0];
    }
}
SIMULATED(cg_start, ARGUMENT(double *, 0), ARGUMENT(double *, 1), ARGUMENT(double *, 2), ARGUMENT(double *, 3),
          ARGUMENT(double *, 4), ARGUMENT(int, 5))

/* q = A p, and the parts of the sum of p q. */
KERNEL cg_multiply(const int *offsets, const int *columns, const double *values, const double *p, double *q,
                   double *products, int n) {
    SHARED double sums[THREADS];
    EACH_THREAD(t) {
        sums[t] = 0;
        for
            EACH_ROW(i, t) {
                double row = 0;
                for (int k = offsets[i]; k < offsets[i + 1]; k++)
                    row += values[k] * p[columns[k]];
                q[i] = row;
                sums[t] += row * p[i];
            }
    }
    SUM_OF_THREADS(sums)
    EACH_THREAD(t) {
        if (t == 0)
            products[BLOCK] = sums[0];
    }
}
SIMULATED(cg_multiply, ARGUMENT(int *, 0), ARGUMENT(int *, 1), ARGUMENT(double *, 2), ARGUMENT(double *, 3),
          ARGUMENT(double *, 4), ARGUMENT(double *, 5), ARGUMENT(int, 6))

#define SUM_OF_PARTS(sums, parts)                                                                                      \
    EACH_THREAD(t) {                                                                                                   \
        (sums)[t] = 0;                                                                                                 \
        for (int part = t; part < BLOCKS; part += THREADS)                                                             \
            (sums)[t] += (parts)[part];                                                                                \
    }                                                                                                                  \
    SUM_OF_THREADS(sums)

/* A step along p: x and r; rho[k] is the sum of the squares of residual k, counted modulo 2. */
KERNEL cg_advance(const double *p, const double *q, const double *products, const double *rho, double *x, double *r,
                  double *squares, int n, int iteration) {
    SHARED double total[THREADS], sums[THREADS];
    SUM_OF_PARTS(total, products)
    EACH_THREAD(t) {
        double length = rho[(iteration + 1) % 2] / total[0];
        sums[t] = 0;
        for
            EACH_ROW(i, t) {
                double rest = r[i] - length * q[i];
                x[i] += length * p[i];
                r[i] = rest;
                sums[t] += rest * rest;
            }
    }
    SUM_OF_THREADS(sums)
    EACH_THREAD(t) {
        if (t == 0)
            squares[BLOCK] = sums[0];
    }
}
SIMULATED(cg_advance, ARGUMENT(double *, 0), ARGUMENT(double *, 1), ARGUMENT(double *, 2), ARGUMENT(double *, 3),
          ARGUMENT(double *, 4), ARGUMENT(double *, 5), ARGUMENT(double *, 6), ARGUMENT(int, 7), ARGUMENT(int, 8))

/* The next direction; the residual's squares are told to the next kernels by rho, and to the host by residual. */
KERNEL cg_turn(const double *r, const double *squares, double *p, double *rho, double *residual, int n, int iteration) {
    SHARED double total[THREADS];
    SUM_OF_PARTS(total, squares)
    EACH_THREAD(t) {
        double share = iteration == 0 ? 0 : total[0] / rho[(iteration + 1) % 2];
        for
            EACH_ROW(i, t)
        p[i] = r[i] + share * p[i];
        if (BLOCK == 0 && t == 0) {
            rho[iteration % 2] = total[0];
            residual[0] = total[0];
        }
    }
}
SIMULATED(cg_turn, ARGUMENT(double *, 0), ARGUMENT(double *, 1), ARGUMENT(double *, 2), ARGUMENT(double *, 3),
          ARGUMENT(double *, 4), ARGUMENT(int, 5), ARGUMENT(int, 6))

/* What the program keeps of the solution. */
KERNEL cg_round(const double *x, float *rounded, int n) {
    EACH_THREAD(t) {
        for
            EACH_ROW(i, t)
        rounded[i] = (float)x[i];
    }
}
SIMULATED(cg_round, ARGUMENT(double *, 0), ARGUMENT(float *, 1), ARGUMENT(int, 2))
