/* A call of an elementwise operation, checked and made ready before anything moves. */
#ifndef FERRY_KERNELS_ELEMENTWISE_H
#define FERRY_KERNELS_ELEMENTWISE_H

#include "ops.h"

/* out[...] = op(in...), or a copy for PLAN_COPY. */
typedef struct elementwise_call {
    ferry_op op;
    const op_loop *loop; /* NULL for a copy */
    const ferry_view *const *in;
    int nin;
    const ferry_view *out;
    ferry_stream *stream;
    uint32_t *exceptions; /* as a plan's */
} elementwise_call;

/* The loop that serves a call, once it is there and its dtypes are possible. call->loop is not looked at. */
ferry_status elementwise_resolve(const elementwise_call *call, op_loop *loop);

/* Once the dtypes are settled: shapes, access, overlap, kernels, launch. */
ferry_status elementwise_run(const elementwise_call *call);

/* FERRY_INVALID_ARGUMENT unless the view is there, and its dtype and rank are possible. */
ferry_status elementwise_check_view(const ferry_view *view, const char *what);

/* FERRY_INVALID_ARGUMENT unless all elements lie in ferry memory; and, of an output, may be written and are apart. */
ferry_status elementwise_check_memory(const ferry_view *view, const char *what);
ferry_status elementwise_check_output(const ferry_view *out);

/* to[...] = from[...], and out[...] = value; cast however, where the caller has settled that it may be. */
ferry_status elementwise_copy(const ferry_view *to, const ferry_view *from, ferry_stream *stream);
ferry_status elementwise_fill(const ferry_view *out, int64_t value, ferry_stream *stream);

#endif
