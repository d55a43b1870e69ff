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
int64_t loop_measure_launch(const loop *l, void *data) {
    numpy_loop numpy = {l, data};
    size_t elements;
    const ferry_status status = ferry_op_pays(l->op, l->dtypes[0], 0, run_numpy, &numpy, &elements);
    return status == FERRY_OK && elements < INT64_MAX ? (int64_t)elements : LOOP_NEVER;
}

bool loops_are_simulated(void) {
    const char *backend = ferry_backend_name();
    return backend == NULL || strcmp(backend, "sim") == 0;
}

int64_t loop_length(loop *l, void *data, _Atomic int64_t *length, loop_measure measure) {
    fexcept_t flags;
    const int64_t known = atomic_load_explicit(length, memory_order_relaxed);
    if (known != LOOP_MEASURED)
        return known;
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    const int64_t elements = loops_are_simulated() ? LOOP_NEVER : measure(l, data);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    loop_learn(l, length, elements);
    return elements;
}

int64_t loop_call_length(loop *l, bool reduces) {
    _Atomic int64_t *length = reduces ? &l->call_reduction_length : &l->call_length;
    const loop_measure measure = reduces                   ? loop_measure_reduction
                                 : l->op == FERRY_OP_COUNT ? loop_measure_product
                                                           : loop_measure_launch;
    int64_t elements = atomic_load_explicit(length, memory_order_relaxed);
    if (elements != LOOP_MEASURED)
        return elements;
    /* Compiling and timing take parts of a second, which other threads need not wait for. */
    Py_BEGIN_ALLOW_THREADS;
    elements = loop_length(l, l->ufunc->data[l->index], length, measure);
    Py_END_ALLOW_THREADS;
    return elements;
}
