#include "ops.h"

#include <string.h>

typedef enum op_class { CLASS_BOOL, CLASS_INTEGERS, CLASS_FLOATS, CLASS_ANY, CLASS_MIXED, CLASS_COUNT } op_class;
typedef enum op_result { RESULT_NONE, RESULT_SAME, RESULT_BOOL, RESULT_FLOAT64, RESULT_REFUSED } op_result;

typedef struct op_line {
    op_result result;
    const char *expression;
} op_line;

/* A line that ops.def does not have is RESULT_NONE. */
static const op_line lines[FERRY_OP_COUNT][CLASS_COUNT] = {
#define FERRY_OP(constant, name, arity)
#define FERRY_LOOP(constant, classes, result, ...)                                                                     \
    [FERRY_OP_##constant][CLASS_##classes] = {RESULT_##result, #__VA_ARGS__},
#include "ferry/ops.def"
#undef FERRY_OP
#undef FERRY_LOOP
};

/* NULL where ops.def has no line: nothing is raised. */
static const char *const raises[FERRY_OP_COUNT][CLASS_COUNT] = {
#define FERRY_OP(constant, name, arity)
#define FERRY_LOOP(constant, classes, result, ...)
#define FERRY_RAISES(constant, classes, ...) [FERRY_OP_##constant][CLASS_##classes] = #__VA_ARGS__,
#include "ferry/ops.def"
#undef FERRY_OP
#undef FERRY_LOOP
#undef FERRY_RAISES
};

static const struct {
    const char *name;
    int arity;
} ops[FERRY_OP_COUNT] = {
#define FERRY_OP(constant, name, arity) [FERRY_OP_##constant] = {name, arity},
#define FERRY_LOOP(constant, classes, result, ...)
#include "ferry/ops.def"
#undef FERRY_OP
#undef FERRY_LOOP
};

static bool is_op(ferry_op op) {
    return (unsigned)op < FERRY_OP_COUNT;
}

const char *ferry_op_name(ferry_op op) {
    return is_op(op) ? ops[op].name : "?";
}

int ferry_op_arity(ferry_op op) {
    return is_op(op) ? ops[op].arity : 0;
}

ferry_status ferry_op_find(const char *name, ferry_op *out) {
    if (name == NULL)
        return ferry_error(FERRY_INVALID_ARGUMENT, "the name of an operation is missing (NULL)");
    for (unsigned op = 0; op < FERRY_OP_COUNT; op++) {
        if (strcmp(ops[op].name, name) == 0) {
            *out = (ferry_op)op;
            return FERRY_OK;
        }
    }
    return ferry_error(FERRY_NOT_FOUND, "there is no operation \"%.64s\"", name);
}

ferry_status op_check(ferry_op op, int nin) {
    if (!is_op(op))
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no operation", (int)op);
    if (nin != ops[op].arity)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s takes %d input%s, not %d", ops[op].name, ops[op].arity,
                           ops[op].arity == 1 ? "" : "s", nin);
    return FERRY_OK;
}

static op_class class_of(ferry_dtype dtype) {
    switch (ferry_dtype_kind(dtype)) {
    case 'b':
        return CLASS_BOOL;
    case 'f':
        return CLASS_FLOATS;
    default:
        return CLASS_INTEGERS;
    }
}

/* The line for a compute type; its result is RESULT_NONE where there is none. */
static const op_line *line_of(ferry_op op, ferry_dtype compute) {
    const op_line *line = &lines[op][class_of(compute)];
    return line->result == RESULT_NONE ? &lines[op][CLASS_ANY] : line;
}

/* NumPy has loops for uint64 beside a signed integer: no integer type holds both. */
static bool is_mixed(const ferry_dtype *in, int nin) {
    return nin == 2 && ((in[0] == FERRY_UINT64 && ferry_dtype_kind(in[1]) == 'i') ||
                        (in[1] == FERRY_UINT64 && ferry_dtype_kind(in[0]) == 'i'));
}

static ferry_status refuse(ferry_op op, const ferry_dtype *in, int nin) {
    return ferry_error(FERRY_DTYPE, "%s has no loop for %s%s%s", ops[op].name, ferry_dtype_name(in[0]),
                       nin == 2 ? " and " : "", nin == 2 ? ferry_dtype_name(in[1]) : "");
}

/* The first type with a loop to which every input casts safely. FERRY_DTYPE_COUNT for none. */
static ferry_dtype first_loop(ferry_op op, const ferry_dtype *in, int nin) {
    unsigned compute = FERRY_BOOL;
    for (; compute <= FERRY_FLOAT64; compute++) {
        if (line_of(op, (ferry_dtype)compute)->result != RESULT_NONE &&
            ferry_dtype_can_cast(in[0], (ferry_dtype)compute, FERRY_CAST_SAFE) &&
            (nin == 1 || ferry_dtype_can_cast(in[1], (ferry_dtype)compute, FERRY_CAST_SAFE)))
            return (ferry_dtype)compute;
    }
    return FERRY_DTYPE_COUNT;
}

ferry_status op_resolve(ferry_op op, const ferry_dtype *in, int nin, op_loop *out) {
    const op_line *mixed = &lines[op][CLASS_MIXED];
    if (mixed->result != RESULT_NONE && is_mixed(in, nin)) {
        bool unsigned_first = in[0] == FERRY_UINT64;
        *out = (op_loop){
            .compute = {unsigned_first ? FERRY_UINT64 : FERRY_INT64, unsigned_first ? FERRY_INT64 : FERRY_UINT64},
            .result = FERRY_BOOL,
            .expression = mixed->expression};
        return FERRY_OK;
    }
    ferry_dtype compute = first_loop(op, in, nin);
    if (compute == FERRY_DTYPE_COUNT || line_of(op, compute)->result == RESULT_REFUSED)
        return refuse(op, in, nin);
    if (line_of(op, compute)->result == RESULT_FLOAT64)
        compute = FERRY_FLOAT64;
    const op_line *line = line_of(op, compute);
    *out = (op_loop){.compute = {compute, compute},
                     .result = line->result == RESULT_BOOL ? FERRY_BOOL : compute,
                     .expression = line->expression,
                     .raises = raises[op][class_of(compute)]};
    return FERRY_OK;
}

ferry_status ferry_op_dtypes(ferry_op op, const ferry_dtype *in, int nin, ferry_dtype *compute, ferry_dtype *result) {
    ferry_status status = op_check(op, nin);
    if (status != FERRY_OK)
        return status;
    for (int i = 0; i < nin; i++) {
        if ((unsigned)in[i] >= FERRY_DTYPE_COUNT)
            return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no data type", (int)in[i]);
    }
    op_loop loop;
    status = op_resolve(op, in, nin, &loop);
    if (status != FERRY_OK)
        return status;
    if (compute != NULL)
        *compute = loop.compute[0];
    if (result != NULL)
        *result = loop.result;
    return FERRY_OK;
}
