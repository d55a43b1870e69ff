/* Reductions: NumPy's ufunc.reduce on views. */
#ifndef FERRY_REDUCE_H
#define FERRY_REDUCE_H

#include "ferry/apply.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(CONSTANT): the operation of ferry/apply.h that combines two elements; names are its. */
#define FERRY_REDUCTION_LIST(X)                                                                                        \
    X(ADD)                                                                                                             \
    X(MULTIPLY)                                                                                                        \
    X(MINIMUM)                                                                                                         \
    X(MAXIMUM)                                                                                                         \
    X(LOGICAL_AND)                                                                                                     \
    X(LOGICAL_OR)                                                                                                      \
    X(LOGICAL_XOR)                                                                                                     \
    X(BITWISE_AND)                                                                                                     \
    X(BITWISE_OR)                                                                                                      \
    X(BITWISE_XOR)

typedef enum ferry_reduction {
#define FERRY_REDUCTION_ENUM(constant) FERRY_REDUCTION_##constant,
    FERRY_REDUCTION_LIST(FERRY_REDUCTION_ENUM)
#undef FERRY_REDUCTION_ENUM
        FERRY_REDUCTION_COUNT
} ferry_reduction;

/* NumPy's name of the ufunc ("add"); "?" for a value that is no reduction. */
FERRY_API const char *ferry_reduction_name(ferry_reduction reduction);
/* By NumPy's name; FERRY_NOT_FOUND. */
FERRY_API ferry_status ferry_reduction_find(const char *name, ferry_reduction *out);

/*
 * NumPy's result type: int64 or uint64 for sums and products of bools and integers, bool for the logical ones, else the
 * type itself. FERRY_DTYPE where the operation has no loop for it, FERRY_INVALID_ARGUMENT for no reduction or dtype.
 */
FERRY_API ferry_status ferry_reduce_dtype(ferry_reduction reduction, ferry_dtype in, ferry_dtype *out);

#define FERRY_REDUCE_ALL UINT32_MAX /* as axes: every axis, however many */

/*
 * out[...] = the reduction of in over the axes whose bits are set in `axes` (bit i: axis i), in stream order. out has
 * in's shape without those axes, any strides, and a dtype to which ferry_reduce_dtype's casts by the same-kind rule; it
 * may overlap in, as if in were copied first. All views lie in ferry memory. Over no elements the result is the
 * operation's identity; minimum and maximum have none: FERRY_SHAPE.
 *
 * Integers wrap; a NaN among floats makes minimum and maximum NaN. Sums and products of float16 are made in float32, of
 * float32 in float64, and rounded once. The elements are combined in one order, which depends on the extents and the
 * order of the axes in memory alone: results are the same bits on every device, on the host, and from run to run
 * (docs/kernels.md).
 *
 * FERRY_SHAPE, FERRY_DTYPE, FERRY_CAST, FERRY_INVALID_ARGUMENT, FERRY_LIMIT, FERRY_COMPILE, FERRY_BACKEND; until a
 * failure of the device nothing is written. The views may go out of scope and the memory be freed at once. Thread-safe.
 */
FERRY_API ferry_status ferry_reduce(ferry_reduction reduction, const ferry_view *in, uint32_t axes,
                                    const ferry_view *out, ferry_stream *stream);

/*
 * ferry_reduce, which then waits for the stream, its earlier work included, and gives what NumPy would have raised for
 * the results of sums and products of floats: FERRY_FP_OVERFLOW for an infinity of finite elements, FERRY_FP_INVALID
 * for a NaN of others, FERRY_FP_UNDERFLOW for a product of 0 without a factor of 0; else 0. What NumPy raises on the
 * way to a finite result, or for a subnormal one, is not told. *exceptions is written on success only. Thread-safe.
 * Errors are those of ferry_reduce.
 */
FERRY_API ferry_status ferry_reduce_checked(ferry_reduction reduction, const ferry_view *in, uint32_t axes,
                                            const ferry_view *out, ferry_stream *stream, unsigned *exceptions);

#ifdef __cplusplus
}
#endif
#endif
