#include "reduce_launch.h"

#include <stdlib.h>

#include "device_kernel.h"
#include "kernel_table.h"
#include "launch.h"
#include "reduce_host.h"

typedef struct order {
    const reduce_form *form;
    int architecture;
} order;

static ferry_status make_kernel(const void *context, ferry_kernel **out) {
    const order *o = context;
    text_buffer source = {0};
    ferry_status status = reduce_source_make(o->form, &source);
    if (status == FERRY_OK)
        status = device_kernel_build(&source, REDUCE_KERNEL_NAME, o->architecture, out);
    free(source.data);
    return status;
}

ferry_status reduce_launch_prepare(const reduce_pass *p, const ferry_stream *stream, reduce_prepared *out) {
    static const launch_host_kernel host = {LAUNCH_REDUCE, REDUCE_KERNEL_NAME, reduce_host_run};
    order o = {.form = &out->form};
    ferry_status status = launch_backend(&out->simulated);
    if (status != FERRY_OK)
        return status;
    if (out->simulated)
        return launch_host_kernel_get(&host, &out->kernel);
    reduce_form_make(&out->form, p);
    status = device_architecture(stream != NULL ? ferry_stream_device(stream) : 0, &o.architecture);
    if (status != FERRY_OK)
        return status;
    return kernel_table_get(device_key(DEVICE_KEY_REDUCE, reduce_form_key(&out->form), o.architecture), make_kernel, &o,
                            &out->kernel);
}

static ferry_status enqueue_device(const reduce_pass *p, const reduce_prepared *k, ferry_stream *stream) {
    _Alignas(8) char kept[DEVICE_GEOMETRY_BYTES], reduced[DEVICE_GEOMETRY_BYTES];
    reduce_threads threads;
    const int64_t blocks = reduce_threads_make(&threads, p);
    char *target = p->kept.data[0], *source = p->kept.data[1];
    const size_t kept_bytes = device_geometry_of_axes(&p->kept, k->form.kept_rank, k->form.wide, kept);
    const size_t reduced_bytes = device_geometry_of_axes(&p->reduced, k->form.reduced_rank, k->form.wide, reduced);
    void *args[] = {&target, &source, kept, reduced, &threads};
    const size_t sizes[] = {sizeof target, sizeof source, kept_bytes, reduced_bytes, sizeof threads};
    const ferry_grid grid = {.blocks = {launch_blocks(blocks)}, .threads = {REDUCE_THREADS}};
    return ferry_kernel_enqueue(k->kernel, grid, args, sizes, 5, stream);
}

ferry_status reduce_launch_enqueue(const reduce_pass *p, const reduce_prepared *k, ferry_stream *stream) {
    if (!k->simulated)
        return enqueue_device(p, k, stream);
    reduce_pass copy = *p;
    void *args[] = {&copy};
    const size_t sizes[] = {sizeof copy};
    return ferry_kernel_enqueue(k->kernel, (ferry_grid){0}, args, sizes, 1, stream);
}
