/* The host's inner loops: one per operation and compute type, made from ferry/ops.def. */
#ifndef FERRY_KERNELS_HOST_LOOPS_H
#define FERRY_KERNELS_HOST_LOOPS_H

#include "ferry/apply.h"

/*
 * out[i] = op(a[i], b[i]) for i < n at strides in bytes, any alignment. Inputs have the compute type, out the result
 * type. An operation of one input reads a only. out is disjoint from an input or the same address with the same stride
 * and item size.
 */
typedef void (*host_loop)(char *out, int64_t out_stride, const char *a, int64_t a_stride, const char *b,
                          int64_t b_stride, int64_t n);

/* The same, and gives what the elements raised: FERRY_FP_ values. */
typedef unsigned (*host_checked_loop)(char *out, int64_t out_stride, const char *a, int64_t a_stride, const char *b,
                                      int64_t b_stride, int64_t n);

/* NULL where the operation raises nothing in that type. */
host_checked_loop host_checked_loop_find(ferry_op op, ferry_dtype compute);

/* NULL where the operation has no loop of that type. `second` is `first` but for the MIXED loops. */
host_loop host_loop_find(ferry_op op, ferry_dtype first, ferry_dtype second);

typedef struct host_loops {
    host_loop plain;
    host_checked_loop checked;
} host_loops;

/* One table per type, by operation; bool is a macro, so its name here is another. */
#define HOST_LOOP_TABLES(X)                                                                                            \
    X(truth)                                                                                                           \
    X(int8)                                                                                                            \
    X(uint8)                                                                                                           \
    X(int16)                                                                                                           \
    X(uint16)                                                                                                          \
    X(int32)                                                                                                           \
    X(uint32)                                                                                                          \
    X(int64)                                                                                                           \
    X(uint64)                                                                                                          \
    X(float16)                                                                                                         \
    X(float32)                                                                                                         \
    X(float64)                                                                                                         \
    X(int64_uint64)                                                                                                    \
    X(uint64_int64)

/* For the loops' own files. gcc vectorises in place too when told that iterations do not depend on one another. */
#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif
#define BOOL_VALUE(bits) ((uint8_t)((bits) != 0))

#define HOST_LOOP_TABLE(name) extern const host_loops host_loops_##name[FERRY_OP_COUNT];
HOST_LOOP_TABLES(HOST_LOOP_TABLE)
#undef HOST_LOOP_TABLE

#endif
