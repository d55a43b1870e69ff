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

/* Results are named where they are not the type itself: per type, or once at the end when all are the same. */
static void list_operation(ferry_op op) {
    bool listed[FERRY_DTYPE_COUNT], one_result = true;
    ferry_dtype results[FERRY_DTYPE_COUNT], result = FERRY_DTYPE_COUNT;
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        listed[i] = own_loop(op, (ferry_dtype)i, &results[i]);
        if (listed[i] && result == FERRY_DTYPE_COUNT)
            result = results[i];
        one_result = one_result && (!listed[i] || results[i] == result);
    }
    printf("%-14s %d      ", ferry_op_name(op), ferry_op_arity(op));
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        bool differs = listed[i] && !one_result && results[i] != (ferry_dtype)i;
        if (listed[i])
            printf(" %s%s%s", ferry_dtype_name((ferry_dtype)i), differs ? "->" : "",
                   differs ? ferry_dtype_name(results[i]) : "");
    }
    if (one_result)
        printf(" -> %s", ferry_dtype_name(result));
    putchar('\n');
}

int list_operations(void) {
    puts("operation      inputs  types (others are cast as NumPy does)");
    for (int i = 0; i < FERRY_OP_COUNT; i++)
        list_operation((ferry_op)i);
    return finish_output();
}
