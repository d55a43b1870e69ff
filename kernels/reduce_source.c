#include "reduce_source.h"

#include "reduce_text.h"

#define COLUMNS_LEAST 16         /* results side by side in memory, for threads to go across them */
#define COLUMN_LANES_LEAST 8     /* lanes of a thread that goes down a column */
#define COLUMN_ROWS_MOST 32      /* threads that share a column */
#define THREADS_ENOUGH (1 << 18) /* in a grid, to keep any device's memory busy */

static int64_t item_bytes(ferry_dtype dtype) {
    return (int64_t)ferry_dtype_size(dtype);
}

static int64_t inner_stride(const plan *p) {
    const int64_t stride = p->stride[1][p->ndim - 1];
    return stride < 0 ? -stride : stride;
}

/* Whether results lie closer together in the source than the elements of one. */
static bool goes_across_results(const reduce_pass *p) {
    return p->kept.extent[p->kept.ndim - 1] >= COLUMNS_LEAST && p->reduced.size > 1 &&
           inner_stride(&p->kept) < inner_stride(&p->reduced);
}

static bool is_packed(const reduce_pass *p) {
    const int64_t item = item_bytes(p->kept.dtype[1]), bytes = REDUCE_PACK * item < 16 ? REDUCE_PACK * item : 16;
    uint64_t bits = (uint64_t)(uintptr_t)p->kept.data[1];
    for (int axis = 0; axis < p->kept.ndim; axis++)
        bits |= (uint64_t)p->kept.stride[1][axis];
    return !goes_across_results(p) && p->reduced.ndim == 1 && p->reduced.stride[1][0] == item &&
           (bits & (uint64_t)(bytes - 1)) == 0;
}

void reduce_form_make(reduce_form *form, const reduce_pass *p) {
    *form = (reduce_form){.op = p->op,
                          .in = p->kept.dtype[1],
                          .accumulator = p->accumulator,
                          .out = p->kept.dtype[0],
                          .packed = is_packed(p),
                          .aligned = plan_is_aligned(&p->kept) && plan_is_aligned(&p->reduced),
                          .wide = p->kept.size > INT32_MAX || p->reduced.size > INT32_MAX,
                          .kept_rank = device_rank_for(p->kept.ndim),
                          .reduced_rank = device_rank_for(p->reduced.ndim)};
}

uint64_t reduce_form_key(const reduce_form *form) {
    uint64_t key = (uint64_t)form->op;
    key = key << 4 | (uint64_t)form->in;
    key = key << 4 | (uint64_t)form->accumulator;
    key = key << 4 | (uint64_t)form->out;
    key = key << 3 | (uint64_t)form->packed << 2 | (uint64_t)form->aligned << 1 | (uint64_t)form->wide;
    return key << 12 | (uint64_t)form->kept_rank << 6 | (uint64_t)form->reduced_rank;
}

/* The least power of two that is no less than n, which is 1 at least. */
static uint32_t power_above(uint32_t n, uint32_t *shift) {
    *shift = 0;
    while (UINT32_C(1) << *shift < n)
        ++*shift;
    return UINT32_C(1) << *shift;
}

/* More threads to a column only where there are too few columns. */
static uint32_t column_rows(const reduce_pass *p, uint32_t lanes) {
    uint32_t rows = 1;
    while (rows < COLUMN_ROWS_MOST && rows * COLUMN_LANES_LEAST < lanes &&
           p->kept.size < THREADS_ENOUGH / rows / p->chunks)
        rows *= 2;
    return rows;
}

int64_t reduce_threads_make(reduce_threads *t, const reduce_pass *p) {
    const uint32_t lanes = p->reduced.size < REDUCE_LANES ? (uint32_t)p->reduced.size : REDUCE_LANES;
    const bool across = goes_across_results(p);
    uint32_t y_bits, x_bits, span_bits;
    const uint32_t y = power_above(across ? column_rows(p, lanes) : (lanes + REDUCE_PACK - 1) / REDUCE_PACK, &y_bits);
    const uint32_t x = power_above(REDUCE_THREADS / y, &x_bits);
    *t = (reduce_threads){.chunks = p->chunks,
                          .target_bytes = item_bytes(p->kept.dtype[0]),
                          .x_shift = across ? 0 : y_bits,
                          .x_mask = x - 1,
                          .y_shift = across ? x_bits : 0,
                          .y_mask = y - 1,
                          .span = across ? power_above(lanes, &span_bits) / y : REDUCE_PACK,
                          .results_follow = across};
    return ((p->kept.size - 1) / x + 1) * p->chunks;
}

void reduce_source_frame(text_buffer *source) {
    device_source_frame(source);
    text_format(source,
                "#define REDUCE_LANES %d\n#define REDUCE_ROUNDS %d\n#define REDUCE_CHUNK %d\n"
                "#define REDUCE_THREADS %d\n#define REDUCE_PACK %d\n",
                REDUCE_LANES, REDUCE_ROUNDS, REDUCE_CHUNK, REDUCE_THREADS, REDUCE_PACK);
    text_append(source, reduce_text, sizeof reduce_text);
}

ferry_status reduce_source_kernel(const reduce_form *form, const char *name, text_buffer *source) {
    const ferry_dtype a = form->accumulator;
    const device_form operation = {.op = form->op, .dtype = {a, a, a}};
    ferry_status status = device_source_operation(&operation, name, source);
    if (status != FERRY_OK)
        return status;
    const char *geometry = form->wide ? "wide" : "narrow";
    text_format(source,
                "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                "%s(char *target, const char *source, const %s_geometry<%d> kept, const %s_geometry<%d> reduced,\n"
                "   const reduce_threads threads) {\n"
                "    run_reduce<operation_%s, dtype_%s, dtype_%s, %s, %s, %d, %d>(target, source, kept, reduced, "
                "threads);\n}\n",
                REDUCE_THREADS, name, geometry, form->kept_rank, geometry, form->reduced_rank, name,
                ferry_dtype_name(form->in), ferry_dtype_name(form->out), form->packed ? "true" : "false",
                form->aligned ? "true" : "false", form->kept_rank, form->reduced_rank);
    return text_status(source);
}

ferry_status reduce_source_make(const reduce_form *form, text_buffer *source) {
    reduce_source_frame(source);
    return reduce_source_kernel(form, REDUCE_KERNEL_NAME, source);
}
