/*
 * The generated CUDA kernels, compiled for the host by the C++ compiler that the first argument names, and run thread
 * by thread beside the simulator's kernel: same bytes. So sources, geometry and conversions are tested where there is
 * no device. The second argument is the shim that goes before each source.
 */
#include "tests/kernels/emulate.h"
#include "kernels/device_source.h"
#include "kernels/host_kernel.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/forms.h"

#define CASES 900
#define FORMS 700 /* compiled; more cases share them or are left out */

/* One call: its plan on the simulator's kernel and on the emulated one, over memories with the same bytes. */
typedef struct call {
    plan host, device;
    ferry_view host_out, device_out;
    device_form form;
    int kernel;
    uint32_t exceptions[2][PLAN_EXCEPTIONS]; /* of the host, of the device */
} call;

static _Alignas(64) char memory[2][CASES][PLAN_OPERANDS][CASE_BYTES];
static call calls[CASES];
static device_form forms[FORMS];
static int ncalls, nforms;
static uint32_t raising; /* calls that raised something */

/* The form's number among those to be compiled, -1 when they are too many. */
static int number_of(const device_form *form) {
    int i = 0;
    while (i < nforms && device_form_key(&forms[i]) != device_form_key(form))
        i++;
    if (i == FORMS)
        return -1;
    if (i == nforms)
        forms[nforms++] = *form;
    return i;
}

static bool choose_types(test_random *random, ferry_op op, ferry_dtype *dtype, op_loop *loop) {
    int nin = ferry_op_arity(op);
    for (int k = 1; k < PLAN_OPERANDS; k++)
        dtype[k] = (ferry_dtype)test_random_int(random, 0, op == PLAN_COPY ? FERRY_COMPLEX128 : FERRY_FLOAT64);
    if (op == PLAN_COPY) {
        dtype[0] = (ferry_dtype)test_random_int(random, 0, FERRY_COMPLEX128);
        return true;
    }
    if (op_resolve(op, &dtype[1], nin, loop) != FERRY_OK)
        return false;
    dtype[0] = (ferry_dtype)test_random_int(random, loop->result, FERRY_COMPLEX128);
    if (test_random_int(random, 0, 1) || !ferry_dtype_can_cast(loop->result, dtype[0], FERRY_CAST_SAME_KIND))
        dtype[0] = loop->result;
    return true;
}

/* The view of the other memory's twin of what `view` sees. */
static ferry_view twin_of(const ferry_view *view, int n, int operand) {
    ferry_view twin = *view;
    twin.data = memory[1][n][operand] + ((char *)view->data - memory[0][n][operand]);
    return twin;
}

static void make_plans(call *c, ferry_op op, const op_loop *loop, const ferry_view *views, int noperands, int n) {
    const ferry_view *host[PLAN_OPERANDS], *device[PLAN_OPERANDS];
    ferry_view twins[PLAN_OPERANDS];
    for (int k = 0; k < noperands; k++) {
        twins[k] = twin_of(&views[k], n, k);
        host[k] = &views[k];
        device[k] = &twins[k];
    }
    plan_make(&c->host, op, loop, host, noperands);
    plan_make(&c->device, op, loop, device, noperands);
    if (op != PLAN_COPY && n % 2 == 0) {
        c->host.exceptions = c->exceptions[0];
        c->device.exceptions = c->exceptions[1];
    }
    c->host_out = views[0];
    c->device_out = twins[0];
    device_form_make(&c->form, &c->device);
    c->form.wide |= n % 5 == 0 && !c->form.contiguous;
}

static void add_call(test_random *random) {
    int n = ncalls;
    ferry_op op = (ferry_op)test_random_int(random, 0, FERRY_OP_COUNT);
    ferry_dtype dtype[PLAN_OPERANDS];
    int64_t shape[FERRY_MAX_DIMS];
    ferry_view views[PLAN_OPERANDS];
    op_loop loop;
    if (!choose_types(random, op, dtype, &loop))
        return;
    int noperands = op != PLAN_COPY && ferry_op_arity(op) == 2 ? 3 : 2;
    bool repeated = noperands == 3 && dtype[1] == dtype[2] && test_random_int(random, 0, 3) == 0;
    int ndim = case_shape(random, shape, 200);
    for (int k = 0; k < PLAN_OPERANDS; k++)
        case_fill(random, memory[0][n][k], dtype[k]);
    views[0] = case_view(random, memory[0][n][0], dtype[0], ndim, shape);
    for (int k = 1; k < noperands; k++)
        views[k] = case_input(random, memory[0][n][k], dtype[k], ndim, shape);
    memcpy(memory[1][n], memory[0][n], sizeof memory[0][n]);
    make_plans(&calls[n], op, op == PLAN_COPY ? NULL : &loop, views, repeated ? 2 : noperands, n);
    calls[n].kernel = number_of(&calls[n].form);
    ncalls += calls[n].kernel >= 0;
}

