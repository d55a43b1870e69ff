/*
 * The CUDA kernels of reductions, compiled for the host by the C++ compiler that the first argument names, beside the
 * simulator's: the same bytes after every pass. The threads of a block take turns at its barriers. The second argument
 * is the shim that goes before the source.
 */
#include "kernels/reduce_host.h"
#include "kernels/reduce_source.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/emulate_block.h"

#define CASES 160
#define FORMS (2 * CASES)

/* One pass on the simulator's kernel, then on the emulated one; the host's target is the next one's source. */
typedef struct call {
    reduce_pass pass;
    int kernel;
    ferry_dtype in;
} call;

static call calls[FORMS];
static reduce_form forms[FORMS];
static int ncalls, nforms;

static int number_of(const reduce_form *form) {
    int i = 0;
    while (i < nforms && reduce_form_key(&forms[i]) != reduce_form_key(form))
        i++;
    if (i == nforms)
        forms[nforms++] = *form;
    return i;
}

/* A few axes; often many elements along the one and few along the others. */
static int some_shape(test_random *random, int64_t *shape) {
    static const int64_t extents[] = {1, 2, 3, 5, 8, 20, 33, 260, 1030, 2500, 9000}; /* of chunks, lanes, leaves */
    int ndim = (int)test_random_int(random, 1, 4);
    int64_t room = 30000;
    for (int axis = 0; axis < ndim; axis++) {
        const int64_t extent = extents[test_random_int(random, 0, sizeof extents / sizeof *extents - 1)];
        shape[axis] = extent <= room ? extent : 1;
        room /= shape[axis];
    }
    return ndim;
}

/* A view of new memory: axes in any order, with gaps, reversed, now and then at an odd address. Never freed. */
static ferry_view some_view(test_random *random, ferry_dtype dtype, int ndim, const int64_t *shape) {
    const int64_t item = (int64_t)ferry_dtype_size(dtype);
    const int turn = ndim > 0 ? (int)test_random_int(random, 0, ndim - 1) : 0;
    const bool plain = test_random_int(random, 0, 1);
    ferry_view view = {.dtype = dtype, .ndim = ndim};
    int64_t step = item, low = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        const int axis = (i + turn) % ndim;
        const bool reversed = !plain && test_random_int(random, 0, 3) == 0;
        step *= !plain && test_random_int(random, 0, 3) == 0 ? 2 : 1;
        view.shape[axis] = shape[axis];
        view.strides[axis] = reversed ? -step : step;
        low += reversed ? step * (shape[axis] - 1) : 0;
        step *= shape[axis];
    }
    char *memory = calloc(1, (size_t)(step + 2 * item));
    REQUIRE(memory != NULL);
    view.data = memory + low + (test_random_int(random, 0, 7) == 0 ? test_random_int(random, 0, item) : 0);
    return view;
}

static void set_element(void *context, char *const *at) {
    test_random *random = ((void **)context)[0];
    const ferry_dtype dtype = *(const ferry_dtype *)((void **)context)[1];
    const double value = test_random_int(random, 0, 3000) == 0 ? NAN : 0.5 + test_random_unit(random);
    const uint64_t bits = test_random_next(random);
    if (ferry_dtype_kind(dtype) == 'f')
        ferry_dtype_cast(FERRY_FLOAT64, dtype)(at[0], 0, (const char *)&value, 0, 1);
    else
        memcpy(at[0], &bits, ferry_dtype_size(dtype));
}

static void add_call(const reduce_pass *p) {
    call *c = &calls[ncalls++];
    reduce_form form;
    c->pass = *p;
    reduce_form_make(&form, p);
    form.wide |= ncalls % 5 == 0;
    c->kernel = number_of(&form);
    c->in = form.in;
}

static void add_case(test_random *random) {
    const ferry_reduction reduction = (ferry_reduction)test_random_int(random, 0, FERRY_REDUCTION_COUNT - 1);
    ferry_dtype in = (ferry_dtype)test_random_int(random, 0, FERRY_FLOAT64 + 6);
    in = in > FERRY_FLOAT64 ? FERRY_FLOAT64 - in % 2 : in; /* the order shows in floats */
    int64_t shape[FERRY_MAX_DIMS], kept[FERRY_MAX_DIMS];
    reduction_types types;
    if (reduction_resolve(reduction, in, &types) != FERRY_OK)
        return;
    const int ndim = some_shape(random, shape);
    uint32_t axes = (uint32_t)test_random_int(random, 0, (1 << ndim) - 1);
    int nkept = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (!(axes >> axis & 1))
            kept[nkept++] = shape[axis];
    }
    const ferry_dtype to = test_random_int(random, 0, 3) == 0 ? FERRY_FLOAT64 : types.result;
    ferry_view source = some_view(random, in, ndim, shape), target = some_view(random, to, nkept, kept);
    case_walk((const ferry_view *const[]){&source}, 1, set_element, (void *[]){random, &in});
    reduce_pass pass, next;
    reduce_plan_first(&pass, &types, &source, axes, &target);
    if (pass.chunks > 1) {
        void *values = calloc((size_t)(pass.kept.size * pass.chunks), ferry_dtype_size(types.accumulator));
        REQUIRE(values != NULL);
        reduce_plan_split(&pass, values, &next);
        add_call(&pass);
        pass = next;
    }
    add_call(&pass);
}

