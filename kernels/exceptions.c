#include "exceptions.h"

#include <string.h>

#include "elementwise.h"
#include "ferry/site.h"
#include "ops_math.h"
#include "plan.h"

double exceptions_smallest(ferry_dtype from, ferry_dtype to) {
    if (to == FERRY_FLOAT16 && from != FERRY_FLOAT16)
        return FERRY_SMALLEST_F16;
    return (to == FERRY_FLOAT32 || to == FERRY_COMPLEX64) && from == FERRY_FLOAT64 ? FERRY_SMALLEST_F32 : 0;
}

static bool are_possible(const op_loop *loop, ferry_dtype out) {
    return loop->raises != NULL || exceptions_smallest(loop->result, out) > 0;
}

/* A kernel may still write the words until the stream is known to be idle: else they are lost rather than reused. */
static ferry_status finish(ferry_status status, ferry_stream *stream, uint32_t *words, unsigned *exceptions) {
    const ferry_status synced = ferry_stream_sync(stream);
    unsigned raised = 0;
    for (int i = 0; i < PLAN_EXCEPTIONS && words != NULL && synced == FERRY_OK; i++)
        raised |= words[i] != 0 ? 1u << i : 0;
    if (synced == FERRY_OK)
        ferry_free(words);
    if (status == FERRY_OK && synced == FERRY_OK)
        *exceptions = raised;
    return status != FERRY_OK ? status : synced;
}

/* The words lie among the small blocks, which never migrate, so that kernels and the host may use them side by side. */
static ferry_status run_checked(elementwise_call *call, unsigned *exceptions) {
    if (are_possible(call->loop, call->out->dtype)) {
        call->exceptions = ferry_calloc(PLAN_EXCEPTIONS, sizeof *call->exceptions);
        if (call->exceptions == NULL)
            return FERRY_LIMIT;
    }
    return finish(elementwise_run(call), call->stream, call->exceptions, exceptions);
}

ferry_status ferry_apply_checked(ferry_op op, const ferry_view *const *in, int nin, const ferry_view *out,
                                 ferry_stream *stream, unsigned *exceptions) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    op_loop loop;
    elementwise_call call = {.op = op, .loop = &loop, .in = in, .nin = nin, .out = out, .stream = stream};
    ferry_status status = exceptions == NULL
                              ? ferry_error(FERRY_INVALID_ARGUMENT, "there is nowhere to put the exceptions (NULL)")
                              : elementwise_resolve(&call, &loop);
    if (status == FERRY_OK)
        status = run_checked(&call, exceptions);
    ferry_site_set(before);
    return status;
}
