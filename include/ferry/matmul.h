/* Matrix products: NumPy's matmul on views. */
#ifndef FERRY_MATMUL_H
#define FERRY_MATMUL_H

#include "ferry/movement.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * out[...] = a @ b in stream order: of (..., m, k) and (..., k, n), stacks broadcast; a of one axis is a row, b of one
 * axis a column, which out does not have. Computed in the type to which both promote, bool with or for plus, and cast
 * to out's dtype by the same-kind rule. Complex types have no loop: FERRY_DTYPE. k = 0 gives zeros. Any strides; out
 * may overlap the inputs, as if they were copied first. All views lie in ferry memory.
 *
 * On a device cuBLAS multiplies float32 and float64 where it is to be found at run time (FERRY_CUBLAS names the
 * library); everything else, and on the simulator everything, is summed in order of k, integers wrapping, float16 in
 * float32, float32 in float64, rounded once: the same bits on both. Matrices that have to be of another type, or, for
 * cuBLAS, to have one axis without gaps, are copied first.
 *
 * FERRY_SHAPE, FERRY_DTYPE, FERRY_CAST, FERRY_INVALID_ARGUMENT, FERRY_LIMIT, FERRY_COMPILE, FERRY_BACKEND; until a
 * failure of the device out is not written. The views may go out of scope and the memory be freed at once. Thread-safe.
 */
FERRY_API ferry_status ferry_matmul(const ferry_view *a, const ferry_view *b, const ferry_view *out,
                                    ferry_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
