/*
 * The CUDA kernels of matrix products, compiled for the host by the C++ compiler that the first argument names, beside
 * the simulator's: the same elements. The second argument is the shim that goes before the source.
 */
#include "kernels/matmul_host.h"
#include "kernels/matmul_source.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/emulate_block.h"

#define CASES 60
#define EXTENT_MOST 140 /* over two tiles */
#define STACK_MOST 3

/* One product, and where the emulated kernel writes in place of the simulator's. */
typedef struct call {
    matmul_product product;
    ferry_view host_out, device_out;
    int kernel;
} call;

static call calls[CASES];
static matmul_form forms[CASES];
static int nforms;

static int number_of(const matmul_form *form) {
    int i = 0;
    while (i < nforms && matmul_form_key(&forms[i]) != matmul_form_key(form))
        i++;
    if (i == nforms)
        forms[nforms++] = *form;
    return i;
}

/* New memory for a stack of matrices, transposed now and then, with gaps and reversed. Never freed. */
static ferry_view some_matrices(test_random *random, ferry_dtype dtype, const int64_t *shape) {
    const int64_t item = (int64_t)ferry_dtype_size(dtype);
    const bool transposed = test_random_int(random, 0, 1), reversed = test_random_int(random, 0, 3) == 0;
    const int64_t gap = test_random_int(random, 0, 3) == 0 ? 2 : 1;
    const int inner = transposed ? 1 : 2, outer = transposed ? 2 : 1;
    ferry_view view = {.dtype = dtype, .ndim = 3};
    memcpy(view.shape, shape, 3 * sizeof *shape);
    view.strides[inner] = item * gap;
    view.strides[outer] = item * gap * shape[inner] * (reversed ? -1 : 1);
    view.strides[0] = item * gap * shape[1] * shape[2];
    char *memory = calloc((size_t)(gap * shape[0] * shape[1] * shape[2]) + 1, (size_t)item);
    REQUIRE(memory != NULL);
    view.data = memory + (reversed ? -view.strides[outer] * (shape[outer] - 1) : 0);
    return view;
}

typedef struct filler {
    test_random *random;
    ferry_dtype dtype;
} filler;

static void set_element(void *context, char *const *at) {
    const filler *f = context;
    const double value = test_random_unit(f->random) - 0.5;
    const uint64_t bits = test_random_next(f->random);
    if (ferry_dtype_kind(f->dtype) == 'f')
        ferry_dtype_cast(FERRY_FLOAT64, f->dtype)(at[0], 0, (const char *)&value, 0, 1);
    else
        memcpy(at[0], &bits, ferry_dtype_size(f->dtype));
}

static ferry_view some_input(test_random *random, ferry_dtype dtype, int64_t stack, int64_t rows, int64_t columns) {
    const bool repeated = test_random_int(random, 0, 2) == 0;
    const int64_t shape[] = {stack, rows, columns}, own[] = {repeated ? 1 : stack, rows, columns};
    ferry_view view = some_matrices(random, dtype, own), broadcast;
    filler f = {random, dtype};
    case_walk((const ferry_view *const[]){&view}, 1, set_element, &f);
    REQUIRE_OK(ferry_view_broadcast(&view, 3, shape, &broadcast));
    return broadcast;
}

static void make_call(test_random *random, int n) {
    const ferry_dtype dtype = (ferry_dtype)(n % (FERRY_FLOAT64 + 1));
    const int64_t stack = test_random_int(random, 1, STACK_MOST), rows = test_random_int(random, 1, EXTENT_MOST);
    const int64_t columns = test_random_int(random, 1, EXTENT_MOST), inner = test_random_int(random, 1, 50);
    const int64_t shape[] = {stack, rows, columns};
    const ferry_view a = some_input(random, dtype, stack, rows, inner);
    const ferry_view b = some_input(random, dtype, stack, inner, columns);
    call *c = &calls[n];
    matmul_form form;
    c->host_out = some_matrices(random, dtype, shape);
    c->device_out = some_matrices(random, dtype, shape);
    matmul_product_make(&c->product, (const ferry_view *const[]){&c->host_out, &a, &b});
    matmul_form_make(&form, &c->product);
    form.wide |= n % 5 == 0;
    c->kernel = number_of(&form);
}

static void write_kernels(FILE *file) {
    for (int i = 0; i < nforms; i++) {
        char name[32];
        text_buffer kernel = {0};
        snprintf(name, sizeof name, "kernel%d", i);
        CHECK_OK(matmul_source_kernel(&forms[i], name, &kernel));
        fprintf(file,
                "%s\nextern \"C\" void call%d(void **args) {\n    %s(*(char **)args[0], *(char **)args[1], "
                "*(char **)args[2], *(%s_geometry<%d> *)args[3], *(matmul_shape *)args[4]);\n}\n",
                kernel.data, i, name, forms[i].wide ? "wide" : "narrow", forms[i].rank);
        free(kernel.data);
    }
}

/* The emulated product is that of host_out's, but for where it goes. */
static void run_emulated(void *library, const call *c) {
    _Alignas(8) char stack[DEVICE_GEOMETRY_BYTES];
    matmul_product p = c->product;
    matmul_shape shape;
    p.stack.data[0] = c->device_out.data;
    for (int axis = 0; axis < p.stack.ndim; axis++)
        p.stack.stride[0][axis] = c->device_out.strides[0];
    p.row_stride[0] = c->device_out.strides[1];
    p.column_stride[0] = c->device_out.strides[2];
    const int64_t blocks = matmul_shape_make(&shape, &p);
    void *args[] = {&p.stack.data[0], &p.stack.data[1], &p.stack.data[2], stack, &shape};
    device_geometry_of_axes(&p.stack, forms[c->kernel].rank, forms[c->kernel].wide, stack);
    block_run_grid(library, c->kernel, args, blocks);
}

static void check_call(void *library, const call *c) {
    const matmul_product *p = &c->product;
    matmul_host_run(NULL, (void *[]){(void *)(uintptr_t)p});
    run_emulated(library, c);
    const int64_t wrong = case_differences(&c->host_out, &c->device_out);
    CHECK_THAT(wrong == 0, "%" PRId64 " products of %s, %" PRId64 " x %" PRId64 " by %" PRId64 ": %" PRId64 " differ",
               p->stack.size, ferry_dtype_name(p->dtype), p->rows, p->inner, p->columns, wrong);
}

int main(int argc, char **argv) {
    if (argc < 3 || strstr(argv[1], "NOTFOUND") != NULL)
        SKIP("no C++ compiler");
    test_random random = {test_seed(13)};
    for (int n = 0; n < CASES; n++)
        make_call(&random, n);
    void *library = emulate_open(argv[1], argv[2], matmul_source_frame, write_kernels);
    block_set_up(library);
    for (int n = 0; n < CASES; n++)
        check_call(library, &calls[n]);
    block_finish();
    return test_finish();
}
