/* The table of operations: what ferry/ops.def says, as data. */
#ifndef FERRY_KERNELS_OPS_H
#define FERRY_KERNELS_OPS_H

#include "ferry/apply.h"

/* The loop that serves a call: the types that the inputs are cast to (two of them differ for int64 with uint64 only).
 */
typedef struct op_loop {
    ferry_dtype compute[2];
    ferry_dtype result;
    const char *expression; /* of a and b, C and CUDA C++ */
    const char *raises;     /* of a, b and r, likewise; NULL: it raises nothing */
} op_loop;

/* `op` and `nin` valid and matching. FERRY_DTYPE names the operation and the types. */
ferry_status op_resolve(ferry_op op, const ferry_dtype *in, int nin, op_loop *out);

/* FERRY_INVALID_ARGUMENT for no operation or the wrong number of inputs. */
ferry_status op_check(ferry_op op, int nin);

#endif
