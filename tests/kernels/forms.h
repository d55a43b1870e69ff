/* Forms of kernels for tests that go through all of them. */
#ifndef FERRY_TESTS_KERNELS_FORMS_H
#define FERRY_TESTS_KERNELS_FORMS_H

#include "kernels/device_source.h"

/* The types that an operation computes in, each with inputs of that type: first[] and second[] hold 16. Returns how
 * many. */
static inline int forms_loops(ferry_op op, ferry_dtype *first, ferry_dtype *second) {
    int n = 0;
    for (unsigned dtype = 0; dtype <= FERRY_FLOAT64; dtype++) {
        ferry_dtype in[2] = {(ferry_dtype)dtype, (ferry_dtype)dtype}, compute;
        if (ferry_op_dtypes(op, in, ferry_op_arity(op), &compute, NULL) == FERRY_OK && compute == in[0]) {
            first[n] = in[0];
            second[n++] = in[1];
        }
    }
    for (int swap = 0; swap < 2 && ferry_op_arity(op) == 2; swap++) {
        op_loop loop;
        ferry_dtype in[2] = {swap ? FERRY_UINT64 : FERRY_INT64, swap ? FERRY_INT64 : FERRY_UINT64};
        if (op_resolve(op, in, 2, &loop) == FERRY_OK && loop.compute[0] != loop.compute[1]) {
            first[n] = in[0];
            second[n++] = in[1];
        }
    }
    return n;
}

static inline ferry_dtype forms_result(ferry_op op, ferry_dtype first, ferry_dtype second) {
    ferry_dtype in[2] = {first, second}, result = FERRY_BOOL;
    ferry_op_dtypes(op, in, ferry_op_arity(op), NULL, &result);
    return result;
}

#endif
