/* Every kernel of matrix products compiles, for three architectures. */
#include "kernels/matmul_source.h"
#include "tests/kernels/program.h"

static void program_add(program *p, ferry_dtype dtype, int rank, bool wide) {
    char name[32];
    const matmul_form form = {.dtype = dtype, .accumulator = matmul_accumulator(dtype), .rank = rank, .wide = wide};
    text_buffer *source = program_next(p, name, sizeof name);
    CHECK_OK(matmul_source_kernel(&form, name, source));
}

static void every_type_compiles(void) {
    program p = {.frame = matmul_source_frame};
    for (unsigned dtype = 0; dtype <= FERRY_FLOAT64; dtype++)
        program_add(&p, (ferry_dtype)dtype, 1, false);
    program_compile(&p);
}

static void every_rank_compiles(void) {
    static const int ranks[] = {1, 2, 3, 4, 8, DEVICE_RANK_MAX};
    program p = {.frame = matmul_source_frame};
    for (int i = 0; i < 12; i++)
        program_add(&p, FERRY_INT8, ranks[i / 2], i % 2);
    program_compile(&p);
}

int main(int argc, char **argv) {
    program_start(argc, argv);
    RUN(every_type_compiles);
    RUN(every_rank_compiles);
    fprintf(stderr, "%d kernels\n", program_count);
    return test_finish();
}
