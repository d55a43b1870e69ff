/* Every reduction's kernels compile, for three architectures. */
#include "kernels/reduce_source.h"
#include "tests/kernels/program.h"

static void program_add(program *p, const reduce_form *form) {
    char name[32];
    text_buffer *source = program_next(p, name, sizeof name);
    CHECK_OK(reduce_source_kernel(form, name, source));
}

static reduce_form form_of(const reduction_types *types, ferry_dtype in, bool packed) {
    return (reduce_form){.op = types->op,
                         .in = in,
                         .accumulator = types->accumulator,
                         .out = packed ? types->accumulator : types->result,
                         .packed = packed,
                         .aligned = true,
                         .kept_rank = 1,
                         .reduced_rank = 1};
}

/* Each reduction of each type, in one of two forms: packed to values for another pass, and one by one to results. */
static void every_reduction_compiles(void) {
    program p = {.frame = reduce_source_frame};
    for (unsigned reduction = 0; reduction < FERRY_REDUCTION_COUNT; reduction++) {
        for (unsigned in = 0; in <= FERRY_FLOAT64; in++) {
            reduction_types types;
            if (reduction_resolve((ferry_reduction)reduction, (ferry_dtype)in, &types) != FERRY_OK)
                continue;
            const reduce_form form = form_of(&types, (ferry_dtype)in, (reduction + in) % 2);
            program_add(&p, &form);
        }
    }
    program_compile(&p);
}

/* Every layout: ranks, any alignment, 64-bit indices, results in another type. */
static void every_layout_compiles(void) {
    static const int ranks[] = {1, 2, 3, 4, 8, DEVICE_RANK_MAX};
    const reduction_types sum = {FERRY_OP_ADD, FERRY_FLOAT32, FERRY_FLOAT16};
    program p = {.frame = reduce_source_frame};
    for (int i = 0; i < 6; i++) {
        for (int bits = 0; bits < 4; bits++) {
            reduce_form form = form_of(&sum, FERRY_FLOAT16, false);
            form.out = i % 2 ? FERRY_COMPLEX64 : FERRY_FLOAT16;
            form.aligned = bits & 1;
            form.wide = bits & 2;
            form.kept_rank = ranks[i];
            form.reduced_rank = ranks[5 - i];
            program_add(&p, &form);
        }
    }
    program_compile(&p);
}

int main(int argc, char **argv) {
    program_start(argc, argv);
    RUN(every_layout_compiles);
    RUN(every_reduction_compiles);
    fprintf(stderr, "%d kernels\n", program_count);
    return test_finish();
}