static void write_kernels(FILE *file) {
    for (int i = 0; i < nforms; i++) {
        char name[32];
        text_buffer kernel = {0};
        const char *geometry = forms[i].wide ? "wide" : "narrow";
        snprintf(name, sizeof name, "kernel%d", i);
        CHECK_OK(reduce_source_kernel(&forms[i], name, &kernel));
        fprintf(file,
                "%s\nextern \"C\" void call%d(void **args) {\n    %s(*(char **)args[0], *(char **)args[1], "
                "*(%s_geometry<%d> *)args[2], *(%s_geometry<%d> *)args[3], *(reduce_threads *)args[4]);\n}\n",
                kernel.data, i, name, geometry, forms[i].kept_rank, geometry, forms[i].reduced_rank);
        free(kernel.data);
    }
}

/* What a device with many columns would do: one thread goes down each. */
static void go_down_alone(reduce_threads *threads) {
    threads->span *= threads->y_mask + 1;
    threads->y_mask = 0;
    threads->x_mask = REDUCE_THREADS - 1;
    threads->y_shift = 8;
}

static void run_emulated(void *library, const call *c, char *target) {
    _Alignas(8) char kept[DEVICE_GEOMETRY_BYTES], reduced[DEVICE_GEOMETRY_BYTES];
    const reduce_form *form = &forms[c->kernel];
    char *source = c->pass.kept.data[1];
    reduce_threads threads;
    const int64_t blocks = reduce_threads_make(&threads, &c->pass);
    if (threads.results_follow && c->pass.kept.size % 2 == 0)
        go_down_alone(&threads);
    void *args[] = {&target, &source, kept, reduced, &threads};
    device_geometry_of_axes(&c->pass.kept, form->kept_rank, form->wide, kept);
    device_geometry_of_axes(&c->pass.reduced, form->reduced_rank, form->wide, reduced);
    block_run_grid(library, c->kernel, args, blocks);
}

/* Where the pass writes: from `low` on, so many bytes, and values at these places. */
static ferry_view target_view(const reduce_pass *p) {
    ferry_view view = {.data = p->kept.data[0], .dtype = p->kept.dtype[0], .ndim = p->kept.ndim + 1};
    memcpy(view.shape, p->kept.extent, (size_t)p->kept.ndim * sizeof *view.shape);
    memcpy(view.strides, p->kept.stride[0], (size_t)p->kept.ndim * sizeof *view.strides);
    view.shape[p->kept.ndim] = p->chunks;
    view.strides[p->kept.ndim] = (int64_t)ferry_dtype_size(view.dtype);
    return view;
}

static void check_call(void *library, const call *c) {
    const char *low, *high;
    ferry_view host = target_view(&c->pass), device = host;
    ferry_view_bounds(&host, &low, &high);
    const size_t bytes = (size_t)(high - low);
    char *twin = calloc(1, bytes + 16), *aligned = twin + (uintptr_t)low % 8;
    REQUIRE(twin != NULL);
    memcpy(aligned, low, bytes);
    device.data = aligned + ((char *)host.data - low);
    reduce_host_run(NULL, (void *[]){(void *)(uintptr_t)&c->pass});
    run_emulated(library, c, device.data);
    const int64_t wrong = case_differences(&host, &device);
    CHECK_THAT(wrong == 0, "%s %s -> %s of %" PRId64 " x %" PRId64 " in %" PRId64 " chunks, %s: %" PRId64 " differ",
               ferry_op_name(c->pass.op), ferry_dtype_name(c->in), ferry_dtype_name(host.dtype), c->pass.kept.size,
               c->pass.reduced.size, c->pass.chunks, forms[c->kernel].packed ? "packed" : "one by one", wrong);
    CHECK_MEMORY(aligned, low, bytes);
    free(twin);
}

int main(int argc, char **argv) {
    if (argc < 3 || strstr(argv[1], "NOTFOUND") != NULL)
        SKIP("no C++ compiler");
    test_random random = {test_seed(7)};
    while (ncalls < CASES)
        add_case(&random);
    void *library = emulate_open(argv[1], argv[2], reduce_source_frame, write_kernels);
    block_set_up(library);
    int packed = 0;
    for (int n = 0; n < ncalls; n++) {
        packed += forms[calls[n].kernel].packed;
        check_call(library, &calls[n]);
    }
    block_finish();
    CHECK(packed > 0 && packed < ncalls);
    fprintf(stderr, "%d passes, %d of packs, %d kernels\n", ncalls, packed, nforms);
    return test_finish();
}
