#include "matmul_launch.h"

#include "cublas.h"
#include "device_kernel.h"
#include "launch.h"
#include "matmul_host.h"

static ferry_status write_source(const void *form, text_buffer *source) {
    return matmul_source_make(form, source);
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
    static const device_family family = {DEVICE_KEY_MATMUL, MATMUL_KERNEL_NAME, write_source};
    if (out->by_cublas)
        return FERRY_OK;
    if (out->simulated)
        return launch_host_kernel_get(&host, &out->kernel);
    matmul_form_make(&out->form, p);
    return device_kernel_get(&family, &out->form, matmul_form_key(&out->form), stream, &out->kernel);
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
    return launch_host_enqueue(k->kernel, p, sizeof *p, stream);
}
