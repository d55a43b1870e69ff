/* Every elementwise kernel that the library can generate compiles. */
#include "tests/kernels/forms.h"
#include "tests/kernels/program.h"

static void program_add(program *p, const device_form *form) {
    char name[32];
    text_buffer *source = program_next(p, name, sizeof name);
    CHECK_OK(device_source_kernel(form, name, source));
}

static device_form contiguous_form(ferry_op op, ferry_dtype out, ferry_dtype a, ferry_dtype b) {
    return (device_form){.op = op,
                         .dtype = {out, a, b},
                         .b_is_a = op == PLAN_COPY || ferry_op_arity(op) == 1,
                         .contiguous = true,
                         .aligned = true};
}

static device_form strided_form(ferry_op op, ferry_dtype out, ferry_dtype a, ferry_dtype b, int rank) {
    device_form form = contiguous_form(op, out, a, b);
    form.contiguous = false;
    form.rank = rank;
    return form;
}

/* Of operations that raise something. */
static void add_checked(program *p, device_form form) {
    op_loop loop;
    if (op_resolve(form.op, &form.dtype[1], ferry_op_arity(form.op), &loop) == FERRY_OK && loop.raises != NULL) {
        form.checked = true;
        program_add(p, &form);
    }
}

/* Each operation in each compute type, contiguous and strided, then with its exceptions. */
static void every_loop_compiles(void) {
    program p = {.frame = device_source_frame};
    for (unsigned op = 0; op < FERRY_OP_COUNT; op++) {
        ferry_dtype first[16], second[16];
        int n = forms_loops((ferry_op)op, first, second);
        CHECK_THAT(n > 0, "%s has no loops", ferry_op_name((ferry_op)op));
        for (int i = 0; i < n; i++) {
            ferry_dtype result = forms_result((ferry_op)op, first[i], second[i]);
            device_form contiguous = contiguous_form((ferry_op)op, result, first[i], second[i]);
            program_add(&p, &contiguous);
            device_form strided = strided_form((ferry_op)op, result, first[i], second[i], 2);
            program_add(&p, &strided);
            add_checked(&p, contiguous);
        }
    }
    program_compile(&p);
}

/* Every layout, on an operation of two inputs: ranks, scalars, one input twice, any alignment, 64-bit indices. */
static void every_layout_compiles(void) {
    static const int ranks[] = {1, 2, 3, 4, 8, DEVICE_RANK_MAX};
    program p = {.frame = device_source_frame};
    for (int bits = 0; bits < 8; bits++) {
        device_form form = contiguous_form(FERRY_OP_ADD, FERRY_FLOAT32, FERRY_INT8, FERRY_FLOAT16);
        form.scalar[1] = bits & 1;
        form.scalar[2] = bits & 2;
        form.b_is_a = bits & 4;
        form.dtype[2] = form.b_is_a ? form.dtype[1] : form.dtype[2];
        program_add(&p, &form);
    }
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        for (int bits = 0; bits < 8; bits++) {
            device_form form = strided_form(FERRY_OP_ADD, FERRY_FLOAT32, FERRY_INT8, FERRY_FLOAT16, ranks[i]);
            form.b_is_a = bits & 1;
            form.dtype[2] = form.b_is_a ? form.dtype[1] : form.dtype[2];
            form.aligned = bits & 2;
            form.wide = bits & 4;
            program_add(&p, &form);
        }
    }
    program_compile(&p);
}

/* Outputs of every type, which the results are rounded to. */
static void every_rounding_compiles(void) {
    static const ferry_dtype inputs[] = {FERRY_INT64, FERRY_FLOAT16, FERRY_FLOAT32, FERRY_FLOAT64};
    program p = {.frame = device_source_frame};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        for (unsigned out = FERRY_FLOAT16; out < FERRY_DTYPE_COUNT; out++) {
            device_form form = contiguous_form(FERRY_OP_NEGATIVE, (ferry_dtype)out, inputs[i], inputs[i]);
            form.checked = true;
            program_add(&p, &form);
            form = strided_form(FERRY_OP_NEGATIVE, (ferry_dtype)out, inputs[i], inputs[i], 1);
            form.checked = true;
            program_add(&p, &form);
        }
    }
    program_compile(&p);
}

/* Every pair of types, as a copy. */
static void every_cast_compiles(void) {
    program p = {.frame = device_source_frame};
    for (unsigned from = 0; from < FERRY_DTYPE_COUNT; from++) {
        for (unsigned to = 0; to < FERRY_DTYPE_COUNT; to++) {
            device_form form = contiguous_form(PLAN_COPY, (ferry_dtype)to, (ferry_dtype)from, (ferry_dtype)from);
            program_add(&p, &form);
            form = strided_form(PLAN_COPY, (ferry_dtype)to, (ferry_dtype)from, (ferry_dtype)from, 1);
            program_add(&p, &form);
        }
    }
    program_compile(&p);
}

static void errors_carry_the_log(void) {
    nvrtc_request request = {.source = "extern \"C\" __global__ void f() { no_such_thing(); }",
                             .name = "f",
                             .architecture = program_architecture};
    code_image image = {NULL, 0};
    CHECK_STATUS(nvrtc_compile(&request, &image), FERRY_COMPILE);
    CHECK_THAT(strstr(ferry_error_detail(), "no_such_thing") != NULL, "the log is lost: %s", ferry_error_detail());
}

/* A device newer than NVRTC gets PTX for the newest that it knows; one older than all is refused. */
static void unknown_architectures_get_portable_code(void) {
    nvrtc_request request = {.source = "extern \"C\" __global__ void f() {}", .name = "f", .architecture = 990};
    code_image image = {NULL, 0};
    if (CHECK_OK(nvrtc_compile(&request, &image)))
        CHECK_THAT(image.bytes > 0 && strstr(image.data, ".target sm_") != NULL, "no PTX for an unknown architecture");
    free(image.data);
    request.architecture = 10;
    CHECK_STATUS(nvrtc_compile(&request, &image), FERRY_UNSUPPORTED);
}

int main(int argc, char **argv) {
    program_start(argc, argv);
    RUN(errors_carry_the_log);
    RUN(unknown_architectures_get_portable_code);
    RUN(every_layout_compiles);
    RUN(every_rounding_compiles);
    RUN(every_cast_compiles);
    RUN(every_loop_compiles);
    fprintf(stderr, "%d kernels\n", program_count);
    return test_finish();
}
