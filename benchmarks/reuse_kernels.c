/* The kernels of the suite `reuse`, with and without movement, and what their results have to be. */
#include <math.h>

#include "explicit.h"
#include "product.h"
#include "reuse.h"

/* A tiled product goes over its inputs once for every so many rows or columns; of cuBLAS's tiles for double precision
 * this is the narrowest. */
#define TILE 32
#define WIDE_TILE 64
#define NARROW_TILE 23
#define MULTIPROCESSORS 132

static ferry_operand operand(const ferry_array *array, ferry_access access, int passes) {
    return (ferry_operand){.view = &array->view, .access = access, .passes = passes};
}

static ferry_status touch(const struct reuse_run *run, const ferry_operand *operands, size_t n) {
    return bench_touch(&run->setup->kernels, operands, n, NULL);
}

static ferry_status pass_out_of_place(const struct reuse_run *run) {
    const ferry_array *x = &run->arrays[0], *y = &run->arrays[1];
    const ferry_view *in[] = {&x->view};
    const ferry_operand operands[] = {operand(x, FERRY_READ, 1), operand(y, FERRY_WRITE, 1)};
    return run->sparse ? touch(run, operands, 2) : ferry_apply(FERRY_OP_LOG, in, 1, &y->view, NULL);
}

static ferry_status pass_in_place(const struct reuse_run *run) {
    const ferry_array *x = &run->arrays[0];
    const ferry_view *in[] = {&x->view};
    const ferry_operand operands[] = {operand(x, FERRY_READWRITE, 1)};
    return run->sparse ? touch(run, operands, 1) : ferry_apply(FERRY_OP_NEGATIVE, in, 1, &x->view, NULL);
}

static ferry_status pass_sum(const struct reuse_run *run) {
    long long n = (long long)run->cell->n;
    const ferry_operand operands[] = {operand(&run->arrays[0], FERRY_READ, 1), operand(&run->partial, FERRY_WRITE, 1)};
    const ferry_arg args[] = {{.operand = operands[0]}, {.operand = operands[1]}, {.value = &n, .bytes = sizeof n}};
    return run->sparse ? touch(run, operands, 2)
                       : ferry_launch(run->setup->kernels.sum, bench_grid_sum(), args, 3, NULL);
}

/* The tiles that the virtual clock takes cuBLAS to work in: wide ones where those keep the device's multiprocessors
 * busy. On an H200 a product of 64 MiB matrices takes as long across the bus as loads of them by tiles of 64; products
 * of 64 KiB and 1 MiB take as long as loads by tiles of 23, their latency included. */
static int modelled_tile(int side) {
    return (side / WIDE_TILE) * (side / WIDE_TILE) >= MULTIPROCESSORS ? WIDE_TILE : NARROW_TILE;
}

/* On the virtual clock the tiles' passes over the inputs are declared one by one: each crosses what is remote. */
static ferry_status complete_product(const struct reuse_run *run, const ferry_operand *operands) {
    int tile = modelled_tile(run->cell->side);
    ferry_status status = FERRY_OK;
    for (int column = tile; run->setup->modelled && column < run->cell->side && !status; column += tile)
        status = ferry_complete(operands, 2, NULL);
    ferry_status completed = ferry_complete(operands, 3, NULL);
    return status ? status : completed;
}

/* For the virtual clock: a call of cuBLAS keeps the host for as long as two launches. */
static ferry_status enqueue_modelled(const struct reuse_run *run) {
    ferry_status status = bench_enqueue_nothing(&run->setup->kernels, NULL);
    return status ? status : bench_enqueue_nothing(&run->setup->kernels, NULL);
}

/* What somebody says who knows how products are made: every tile of the result takes the inputs' rows and columns once.
 */
