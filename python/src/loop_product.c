/* np.matmul, and with it the operator @. */
#include "loop.h"

#include <fenv.h>

#include "loop_trial.h"
#include "scopes.h"

/* NumPy's dimensions: so many products of (m, k) with (k, n). */
enum { PRODUCTS, M, K, N };

/* Of an operand's strides: that of the stack is apart from the two of the matrices. */
static ferry_view view_of_matrices(const loop *l, int operand, char *data, const npy_intp *dimensions,
                                   const npy_intp *steps) {
    static const int rows[LOOP_OPERANDS] = {M, K, M}, columns[LOOP_OPERANDS] = {K, N, N};
    const npy_intp *core = steps + LOOP_OPERANDS + 2 * operand;
    ferry_view view = {.data = data, .dtype = l->dtypes[operand]};
    if (dimensions[PRODUCTS] > 1) {
        view.shape[0] = dimensions[PRODUCTS];
        view.strides[view.ndim++] = steps[operand];
    }
    view.shape[view.ndim] = dimensions[rows[operand]];
    view.strides[view.ndim++] = core[0];
    view.shape[view.ndim] = dimensions[columns[operand]];
    view.strides[view.ndim++] = core[1];
    return view;
}

static bool fits(const ferry_view *view) {
    uintptr_t bits = (uintptr_t)view->data;
    for (int axis = 0; axis < view->ndim; axis++)
        bits |= (uintptr_t)view->strides[axis];
    return ferry_owns(view->data) && (bits & (ferry_dtype_size(view->dtype) - 1)) == 0;
}

/* The simulator's kernels leave flags of their own. */
static ferry_status multiply(const ferry_view *views) {
    fexcept_t flags;
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    const ferry_status status = thread_launched(ferry_matmul(&views[0], &views[1], &views[2], thread_stream()));
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    return status;
}

/* Multiplications, at most LOOP_NEVER. */
static int64_t work_of(const npy_intp *dimensions) {
    int64_t work = 1;
    for (int i = PRODUCTS; i <= N; i++) {
        if (__builtin_mul_overflow(work, (int64_t)dimensions[i], &work))
            return LOOP_NEVER;
    }
    return work;
}

static ferry_status host_side(const trial *t, int64_t size) {
    const npy_intp bytes = (npy_intp)ferry_dtype_size(t->loop->dtypes[2]), row = size * bytes;
    const npy_intp dimensions[] = {1, size, size, size}, steps[] = {0, 0, 0, row, bytes, row, bytes, row, bytes};
    char *args[LOOP_OPERANDS];
    for (int i = 0; i < LOOP_OPERANDS; i++)
        args[i] = t->arrays[i].view.data;
    t->loop->numpy(args, dimensions, steps, t->data);
    return FERRY_OK;
}

static ferry_status device_side(const trial *t, int64_t size) {
    const int64_t shape[] = {size, size};
    ferry_view views[LOOP_OPERANDS];
    for (int i = 0; i < LOOP_OPERANDS; i++) {
        const ferry_status status = ferry_view_make(t->arrays[i].view.data, t->loop->dtypes[i], 2, shape, &views[i]);
        if (status != FERRY_OK)
            return status;
    }
    const ferry_status status = multiply(views);
    return status == FERRY_OK ? thread_settle() : status;
}

/* Small ones: NumPy's loops for integers take a second for 1000 by 1000. */
int64_t loop_measure_product(const loop *l, void *data) {
    static const int64_t sizes[] = {64, 128}, work[] = {64 * 64 * 64, 128 * 128 * 128};
    trial t = {.loop = l, .data = data};
    if (trial_create(&t, sizes[1] * sizes[1], sizes[1] * sizes[1]) != FERRY_OK)
        return LOOP_NEVER;
    const int64_t multiplications = trial_run(&t, host_side, device_side, sizes, work);
    trial_destroy(&t);
    return multiplications;
}

bool loop_serve_product(loop *l, char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const int64_t work = work_of(dimensions);
    ferry_view views[LOOP_OPERANDS];
    if (work < 1 || work < loop_gate(&l->length))
        return false;
    for (int i = 0; i < LOOP_OPERANDS; i++) {
        views[i] = view_of_matrices(l, i, args[i], dimensions, steps);
        if (!fits(&views[i]))
            return false;
    }
    if (work < loop_length(l, data, &l->length, loop_measure_product))
        return false;
    const ferry_status status = multiply(views);
    if (loop_is_refusal(status))
        return false;
    if (status != FERRY_OK)
        loop_raise(status);
    else
        atomic_fetch_add_explicit(&l->launches, 1, memory_order_relaxed);
    return true;
}
