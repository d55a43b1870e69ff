#include "host_loops.h"

static const host_loops *const tables[FERRY_FLOAT64 + 1] = {
    [FERRY_BOOL] = host_loops_truth,      [FERRY_INT8] = host_loops_int8,       [FERRY_UINT8] = host_loops_uint8,
    [FERRY_INT16] = host_loops_int16,     [FERRY_UINT16] = host_loops_uint16,   [FERRY_INT32] = host_loops_int32,
    [FERRY_UINT32] = host_loops_uint32,   [FERRY_INT64] = host_loops_int64,     [FERRY_UINT64] = host_loops_uint64,
    [FERRY_FLOAT16] = host_loops_float16, [FERRY_FLOAT32] = host_loops_float32, [FERRY_FLOAT64] = host_loops_float64,
};

host_loop host_loop_find(ferry_op op, ferry_dtype first, ferry_dtype second) {
    if (first == FERRY_INT64 && second == FERRY_UINT64)
        return host_loops_int64_uint64[op].plain;
    if (first == FERRY_UINT64 && second == FERRY_INT64)
        return host_loops_uint64_int64[op].plain;
    return first <= FERRY_FLOAT64 ? tables[first][op].plain : NULL;
}

host_checked_loop host_checked_loop_find(ferry_op op, ferry_dtype compute) {
    return compute <= FERRY_FLOAT64 ? tables[compute][op].checked : NULL;
}
