/* From how many elements on a loop is launched, where nobody has said it: measured against NumPy's own loop. */
#include "loop.h"

#include <fenv.h>

/* NumPy's loop with the pointer that it wants. */
typedef struct numpy_loop {
    const loop *loop;
    void *data;
} numpy_loop;

static void run_numpy(char *const *operands, int64_t n, void *context) {
    const numpy_loop *numpy = context;
    const int count = numpy->loop->nin + 1;
    char *args[LOOP_OPERANDS];
    npy_intp steps[LOOP_OPERANDS];
    const npy_intp dimension = n;
    for (int i = 0; i < count; i++) {
        args[i] = operands[i];
        steps[i] = (npy_intp)ferry_dtype_size(numpy->loop->dtypes[i]);
    }
    numpy->loop->numpy(args, &dimension, steps, numpy->data);
}

/* Where it cannot be measured nothing is known to pay. */
static int64_t measure(const loop *l, void *data) {
    numpy_loop numpy = {l, data};
    size_t elements;
    const ferry_status status = ferry_op_pays(l->op, l->dtypes[0], 0, run_numpy, &numpy, &elements);
    return status == FERRY_OK && elements < INT64_MAX ? (int64_t)elements : LOOP_NEVER;
}

int64_t loop_length(loop *l, void *data) {
    fexcept_t flags;
    int64_t length = atomic_load_explicit(&l->length, memory_order_relaxed);
    if (length != LOOP_MEASURED)
        return length;
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    length = measure(l, data);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    loop_learn_length(l, length);
    return length;
}
