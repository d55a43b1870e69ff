/* Which side is quicker from where on, found by trying both. */
#ifndef FERRY_PYTHON_LOOP_TRIAL_H
#define FERRY_PYTHON_LOOP_TRIAL_H

#include "loop.h"

/* What both sides work on: arrays of zeros, as the sides want them, in ferry memory. */
typedef struct trial {
    const loop *loop;
    void *data; /* what NumPy calls its loop with */
    ferry_array arrays[LOOP_OPERANDS];
} trial;

/* One call of a size; returns when the result is there. */
typedef ferry_status (*trial_side)(const trial *t, int64_t size);

/*
 * The amount of work from which on the device is quicker than the host, from the times that two sizes take, whose work
 * grows as the times are taken to: linearly. LOOP_NEVER when it never is, or either side fails.
 */
int64_t trial_run(const trial *t, trial_side host, trial_side device, const int64_t sizes[2], const int64_t work[2]);

/* Nothing migrates while arrays are tried: that they lie on the host is dearest for the device. */
ferry_status trial_create(trial *t, int64_t elements, int64_t result_elements);
void trial_destroy(trial *t);

#endif
