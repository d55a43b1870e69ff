/*
 * Full reductions. NumPy calls the loop with an element that is output and first input at once, and holds the initial
 * value: the device reduces the array to one element, and NumPy's loop combines the two.
 */
#include "loop.h"

#include <fenv.h>

#include "loop_trial.h"
#include "scopes.h"

#define ELEMENT_BYTES 16

static bool input_fits(const loop *l, const char *data, npy_intp step) {
    const uintptr_t bytes = ferry_dtype_size(l->dtypes[1]);
    return step != 0 && (((uintptr_t)data | (uintptr_t)step) & (bytes - 1)) == 0 && ferry_owns(data);
}

/* *result is one element in ferry memory. Waits. */
static ferry_status reduce(const loop *l, char *data, int64_t n, npy_intp step, void *result) {
    ferry_view in = {.data = data, .dtype = l->dtypes[1], .ndim = 1};
    const ferry_view out = {.data = result, .dtype = l->dtypes[2], .ndim = 0};
    fexcept_t flags;
    unsigned exceptions = 0;
    in.shape[0] = n;
    in.strides[0] = step;
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    const ferry_status status =
        ferry_reduce_checked(l->reduction, &in, FERRY_REDUCE_ALL, &out, thread_stream(), &exceptions);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    loop_raise_exceptions(exceptions);
    return status;
}

static void combine(const loop *l, char **args, void *result, void *data) {
    char *operands[] = {args[0], result, args[2]};
    const npy_intp one = 1, steps[LOOP_OPERANDS] = {0, 0, 0};
    l->numpy(operands, &one, steps, data);
}

static bool serve(loop *l, char **args, int64_t n, npy_intp step, void *result, void *data) {
    const ferry_status status = reduce(l, args[1], n, step, result);
    if (loop_is_refusal(status))
        return false;
    if (status != FERRY_OK) {
        loop_raise(status);
        return true;
    }
    combine(l, args, result, data);
    atomic_fetch_add_explicit(&l->launches, 1, memory_order_relaxed);
    return true;
}

static ferry_status host_side(const trial *t, int64_t n) {
    char *element = t->arrays[2].view.data, *args[] = {element, t->arrays[1].view.data, element};
    const npy_intp dimension = n, steps[] = {0, (npy_intp)ferry_dtype_size(t->loop->dtypes[1]), 0};
    t->loop->numpy(args, &dimension, steps, t->data);
    return FERRY_OK;
}

static ferry_status device_side(const trial *t, int64_t n) {
    const npy_intp step = (npy_intp)ferry_dtype_size(t->loop->dtypes[1]);
    return reduce(t->loop, t->arrays[1].view.data, n, step, t->arrays[2].view.data);
}

int64_t loop_measure_reduction(const loop *l, void *data) {
    static const int64_t lengths[] = {1 << 15, 1 << 18};
    trial t = {.loop = l, .data = data};
    if (trial_create(&t, lengths[1], 1) != FERRY_OK)
        return LOOP_NEVER;
    const int64_t elements = trial_run(&t, host_side, device_side, lengths, lengths);
    trial_destroy(&t);
    return elements;
}

bool loop_serve_reduction(loop *l, char **args, int64_t n, const npy_intp *steps, void *data) {
    if (n < loop_gate(&l->reduction_length) || !input_fits(l, args[1], steps[1]) ||
        n < loop_length(l, data, &l->reduction_length, loop_measure_reduction))
        return false;
    void *result = ferry_malloc(ELEMENT_BYTES);
    const bool served = result != NULL && serve(l, args, n, steps[1], result, data);
    ferry_free(result);
    return served;
}
