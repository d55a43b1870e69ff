#include "matmul_source.h"

#include <stdio.h>
#include <string.h>

#include "matmul_text.h"

void matmul_form_make(matmul_form *form, const matmul_product *p) {
    *form = (matmul_form){.dtype = p->dtype,
                          .accumulator = p->accumulator,
                          .rank = device_rank_for(p->stack.ndim),
                          .wide = p->stack.size > INT32_MAX};
}

uint64_t matmul_form_key(const matmul_form *form) {
    return (uint64_t)form->dtype << 12 | (uint64_t)form->accumulator << 8 | (uint64_t)form->wide << 7 |
           (uint64_t)form->rank;
}

int64_t matmul_shape_make(matmul_shape *shape, const matmul_product *p) {
    *shape = (matmul_shape){.rows = p->rows, .columns = p->columns, .inner = p->inner};
    memcpy(shape->row_stride, p->row_stride, sizeof shape->row_stride);
    memcpy(shape->column_stride, p->column_stride, sizeof shape->column_stride);
    return ((p->rows - 1) / MATMUL_TILE + 1) * ((p->columns - 1) / MATMUL_TILE + 1) * p->stack.size;
}

void matmul_source_frame(text_buffer *source) {
    device_source_frame(source);
    text_format(source, "#define MATMUL_THREADS %d\n#define MATMUL_TILE %d\n#define MATMUL_STEP %d\n", MATMUL_THREADS,
                MATMUL_TILE, MATMUL_STEP);
    text_append(source, matmul_text, sizeof matmul_text);
}

/* struct operation_<name>_<of op>. */
static ferry_status write_operation(ferry_op op, ferry_dtype dtype, const char *name, text_buffer *source) {
    char full[64];
    const device_form form = {.op = op, .dtype = {dtype, dtype, dtype}};
    snprintf(full, sizeof full, "%s_%s", name, ferry_op_name(op));
    return device_source_operation(&form, full, source);
}

ferry_status matmul_source_kernel(const matmul_form *form, const char *name, text_buffer *source) {
    ferry_status status = write_operation(FERRY_OP_MULTIPLY, form->accumulator, name, source);
    if (status == FERRY_OK)
        status = write_operation(FERRY_OP_ADD, form->accumulator, name, source);
    if (status != FERRY_OK)
        return status;
    text_format(source,
                "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                "%s(char *out, const char *a, const char *b, const %s_geometry<%d> stack, const matmul_shape shape) {\n"
                "    run_matmul<operation_%s_multiply, operation_%s_add, dtype_%s, %d>(out, a, b, stack, shape);\n}\n",
                MATMUL_THREADS, name, form->wide ? "wide" : "narrow", form->rank, name, name,
                ferry_dtype_name(form->dtype), form->rank);
    return text_status(source);
}

ferry_status matmul_source_make(const matmul_form *form, text_buffer *source) {
    matmul_source_frame(source);
    return matmul_source_kernel(form, MATMUL_KERNEL_NAME, source);
}
