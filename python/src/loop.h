/* NumPy's inner loops, replaced. */
#ifndef FERRY_PYTHON_LOOP_H
#define FERRY_PYTHON_LOOP_H

#include <stdatomic.h>

#include "module.h"

#define LOOP_OPERANDS 3

/* Lengths: while loops are not installed, in a forked child and where launches never pay; and to be measured. */
#define LOOP_NEVER INT64_MAX
#define LOOP_MEASURED (-1)

/* A loop of NumPy's: one type signature of one ufunc. */
typedef struct loop {
    /* Calls of fewer elements go straight to NumPy's loop, at the cost of this comparison: `length`, or 0 while any
     * thread must be asked whether it has launches under way. */
    _Atomic int64_t gate;
    _Atomic int64_t length;       /* elements from which on a launch is made */
    PyUFuncGenericFunction numpy; /* what was there */
    ferry_op op;
    int nin;
    ferry_dtype dtypes[LOOP_OPERANDS];
    _Atomic uint64_t launches;
    PyUFuncObject *ufunc; /* kept */
    int index;            /* among the ufunc's loops */
    int signature[LOOP_OPERANDS];
} loop;

/* Calls of fewer elements than these are over before a launch has begun: whether it pays is not asked for them. */
#define LOOP_SHORT 1024

/*
 * The call on a device, if it pays there and can be made there; false leaves it to NumPy's loop, with nothing touched
 * and nothing in flight that it could read. Without the interpreter. A failure of the device is raised as RuntimeError.
 */
bool loop_serve(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data);

/* The loop's `length`, measured now if it was to be and has not been. `data` is what NumPy calls its loop with. */
int64_t loop_length(loop *l, void *data);

/* What was measured; nothing when another length has been installed meanwhile. */
void loop_learn_length(loop *l, int64_t length);

/* +1, −1: one more, one fewer block of code in which loops do not wait. */
void loops_watch(int change);

#endif
