/* From how many elements on a launch is faster than the host's own loop. */
#ifndef FERRY_PAYS_H
#define FERRY_PAYS_H

#include "ferry/apply.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The host's own loop, run once over n contiguous elements: operands are the inputs, then the output. It calls nothing
 * of ferry's and waits for no other thread: one that asks ferry_op_pays too waits meanwhile.
 */
typedef void (*ferry_pays_loop)(char *const *operands, int64_t n, void *context);

/*
 * The number of elements from which on ferry_apply_checked on `device`, waiting included, takes less time than `loop`
 * when all operands lie on the host; SIZE_MAX where it never does, as on the simulator, whose device is none. Inputs
 * have `dtype`, one that the operation computes in; the output has the result's type.
 *
 * Nothing is guessed: the first call for an operation and type times `loop` on this thread, for some milliseconds,
 * and the first for a device times a launch, which it may have to compile; what crossing costs is the link's
 * (ferry/link.h). Times are kept in the cache folder, so `loop` is not called on a machine that knows them, and the
 * answer is kept in the process: from then on a call takes nanoseconds. Launches and bytes that measuring takes show in
 * the counters. Thread-safe; one measures at a time. FERRY_INVALID_ARGUMENT, FERRY_DTYPE, FERRY_OUT_OF_MEMORY,
 * FERRY_COMPILE, FERRY_BACKEND.
 */
FERRY_API ferry_status ferry_op_pays(ferry_op op, ferry_dtype dtype, int device, ferry_pays_loop loop, void *context,
                                     size_t *elements);

#ifdef __cplusplus
}
#endif
#endif
