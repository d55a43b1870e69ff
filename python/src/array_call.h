/* Whole calls of ufuncs, computed by ferry. */
#ifndef FERRY_PYTHON_ARRAY_CALL_H
#define FERRY_PYTHON_ARRAY_CALL_H

#include "module.h"

/*
 * A call as NumPy describes it to __array_ufunc__: the ufunc, the inputs and outputs as plain arrays or scalars.
 * out NULL: to be made.
 */
typedef struct whole_call {
    PyObject *ufunc;
    PyObject *inputs; /* a tuple */
    PyArrayObject *out;
    PyObject *keywords; /* but out; NULL: none */
} whole_call;

/*
 * The result, a new reference to a plain array or to `out`; NULL without an exception where NumPy is to compute it, and
 * nothing has been touched; NULL with one when it failed. Called while blocks are born in ferry memory.
 */
PyObject *call_elementwise(const whole_call *call);
PyObject *call_reduction(const whole_call *call);
PyObject *call_product(const whole_call *call);

/*
 * The type that this NumPy gives the result, which it is asked about empty arrays of the same types, and the same
 * scalars: versions differ in what floor gives for integers and in how a scalar weighs in, and of two types that are
 * the same the right one is wanted. A new reference; NULL, without an exception, where there is none.
 */
PyArray_Descr *call_result_type(const whole_call *call);

/* Whether so many elements of a type are worth a launch, or a reduction on the device: as for NumPy's loops. */
bool call_pays(ferry_op op, ferry_dtype dtype, bool reduces, int64_t elements);
/* A launch on a device that is only modelled never pays. */
bool call_never_pays(void);

/* Of numbers that are not negative; INT64_MAX where there is no room for more. */
static inline int64_t call_product_of(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Errors that precede every write: NumPy says what is wrong, or does it. */
bool call_is_refused(ferry_status status);

/* Warns or raises as np.errstate says: FERRY_FP_… values, of what NumPy calls `name`. -1 with an exception set. */
int call_report(const char *name, unsigned exceptions);

/* One more has been served. */
void call_count(void);

#endif
