#include <stdio.h>

#include "operations.h"
#include "tool.h"

static const char *operation_name(size_t i) {
    return ferry_op_name((ferry_op)i);
}

int find_operation(const char *name, ferry_op *out) {
    if (ferry_op_find(name, out) == FERRY_OK)
        return EXIT_DONE;
    const char *near = closest_name(name, operation_name, FERRY_OP_COUNT);
    if (near)
        return fail_usage("apply", "unknown operation '%s': did you mean '%s'? 'ferry apply --list' names them all",
                          name, near);
    return fail_usage("apply", "unknown operation '%s': 'ferry apply --list' names them all", name);
}

/* The loop that inputs of this one type run in: nothing is cast, so it is one of the operation's own. */
static bool own_loop(ferry_op op, ferry_dtype dtype, ferry_dtype *result) {
    const ferry_dtype in[] = {dtype, dtype};
    ferry_dtype compute;
    return ferry_op_dtypes(op, in, ferry_op_arity(op), &compute, result) == FERRY_OK && compute == dtype;
}

static void list_operation(ferry_op op) {
    printf("%-14s %d      ", ferry_op_name(op), ferry_op_arity(op));
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        ferry_dtype dtype = (ferry_dtype)i, result;
        if (!own_loop(op, dtype, &result))
            continue;
        printf(" %s", ferry_dtype_name(dtype));
        if (result != dtype)
            printf("->%s", ferry_dtype_name(result));
    }
    putchar('\n');
}

int list_operations(void) {
    puts("operation      inputs  types (others are cast as NumPy does)");
    for (int i = 0; i < FERRY_OP_COUNT; i++)
        list_operation((ferry_op)i);
    return finish_output();
}
