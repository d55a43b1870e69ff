#include "host_kernel.h"

#include <string.h>

#include "exceptions.h"
#include "host_loops.h"
#include "ops_math.h"
#include "plan.h"

#define CHUNK 512        /* elements cast at a time: three buffers stay in the first-level cache */
#define ELEMENT_BYTES 16 /* the largest */

/* What one row of a plan goes through. A cast is NULL where the types agree. */
typedef struct pass {
    int noperands;
    host_loop loop;            /* NULL: a copy, by `store` alone */
    host_checked_loop checked; /* in its place when exceptions are asked for; NULL when it raises none */
    ferry_cast_function load[PLAN_OPERANDS], store;
    int64_t loaded_bytes[PLAN_OPERANDS], result_bytes;
    /* What store is looked at with when exceptions are asked for; `smallest` is 0 when it raises none. */
    ferry_cast_function result_value, out_value;
    double smallest;
    unsigned raised;
} pass;

static ferry_cast_function cast_between(ferry_dtype from, ferry_dtype to) {
    return from == to ? NULL : ferry_dtype_cast(from, to);
}

static void check_exceptions(pass *s, const plan *p) {
    s->checked = host_checked_loop_find(p->op, p->compute[0]);
    s->smallest = exceptions_smallest(p->result, p->dtype[0]);
    s->result_value = ferry_dtype_cast(p->result, FERRY_FLOAT64);
    s->out_value = ferry_dtype_cast(p->dtype[0], FERRY_FLOAT64);
}

static void pass_make(pass *s, const plan *p) {
    *s = (pass){.noperands = p->noperands};
    if (p->op == PLAN_COPY) {
        s->store = ferry_dtype_cast(p->dtype[1], p->dtype[0]);
        return;
    }
    s->loop = host_loop_find(p->op, p->compute[0], p->compute[1]);
    for (int k = 1; k < p->noperands; k++) {
        s->load[k] = cast_between(p->dtype[k], p->compute[k - 1]);
        s->loaded_bytes[k] = (int64_t)ferry_dtype_size(p->compute[k - 1]);
    }
    s->store = cast_between(p->result, p->dtype[0]);
    s->result_bytes = (int64_t)ferry_dtype_size(p->result);
    if (p->exceptions != NULL)
        check_exceptions(s, p);
}

static bool has_casts(const pass *s) {
    return s->store || s->load[1] || s->load[2];
}

static void run_loop(pass *s, char *const *data, const int64_t *stride, int64_t n) {
    int b = s->noperands - 1; /* a itself when there is no b */
    if (s->checked != NULL)
        s->raised |= s->checked(data[0], stride[0], data[1], stride[1], data[b], stride[b], n);
    else
        s->loop(data[0], stride[0], data[1], stride[1], data[b], stride[b], n);
}

static void run_store(pass *s, char *out, int64_t stride, const char *results, int64_t n) {
    s->store(out, stride, results, s->result_bytes, n);
    for (int64_t i = 0; i < n && s->smallest > 0; i++) {
        double result, element;
        s->result_value((char *)&result, 0, results + i * s->result_bytes, 0, 1);
        s->out_value((char *)&element, 0, out + i * stride, 0, 1);
        s->raised |= narrowed_f64(result, element, s->smallest);
    }
}

/* At most CHUNK elements, through buffers where types differ. */
static void run_chunk(pass *s, char *const *data, const int64_t *stride, int64_t n) {
    _Alignas(64) char buffer[PLAN_OPERANDS][CHUNK * ELEMENT_BYTES];
    char *at[PLAN_OPERANDS] = {data[0], data[1], data[2]};
    int64_t step[PLAN_OPERANDS] = {stride[0], stride[1], stride[2]};
    for (int k = 1; k < s->noperands; k++) {
        if (s->load[k]) {
            step[k] = stride[k] ? s->loaded_bytes[k] : 0;
            s->load[k](buffer[k], s->loaded_bytes[k], data[k], stride[k], step[k] ? n : 1);
            at[k] = buffer[k];
        }
    }
    if (s->store) {
        at[0] = buffer[0];
        step[0] = s->result_bytes;
    }
    run_loop(s, at, step, n);
    if (s->store)
        run_store(s, data[0], stride[0], buffer[0], n);
}

static void run_row(pass *s, char *const *data, const int64_t *stride, int64_t n) {
    if (!s->loop) {
        s->store(data[0], stride[0], data[1], stride[1], n);
        return;
    }
    if (!has_casts(s)) {
        run_loop(s, data, stride, n);
        return;
    }
    char *at[PLAN_OPERANDS] = {data[0], data[1], data[2]};
    for (int64_t done = 0; done < n; done += CHUNK) {
        run_chunk(s, at, stride, n - done < CHUNK ? n - done : CHUNK);
        for (int k = 0; k < s->noperands; k++)
            at[k] += CHUNK * stride[k];
    }
}

/* To the next row: counts the outer axes up like an odometer. False after the last. */
static bool next_row(const plan *p, int64_t *index, char **data) {
    for (int axis = p->ndim - 2; axis >= 0; axis--) {
        bool carry = ++index[axis] == p->extent[axis];
        for (int k = 0; k < p->noperands; k++)
            data[k] += p->stride[k][axis] * (carry ? 1 - p->extent[axis] : 1);
        if (!carry)
            return true;
        index[axis] = 0;
    }
    return false;
}

static void report(const plan *p, unsigned raised) {
    uint32_t *words = raised != 0 ? ferry_device_pointer(p->exceptions) : NULL;
    for (int i = 0; i < PLAN_EXCEPTIONS && words != NULL; i++) {
        if (raised >> i & 1)
            words[i] = 1;
    }
}

void host_kernel_run(const ferry_grid *grid, void *const *args) {
    (void)grid;
    plan p; /* the argument may lie at any alignment */
    memcpy(&p, args[0], sizeof p);
    pass s;
    pass_make(&s, &p);
    char *data[PLAN_OPERANDS] = {NULL};
    int64_t stride[PLAN_OPERANDS] = {0}, index[FERRY_MAX_DIMS] = {0};
    for (int k = 0; k < p.noperands; k++) {
        data[k] = ferry_device_pointer(p.data[k]);
        stride[k] = p.stride[k][p.ndim - 1];
    }
    do
        run_row(&s, data, stride, p.extent[p.ndim - 1]);
    while (next_row(&p, index, data));
    report(&p, s.raised);
}
