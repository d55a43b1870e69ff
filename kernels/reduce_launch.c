#include "reduce_launch.h"

#include "device_kernel.h"
#include "launch.h"
#include "reduce_host.h"

static ferry_status write_source(const void *form, text_buffer *source) {
    return reduce_source_make(form, source);
}

ferry_status reduce_launch_prepare(const reduce_pass *p, const ferry_stream *stream, reduce_prepared *out) {
    static const launch_host_kernel host = {LAUNCH_REDUCE, REDUCE_KERNEL_NAME, reduce_host_run};
    static const device_family family = {DEVICE_KEY_REDUCE, REDUCE_KERNEL_NAME, write_source};
    ferry_status status = launch_backend(&out->simulated);
    if (status != FERRY_OK)
        return status;
    if (out->simulated)
        return launch_host_kernel_get(&host, &out->kernel);
    reduce_form_make(&out->form, p);
    return device_kernel_get(&family, &out->form, reduce_form_key(&out->form), stream, &out->kernel);
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
    return launch_host_enqueue(k->kernel, p, sizeof *p, stream);
}
