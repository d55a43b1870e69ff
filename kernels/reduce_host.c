#include "reduce_host.h"

#include <string.h>

#include "host_loops.h"
#include "reduce_plan.h"

#define ELEMENT_BYTES 8 /* the largest accumulator */

/* What a pass goes through. */
typedef struct worker {
    const reduce_pass *pass;
    host_loop combine;
    ferry_cast_function load, store;
    int64_t item; /* bytes of an accumulator */
    _Alignas(64) char lanes[REDUCE_LANES * ELEMENT_BYTES];
    _Alignas(64) char other[REDUCE_LANES * ELEMENT_BYTES];
} worker;

/* Elements first … first + n - 1 of those at `source`, as accumulators: run by run of the innermost axis. */
static void gather(const worker *w, const char *source, int64_t first, int64_t n, char *to) {
    const plan *p = &w->pass->reduced;
    const int64_t row = p->extent[p->ndim - 1], stride = p->stride[1][p->ndim - 1];
    while (n > 0) {
        const int64_t left = row - first % row, run = n < left ? n : left;
        w->load(to, w->item, source + plan_offset(p, 1, first), stride, run);
        to += run * w->item;
        first += run;
        n -= run;
    }
}

/* Halves the lanes until one is left: pairs into the other buffer, an odd one behind them. */
static char *combine_lanes(worker *w, int64_t n) {
    char *from = w->lanes, *to = w->other;
    const size_t item = (size_t)w->item;
    for (; n > 1; n = (n + 1) / 2) {
        w->combine(to, w->item, from, 2 * w->item, from + item, 2 * w->item, n / 2);
        if (n % 2 == 1)
            memcpy(to + (size_t)(n / 2) * item, from + (size_t)(n - 1) * item, item);
        char *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* A chunk's value; in one of w's buffers. */
static char *reduce_chunk(worker *w, const char *source, int64_t chunk) {
    const int64_t first = chunk * REDUCE_CHUNK, left = w->pass->reduced.size - first;
    const int64_t count = left < REDUCE_CHUNK ? left : REDUCE_CHUNK;
    const int64_t lanes = count < REDUCE_LANES ? count : REDUCE_LANES;
    gather(w, source, first, lanes, w->lanes);
    for (int64_t done = lanes; done < count; done += REDUCE_LANES) {
        const int64_t n = count - done < REDUCE_LANES ? count - done : REDUCE_LANES;
        gather(w, source, first + done, n, w->other);
        w->combine(w->lanes, w->item, w->lanes, w->item, w->other, w->item, n);
    }
    return combine_lanes(w, lanes);
}

static void worker_make(worker *w, const reduce_pass *p) {
    w->pass = p;
    w->combine = host_loop_find(p->op, p->accumulator, p->accumulator);
    w->load = ferry_dtype_cast(p->kept.dtype[1], p->accumulator);
    w->store = ferry_dtype_cast(p->accumulator, p->kept.dtype[0]);
    w->item = (int64_t)ferry_dtype_size(p->accumulator);
}

void reduce_host_run(const ferry_grid *grid, void *const *args) {
    (void)grid;
    reduce_pass p; /* the argument may lie at any alignment */
    memcpy(&p, args[0], sizeof p);
    worker w;
    worker_make(&w, &p);
    char *target = ferry_device_pointer(p.kept.data[0]);
    const char *source = ferry_device_pointer(p.kept.data[1]);
    const int64_t item = (int64_t)ferry_dtype_size(p.kept.dtype[0]);
    for (int64_t o = 0; o < p.kept.size; o++) {
        char *to = target + plan_offset(&p.kept, 0, o);
        const char *from = source + plan_offset(&p.kept, 1, o);
        for (int64_t chunk = 0; chunk < p.chunks; chunk++)
            w.store(to + chunk * item, 0, reduce_chunk(&w, from, chunk), 0, 1);
    }
}
