/* Elementwise operations: NumPy's ufuncs on views. */
#ifndef FERRY_APPLY_H
#define FERRY_APPLY_H

#include "ferry/movement.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One constant per FERRY_OP line of ops.def: FERRY_OP_LOG, FERRY_OP_ADD, … */
typedef enum ferry_op {
#define FERRY_OP(constant, name, arity) FERRY_OP_##constant,
#define FERRY_LOOP(constant, classes, result, expression)
#include "ferry/ops.def"
#undef FERRY_OP
#undef FERRY_LOOP
    FERRY_OP_COUNT
} ferry_op;

/* NumPy's name ("log"); "?" for a value that is no operation. */
FERRY_API const char *ferry_op_name(ferry_op op);
/* Inputs: 1 or 2; 0 for a value that is no operation. */
FERRY_API int ferry_op_arity(ferry_op op);
/* By NumPy's name; FERRY_NOT_FOUND. */
FERRY_API ferry_status ferry_op_find(const char *name, ferry_op *out);

/*
 * NumPy's type resolution: `compute` is the type the inputs are cast to (the operation's first loop to which all inputs
 * cast safely), `result` what it gives. FERRY_DTYPE when no loop takes them. Either pointer may be NULL.
 */
FERRY_API ferry_status ferry_op_dtypes(ferry_op op, const ferry_dtype *in, int nin, ferry_dtype *compute,
                                       ferry_dtype *result);

/*
 * out[...] = op(in…), elementwise, in stream order: inputs broadcast to out's shape, cast as NumPy does, and the result
 * casts to out's dtype by the same-kind rule. Any strides; out may be or overlap an input, as if the inputs were copied
 * first. All views lie in ferry memory. Everything is validated, compiled and allocated before anything is discarded or
 * written. FERRY_SHAPE, FERRY_DTYPE, FERRY_CAST, FERRY_INVALID_ARGUMENT, FERRY_COMPILE, FERRY_BACKEND. The views may go
 * out of scope and the memory be freed at once.
 */
FERRY_API ferry_status ferry_apply(ferry_op op, const ferry_view *const *in, int nin, const ferry_view *out,
                                   ferry_stream *stream);

/* Floating-point exceptions: NumPy's NPY_FPE_ values. */
#define FERRY_FP_DIVIDE 1u
#define FERRY_FP_OVERFLOW 2u
#define FERRY_FP_UNDERFLOW 4u
#define FERRY_FP_INVALID 8u

/*
 * ferry_apply, which then waits for the stream, its earlier work included, and gives what NumPy's loop would have
 * raised for these elements and for the cast to the output's type: FERRY_FP_… values, or 0. They follow from operands
 * and results (docs/kernels.md), never from the processor's flags. *exceptions is written on success only. Thread-safe.
 * Errors are those of ferry_apply, FERRY_BACKEND for a kernel that failed too.
 */
FERRY_API ferry_status ferry_apply_checked(ferry_op op, const ferry_view *const *in, int nin, const ferry_view *out,
                                           ferry_stream *stream, unsigned *exceptions);

/*
 * ferry_assign_host in stream order: on the device when both lie in ferry memory and src is there, else on the host,
 * now.
 */
FERRY_API ferry_status ferry_assign(const ferry_view *dst, const ferry_view *src, ferry_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