static void write_caller(FILE *file, const device_form *form, int i) {
    fprintf(file,
            "extern \"C\" void call%d(void **args) {\n    kernel%d(*(char **)args[0], *(char **)args[1], *(char "
            "**)args[2], ",
            i, i);
    if (form->contiguous)
        fprintf(file, "*(int64_t *)args[3], *(int64_t *)args[4]");
    else
        fprintf(file, "*(%s_geometry<%d> *)args[3]", form->wide ? "wide" : "narrow", form->rank);
    fprintf(file, "%s);\n}\n", form->checked ? ", *(uint32_t **)args[5]" : "");
    if (form->contiguous)
        fprintf(file, "extern \"C\" { unsigned long size%d = 8; }\n", i);
    else
        fprintf(file, "extern \"C\" { unsigned long size%d = sizeof(%s_geometry<%d>); }\n", i,
                form->wide ? "wide" : "narrow", form->rank);
}

static void write_kernels(FILE *file) {
    for (int i = 0; i < nforms; i++) {
        char name[32];
        text_buffer kernel = {0};
        snprintf(name, sizeof name, "kernel%d", i);
        CHECK_OK(device_source_kernel(&forms[i], name, &kernel));
        fprintf(file, "%s", kernel.data);
        write_caller(file, &forms[i], i);
        free(kernel.data);
    }
}

/* A small grid, so that threads go round several times. */
static void run_grid(void *library, void (*kernel)(void **), void **args) {
    unsigned *block = emulate_symbol(library, "blockIdx", -1), *thread = emulate_symbol(library, "threadIdx", -1);
    *(unsigned *)emulate_symbol(library, "gridDim", -1) = 2;
    *(unsigned *)emulate_symbol(library, "blockDim", -1) = 8;
    for (*block = 0; *block < 2; ++*block) {
        for (*thread = 0; *thread < 8; ++*thread)
            kernel(args);
    }
}

static void run_emulated(void *library, call *c) {
    _Alignas(8) char geometry[DEVICE_GEOMETRY_BYTES];
    void (*kernel)(void **);
    *(void **)&kernel = emulate_symbol(library, "call", c->kernel);
    plan *p = &c->device;
    char *data[PLAN_OPERANDS] = {p->data[0], p->data[1], p->data[p->noperands - 1]};
    int64_t n = p->size, packs = n / device_form_pack(&c->form);
    for (int k = 0; k < p->noperands; k++)
        packs = (uintptr_t)data[k] % 16 == 0 || c->form.scalar[k] ? packs : 0;
    void *args[] = {&data[0], &data[1], &data[2], &n, &packs, &p->exceptions};
    if (!c->form.contiguous) {
        size_t bytes = device_geometry_make(&c->form, p, geometry);
        CHECK_UINT(bytes, *(unsigned long *)emulate_symbol(library, "size", c->kernel));
        args[3] = geometry;
    }
    run_grid(library, kernel, args);
}

static void check_call(void *library, int n) {
    call *c = &calls[n];
    plan *p = &c->host;
    host_kernel_run(NULL, (void *[]){p});
    run_emulated(library, c);
    const int64_t wrong = case_differences(&c->host_out, &c->device_out);
    CHECK_THAT(wrong == 0, "%s %s, %s -> %s, %s of rank %d: %" PRId64 " of %" PRId64 " elements differ",
               p->op == PLAN_COPY ? "copy" : ferry_op_name(p->op), ferry_dtype_name(p->dtype[1]),
               ferry_dtype_name(c->form.dtype[2]), ferry_dtype_name(p->dtype[0]),
               c->form.contiguous ? "contiguous" : "strided", c->form.rank, wrong, p->size);
    CHECK_MEMORY(memory[1][n], memory[0][n], sizeof memory[0][n]);
    CHECK_MEMORY(c->exceptions[1], c->exceptions[0], sizeof c->exceptions[0]);
    raising += c->exceptions[0][0] | c->exceptions[0][1] | c->exceptions[0][2] | c->exceptions[0][3];
}

int main(int argc, char **argv) {
    if (argc < 3 || strstr(argv[1], "NOTFOUND") != NULL)
        SKIP("no C++ compiler");
    test_random random = {test_seed(5)};
    for (int i = 0; i < 4 * CASES && ncalls < CASES; i++)
        add_call(&random);
    void *library = emulate_open(argv[1], argv[2], device_source_frame, write_kernels);
    for (int n = 0; n < ncalls; n++)
        check_call(library, n);
    CHECK(raising > 0);
    fprintf(stderr, "%d calls, %" PRIu32 " of them raised exceptions, %d kernels\n", ncalls, raising, nforms);
    return test_finish();
}
