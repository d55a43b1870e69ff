#include "matmul_launch.h"

#include <stdlib.h>

#include "cublas.h"
#include "device_kernel.h"
#include "kernel_table.h"
#include "launch.h"
#include "matmul_host.h"

typedef struct order {
    const matmul_form *form;
    int architecture;
} order;

static ferry_status make_kernel(const void *context, ferry_kernel **out) {
    const order *o = context;
    text_buffer source = {0};
    ferry_status status = matmul_source_make(o->form, &source);
    if (status == FERRY_OK)
        status = device_kernel_build(&source, MATMUL_KERNEL_NAME, o->architecture, out);
    free(source.data);
    return status;
}

ferry_status matmul_launch_choose(ferry_dtype dtype, int64_t rows, int64_t columns, int64_t inner,
                                  matmul_prepared *out) {
    *out = (matmul_prepared){.kernel = NULL};
    ferry_status status = launch_backend(&out->simulated);
    if (status == FERRY_OK && !out->simulated)
        out->by_cublas = cublas_takes(dtype, rows, columns, inner) && cublas_is_available();
    return status;
}

ferry_status matmul_launch_prepare(const matmul_product *p, const ferry_stream *stream, matmul_prepared *out) {
    static const launch_host_kernel host = {LAUNCH_MATMUL, MATMUL_KERNEL_NAME, matmul_host_run};
    order o = {.form = &out->form};
    if (out->by_cublas)
        return FERRY_OK;
    if (out->simulated)
        return launch_host_kernel_get(&host, &out->kernel);
    matmul_form_make(&out->form, p);
    ferry_status status = device_architecture(stream != NULL ? ferry_stream_device(stream) : 0, &o.architecture);
    if (status != FERRY_OK)
        return status;
    return kernel_table_get(device_key(DEVICE_KEY_MATMUL, matmul_form_key(&out->form), o.architecture), make_kernel, &o,
                            &out->kernel);
}

static ferry_status enqueue_device(const matmul_product *p, const matmul_prepared *k, ferry_stream *stream) {
    _Alignas(8) char stack[DEVICE_GEOMETRY_BYTES];
    matmul_shape shape;
    const int64_t blocks = matmul_shape_make(&shape, p);
    char *data[PLAN_OPERANDS] = {p->stack.data[0], p->stack.data[1], p->stack.data[2]};
    const size_t bytes = device_geometry_of_axes(&p->stack, k->form.rank, k->form.wide, stack);
    void *args[] = {&data[0], &data[1], &data[2], stack, &shape};
    const size_t sizes[] = {sizeof data[0], sizeof data[1], sizeof data[2], bytes, sizeof shape};
    const ferry_grid grid = {.blocks = {launch_blocks(blocks)}, .threads = {MATMUL_THREADS}};
    return ferry_kernel_enqueue(k->kernel, grid, args, sizes, 5, stream);
}

ferry_status matmul_launch_enqueue(const matmul_product *p, const matmul_prepared *k, ferry_stream *stream) {
    if (k->by_cublas)
        return cublas_multiply(p, k->layouts, stream);
    if (!k->simulated)
        return enqueue_device(p, k, stream);
    matmul_product copy = *p;
    void *args[] = {&copy};
    const size_t sizes[] = {sizeof copy};
    return ferry_kernel_enqueue(k->kernel, (ferry_grid){0}, args, sizes, 1, stream);
}
