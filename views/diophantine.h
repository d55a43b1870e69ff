/* Bounded linear Diophantine equations: whether strided address sets meet. */
#ifndef FERRY_VIEWS_DIOPHANTINE_H
#define FERRY_VIEWS_DIOPHANTINE_H

#include "ferry/view.h"

/* Both views' axes and their two items' bytes. */
#define DIOPHANTINE_TERMS (2 * FERRY_MAX_DIMS + 2)

typedef struct diophantine_term {
    int64_t coefficient; /* > 0 */
    int64_t bound;       /* the unknown lies in 0 … bound */
} diophantine_term;

/* sum of coefficient[i] * x[i] = right, 0 <= x[i] <= bound[i]. */
typedef struct diophantine {
    int n;
    diophantine_term terms[DIOPHANTINE_TERMS];
    int64_t right;
} diophantine;

/* Adds a term; one with bound 0 is left out. */
void diophantine_add(diophantine *equation, int64_t coefficient, int64_t bound);

/*
 * Whether the equation has a solution. True also when `work` steps (decreased by those taken) do not decide, or when
 * numbers overflow. Reorders the terms.
 */
bool diophantine_may_have_solution(diophantine *equation, int64_t *work);

#endif
