/* Random elementwise calls on plain memory. */
#ifndef FERRY_TESTS_KERNELS_CASES_H
#define FERRY_TESTS_KERNELS_CASES_H

#include <math.h>

#include "kernels/plan.h"
#include "tests/test.h"

#define CASE_BYTES 8192 /* of each operand's memory */

/* A shape of `size` elements at most: mostly small axes, some of one element. */
static inline int case_shape(test_random *random, int64_t *shape, int64_t size) {
    int ndim = (int)test_random_int(random, 0, 5);
    for (int axis = 0; axis < ndim; axis++) {
        int64_t extent = test_random_int(random, 1, test_random_int(random, 1, 9));
        shape[axis] = extent <= size ? extent : 1;
        size /= shape[axis];
    }
    return ndim;
}

/* A view of that shape somewhere in CASE_BYTES at `memory`, axes in any order, with gaps, reversed, at any alignment.
 */
static inline ferry_view case_view(test_random *random, char *memory, ferry_dtype dtype, int ndim,
                                   const int64_t *shape) {
    int64_t item = (int64_t)ferry_dtype_size(dtype), step = item, low = 0;
    bool plain = test_random_int(random, 0, 1);
    ferry_view view = {.dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++) {
        int axis = plain ? ndim - 1 - i : (int)((i * 3 + (int)item) % ndim);
        while (view.shape[axis] != 0)
            axis = (axis + 1) % ndim;
        bool reversed = !plain && test_random_int(random, 0, 3) == 0;
        step *= !plain && test_random_int(random, 0, 3) == 0 ? 2 : 1;
        view.shape[axis] = shape[axis];
        view.strides[axis] = reversed ? -step : step;
        low += reversed ? step * (shape[axis] - 1) : 0;
        step *= shape[axis];
    }
    if (step + item > CASE_BYTES)
        return case_view(random, memory, dtype, ndim, shape);
    int64_t start = test_random_int(random, 0, (CASE_BYTES - step - item) / item) * item;
    start += test_random_int(random, 0, 7) == 0 ? test_random_int(random, 0, item - 1) : 0;
    view.data = memory + start + low;
    return view;
}

/* An input that broadcasts to `shape`, seen in it. */
static inline ferry_view case_input(test_random *random, char *memory, ferry_dtype dtype, int ndim,
                                    const int64_t *shape) {
    int64_t own[FERRY_MAX_DIMS];
    int skipped = test_random_int(random, 0, 2) == 0 ? (int)test_random_int(random, 0, ndim) : 0;
    for (int axis = skipped; axis < ndim; axis++)
        own[axis - skipped] = test_random_int(random, 0, 4) == 0 ? 1 : shape[axis];
    ferry_view view = case_view(random, memory, dtype, ndim - skipped, own), broadcast;
    REQUIRE_OK(ferry_view_broadcast(&view, ndim, shape, &broadcast));
    return broadcast;
}

/* Bytes that are ordinary values more often than not. */
static inline void case_fill(test_random *random, char *memory, ferry_dtype dtype) {
    size_t item = ferry_dtype_size(dtype);
    ferry_cast_function from_int = ferry_dtype_cast(FERRY_INT64, dtype);
    for (size_t at = 0; at + item <= CASE_BYTES; at += item) {
        int64_t small = test_random_int(random, -20, 20);
        uint64_t bits[2] = {test_random_next(random), test_random_next(random)};
        if (test_random_int(random, 0, 3) == 0)
            memcpy(memory + at, bits, item);
        else
            from_int(memory + at, 0, (const char *)&small, 0, 1);
    }
}

static inline bool case_same_float(ferry_dtype dtype, const char *a, const char *b) {
    double x, y;
    ferry_dtype_cast(dtype, FERRY_FLOAT64)((char *)&x, 0, a, 0, 1);
    ferry_dtype_cast(dtype, FERRY_FLOAT64)((char *)&y, 0, b, 0, 1);
    return isnan(x) && isnan(y);
}

/* The same bits, or NaNs. */
static inline bool case_same_element(ferry_dtype dtype, const char *a, const char *b) {
    size_t item = ferry_dtype_size(dtype);
    if (memcmp(a, b, item) == 0)
        return true;
    if (ferry_dtype_kind(dtype) == 'f')
        return case_same_float(dtype, a, b);
    if (ferry_dtype_kind(dtype) != 'c')
        return false;
    ferry_dtype half = item == 8 ? FERRY_FLOAT32 : FERRY_FLOAT64;
    return (memcmp(a, b, item / 2) == 0 || case_same_float(half, a, b)) &&
           (memcmp(a + item / 2, b + item / 2, item / 2) == 0 || case_same_float(half, a + item / 2, b + item / 2));
}

/* Calls `each(context, offsets)` for every element, with the byte offset of each view's element. */
static inline void case_walk(const ferry_view *const *views, int nviews, void (*each)(void *, char *const *),
                             void *context) {
    int64_t index[FERRY_MAX_DIMS] = {0};
    for (;;) {
        char *at[PLAN_OPERANDS] = {NULL};
        for (int k = 0; k < nviews; k++) {
            at[k] = views[k]->data;
            for (int axis = 0; axis < views[k]->ndim; axis++)
                at[k] += index[axis] * views[k]->strides[axis];
        }
        each(context, at);
        int axis = views[0]->ndim - 1;
        while (axis >= 0 && ++index[axis] == views[0]->shape[axis])
            index[axis--] = 0;
        if (axis < 0)
            return;
    }
}

typedef struct case_comparison {
    ferry_dtype dtype;
    int64_t wrong;
} case_comparison;

static inline void case_compare(void *context, char *const *at) {
    case_comparison *c = context;
    c->wrong += !case_same_element(c->dtype, at[0], at[1]);
    memcpy(at[1], at[0], ferry_dtype_size(c->dtype));
}

/* How many elements of two views of one shape and type are not the same. The second's become the first's, so that the
 * memory around them can be compared afterwards. */
static inline int64_t case_differences(const ferry_view *want, const ferry_view *got) {
    case_comparison compared = {want->dtype, 0};
    case_walk((const ferry_view *const[]){want, got}, 2, case_compare, &compared);
    return compared.wrong;
}

#endif
