#include "matmul_host.h"

#include <string.h>

#include "host_loops.h"
#include "matmul_product.h"

/* A block of out: its sums stay in the second-level cache while all of `inner` goes by. */
#define BLOCK_ROWS 16
#define BLOCK_COLUMNS 512
#define ELEMENT_BYTES 8 /* the largest accumulator */

/* What a block goes through. */
typedef struct worker {
    const matmul_product *p;
    host_loop multiply, add;
    ferry_cast_function load, store;
    int64_t item; /* bytes of an accumulator */
    _Alignas(64) char sums[BLOCK_ROWS][BLOCK_COLUMNS * ELEMENT_BYTES];
    _Alignas(64) char left[BLOCK_ROWS * ELEMENT_BYTES];
    _Alignas(64) char right[BLOCK_COLUMNS * ELEMENT_BYTES];
    _Alignas(64) char products[BLOCK_COLUMNS * ELEMENT_BYTES];
} worker;

/* A column of a, by a row of b, onto the sums. */
static void add_outer_product(worker *w, const char *a, const char *b, int64_t rows, int64_t columns) {
    w->load(w->left, w->item, a, w->p->row_stride[1], rows);
    w->load(w->right, w->item, b, w->p->column_stride[2], columns);
    for (int64_t i = 0; i < rows; i++) {
        w->multiply(w->products, w->item, w->left + i * w->item, 0, w->right, w->item, columns);
        w->add(w->sums[i], w->item, w->sums[i], w->item, w->products, w->item, columns);
    }
}

static void multiply_block(worker *w, char *out, const char *a, const char *b, int64_t rows, int64_t columns) {
    memset(w->sums, 0, sizeof w->sums);
    for (int64_t k = 0; k < w->p->inner; k++)
        add_outer_product(w, a + k * w->p->column_stride[1], b + k * w->p->row_stride[2], rows, columns);
    for (int64_t i = 0; i < rows; i++)
        w->store(out + i * w->p->row_stride[0], w->p->column_stride[0], w->sums[i], w->item, columns);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void multiply_matrices(worker *w, char *out, const char *a, const char *b) {
    const matmul_product *p = w->p;
    for (int64_t j = 0; j < p->columns; j += BLOCK_COLUMNS) {
        for (int64_t i = 0; i < p->rows; i += BLOCK_ROWS)
            multiply_block(w, out + i * p->row_stride[0] + j * p->column_stride[0], a + i * p->row_stride[1],
                           b + j * p->column_stride[2], least(BLOCK_ROWS, p->rows - i),
                           least(BLOCK_COLUMNS, p->columns - j));
    }
}

void matmul_host_run(const ferry_grid *grid, void *const *args) {
    (void)grid;
    matmul_product p; /* the argument may lie at any alignment */
    memcpy(&p, args[0], sizeof p);
    /* The loops go along columns. */
    if (p.columns < p.rows)
        matmul_product_transpose(&p);
    worker w = {.p = &p, .item = (int64_t)ferry_dtype_size(p.accumulator)};
    char *data[PLAN_OPERANDS];
    w.multiply = host_loop_find(FERRY_OP_MULTIPLY, p.accumulator, p.accumulator);
    w.add = host_loop_find(FERRY_OP_ADD, p.accumulator, p.accumulator);
    w.load = ferry_dtype_cast(p.dtype, p.accumulator);
    w.store = ferry_dtype_cast(p.accumulator, p.dtype);
    for (int k = 0; k < PLAN_OPERANDS; k++)
        data[k] = ferry_device_pointer(p.stack.data[k]);
    for (int64_t i = 0; i < p.stack.size; i++)
        multiply_matrices(&w, data[0] + plan_offset(&p.stack, 0, i), data[1] + plan_offset(&p.stack, 1, i),
                          data[2] + plan_offset(&p.stack, 2, i));
}