static ferry_status pass_product(const struct reuse_run *run) {
    int tiles = (run->cell->side + TILE - 1) / TILE;
    const ferry_operand operands[] = {operand(&run->arrays[0], FERRY_READ, tiles),
                                      operand(&run->arrays[1], FERRY_READ, tiles),
                                      operand(&run->arrays[2], FERRY_WRITE, 1)};
    ferry_status status = ferry_acquire(operands, 3, NULL);
    if (status)
        return status;
    status = run->setup->modelled ? enqueue_modelled(run)
                                  : product_enqueue(run->device[2], run->device[0], run->device[1], run->cell->side,
                                                    ferry_stream_native(NULL));
    ferry_status completed = complete_product(run, operands);
    return status ? status : completed;
}

static ferry_status explicit_out_of_place(const struct reuse_run *run) {
    return bench_enqueue_log(&run->setup->kernels, run->device[0], run->device[1], run->cell->n, NULL);
}

static ferry_status explicit_in_place(const struct reuse_run *run) {
    return bench_enqueue_negate(&run->setup->kernels, run->device[0], run->cell->n, NULL);
}

static ferry_status explicit_sum(const struct reuse_run *run) {
    return bench_enqueue_sum(&run->setup->kernels, run->device[0], run->device_partial, run->cell->n, NULL);
}

static ferry_status explicit_product(const struct reuse_run *run) {
    return product_enqueue(run->device[2], run->device[0], run->device[1], run->cell->side, ferry_stream_native(NULL));
}

static double value_of_log(const struct reuse_run *run, size_t i) {
    return log(content_value(&run->content[0], i));
}

static double value_of_input(const struct reuse_run *run, size_t i) {
    return content_value(&run->content[0], i);
}

static double value_of_product(const struct reuse_run *run, size_t i) {
    size_t side = (size_t)run->cell->side, row = i / side, column = i % side;
    double sum = 0;
    for (size_t k = 0; k < side; k++)
        sum += content_value(&run->content[0], row * side + k) * content_value(&run->content[1], k * side + column);
    return sum;
}

static double sum_of_logs(const struct reuse_run *run) {
    return content_log_sum(&run->content[0]);
}

static double sum_of_input(const struct reuse_run *run) {
    return content_sum(&run->content[0]);
}

/* All elements of a b: over k, what column k of a adds up to times what row k of b does. */
static double add_product(const struct reuse_run *run) {
    size_t side = (size_t)run->cell->side;
    double sum = 0;
    for (size_t k = 0; k < side; k++) {
        double column = 0, row = 0;
        for (size_t i = 0; i < side; i++) {
            column += content_value(&run->content[0], i * side + k);
            row += content_value(&run->content[1], k * side + i);
        }
        sum += column * row;
    }
    return sum;
}

/* Where the host reads the product it never changes the inputs after the first epoch, in which all cells of a size fill
 * them alike. */
static double sum_of_product(const struct reuse_run *run) {
    static double known_sum;
    static int known_side;
    if (known_side != run->cell->side) {
        known_sum = add_product(run);
        known_side = run->cell->side;
    }
    return known_sum;
}

const struct reuse_kernel reuse_kernels[REUSE_KERNELS] = {
    [REUSE_OUT_OF_PLACE] = {"out-of-place", 2, 1, 1, true, 0, pass_out_of_place, explicit_out_of_place, value_of_log,
                            sum_of_logs},
    [REUSE_IN_PLACE] = {"in-place", 1, 1, 0, true, 0, pass_in_place, explicit_in_place, value_of_input, sum_of_input},
    [REUSE_SUM] = {"sum", 1, 1, 0, false, 0, pass_sum, explicit_sum, value_of_input, sum_of_input},
    [REUSE_PRODUCT] = {"product", 3, 2, 2, true, (size_t)64 << 20, pass_product, explicit_product, value_of_product,
                       sum_of_product},
};

const char *const reuse_strategy_names[REUSE_STRATEGIES] = {"none", "prefetch", "remote", "auto", "pageable", "pinned"};
const char *const reuse_action_names[REUSE_ACTIONS] = {"nothing", "overwrite", "update", "read", "sample"};
