/* A call of an elementwise operation, checked and made ready before anything moves. */
#ifndef FERRY_KERNELS_ELEMENTWISE_H
#define FERRY_KERNELS_ELEMENTWISE_H

#include "ops.h"

/*
 * out[...] = op(in...), or a copy for PLAN_COPY (loop NULL), once the dtypes are settled: shapes, access, overlap,
 * kernels, launch.
 */
ferry_status elementwise_run(ferry_op op, const op_loop *loop, const ferry_view *const *in, int nin,
                             const ferry_view *out, ferry_stream *stream);

/* FERRY_INVALID_ARGUMENT unless the view is there, and its dtype and rank are possible. */
ferry_status elementwise_check_view(const ferry_view *view, const char *what);

#endif
