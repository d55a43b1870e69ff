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
    _Atomic int64_t length;                             /* elements from which on a launch is made */
    _Atomic int64_t reduction_length;                   /* and a full reduction, for which NumPy calls the same loop */
    _Atomic int64_t call_length, call_reduction_length; /* the two for whole calls, which need no install() */
    PyUFuncGenericFunction numpy;                       /* what was there */
    ferry_op op;               /* FERRY_OP_COUNT: matmul, whose lengths count multiplications, not elements */
    ferry_reduction reduction; /* FERRY_REDUCTION_COUNT: none */
    int nin;
    ferry_dtype dtypes[LOOP_OPERANDS];
    _Atomic uint64_t launches;
    PyUFuncObject *ufunc; /* alive for ever */
    int index;            /* among the ufunc's loops */
    int signature[LOOP_OPERANDS];
} loop;

/* Calls of fewer elements than these are over before a launch has begun: whether it pays is not asked for them. */
#define LOOP_SHORT 1024

/*
 * A call that is long enough to be looked at: on the device, if it pays there and can be made there, else by NumPy's
 * loop, which then finds nothing touched, and nothing in flight that it could read. Without the interpreter. A failure
 * of the device is raised as RuntimeError.
 */
void loop_call(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data);

/* A full reduction: a loop whose output is its first input, and stands still. Returns whether it has been made. */
bool loop_serve_reduction(loop *l, char **args, int64_t n, const npy_intp *steps, void *data);

/* A matrix product: dimensions are the number of products, then m, k and n. Returns whether it has been made. */
bool loop_serve_product(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data);

/* Whether the device is only modelled, which is no quicker than the processor that it runs on; or there is no backend.
 */
bool loops_are_simulated(void);

/* The length from which on something is quicker on the device. `data` is what NumPy calls its loop with. */
typedef int64_t (*loop_measure)(const loop *l, void *data);
int64_t loop_measure_launch(const loop *l, void *data);
int64_t loop_measure_reduction(const loop *l, void *data);
int64_t loop_measure_product(const loop *l, void *data);

/* One of the loop's lengths, measured now if it was to be and has not been. Keeps the processor's flags. */
int64_t loop_length(loop *l, void *data, _Atomic int64_t *length, loop_measure measure);

/* Sets one of the loop's lengths, unless it has been settled meanwhile. */
void loop_learn(loop *l, _Atomic int64_t *length, int64_t elements);

/* Shorter ones are not looked at. */
static inline int64_t loop_gate(const _Atomic int64_t *length) {
    const int64_t elements = atomic_load_explicit(length, memory_order_relaxed);
    return elements == LOOP_MEASURED ? LOOP_SHORT : elements;
}

/* Raises RuntimeError, or what the status stands for, on a thread that does not hold the interpreter. */
void loop_raise(ferry_status status);

/* Sets the processor's flags, at which NumPy looks when its loops have ended, for FERRY_FP_… values. */
void loop_raise_exceptions(unsigned exceptions);

/* Errors that precede every write, and that NumPy's loop makes good. */
bool loop_is_refusal(ferry_status status);

/* Fills the table of loops from NumPy's ufuncs, once, before any thread can ask for one. -1 with an exception set. */
int loops_find(void);

/* Whether the ufunc is NumPy's own for the operation (FERRY_OP_COUNT: matmul): others may bear its name. */
bool loops_are_of(ferry_op op, const PyObject *ufunc);

/* The length that is measured for calls of the operation on inputs of one type, or for reductions by it, whatever is
 * installed; LOOP_NEVER where NumPy has no such loop. With the interpreter, which is let go to measure. */
int64_t loops_call_length(ferry_op op, ferry_dtype dtype, bool reduces);
int64_t loop_call_length(loop *l, bool reduces);

/* +1, −1: one more, one fewer block of code in which loops do not wait. */
void loops_watch(int change);

#endif
