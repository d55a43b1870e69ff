#include "reductions.h"

#include <string.h>

#include "ops.h"

typedef enum accumulation { WIDER, SAME, TRUTH } accumulation;

typedef struct reduction_row {
    accumulation accumulation;
    bool has_identity;
    int64_t identity;
} reduction_row;

static const reduction_row rows[FERRY_REDUCTION_COUNT] = {
    [FERRY_REDUCTION_ADD] = {WIDER, true, 0},         [FERRY_REDUCTION_MULTIPLY] = {WIDER, true, 1},
    [FERRY_REDUCTION_MINIMUM] = {SAME, false, 0},     [FERRY_REDUCTION_MAXIMUM] = {SAME, false, 0},
    [FERRY_REDUCTION_LOGICAL_AND] = {TRUTH, true, 1}, [FERRY_REDUCTION_LOGICAL_OR] = {TRUTH, true, 0},
    [FERRY_REDUCTION_LOGICAL_XOR] = {TRUTH, true, 0}, [FERRY_REDUCTION_BITWISE_AND] = {SAME, true, -1},
    [FERRY_REDUCTION_BITWISE_OR] = {SAME, true, 0},   [FERRY_REDUCTION_BITWISE_XOR] = {SAME, true, 0},
};

static const ferry_op ops[FERRY_REDUCTION_COUNT] = {
#define OP(constant) [FERRY_REDUCTION_##constant] = FERRY_OP_##constant,
    FERRY_REDUCTION_LIST(OP)
#undef OP
};

static bool is_reduction(ferry_reduction reduction) {
    return (unsigned)reduction < FERRY_REDUCTION_COUNT;
}

const char *ferry_reduction_name(ferry_reduction reduction) {
    return is_reduction(reduction) ? ferry_op_name(ops[reduction]) : "?";
}

ferry_status ferry_reduction_find(const char *name, ferry_reduction *out) {
    if (name == NULL)
        return ferry_error(FERRY_INVALID_ARGUMENT, "the name of a reduction is missing (NULL)");
    for (unsigned i = 0; i < FERRY_REDUCTION_COUNT; i++) {
        if (strcmp(ferry_op_name(ops[i]), name) == 0) {
            *out = (ferry_reduction)i;
            return FERRY_OK;
        }
    }
    return ferry_error(FERRY_NOT_FOUND, "there is no reduction \"%.64s\"", name);
}

/* What sums are made in: the widest integer, and for floats the next wider one, so that they are rounded once. */
static ferry_dtype wider(ferry_dtype in) {
    switch (ferry_dtype_kind(in)) {
    case 'u':
        return FERRY_UINT64;
    case 'f':
        return in == FERRY_FLOAT16 ? FERRY_FLOAT32 : FERRY_FLOAT64;
    default:
        return FERRY_INT64;
    }
}

ferry_status reduction_resolve(ferry_reduction reduction, ferry_dtype in, reduction_types *out) {
    if (!is_reduction(reduction))
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no reduction", (int)reduction);
    op_loop loop;
    ferry_status status = op_resolve(ops[reduction], (const ferry_dtype[]){in, in}, 2, &loop);
    if (status != FERRY_OK)
        return status;
    const accumulation how = rows[reduction].accumulation;
    const ferry_dtype accumulator = how == WIDER ? wider(in) : how == TRUTH ? FERRY_BOOL : in;
    const bool rounded = how == WIDER && ferry_dtype_kind(in) == 'f';
    *out = (reduction_types){ops[reduction], accumulator, rounded ? in : accumulator};
    return FERRY_OK;
}

bool reduction_identity(ferry_reduction reduction, int64_t *value) {
    *value = rows[reduction].identity;
    return rows[reduction].has_identity;
}

ferry_status ferry_reduce_dtype(ferry_reduction reduction, ferry_dtype in, ferry_dtype *out) {
    if ((unsigned)in >= FERRY_DTYPE_COUNT)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no data type", (int)in);
    reduction_types types = {0};
    const ferry_status status = reduction_resolve(reduction, in, &types);
    if (status != FERRY_OK)
        return status;
    *out = types.result;
    return FERRY_OK;
}
