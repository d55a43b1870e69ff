#include "launch.h"

#include <string.h>

#include "device_kernel.h"
#include "host_kernel.h"
#include "kernel_table.h"

#define BLOCKS_MAX (1 << 16)

ferry_status launch_backend(bool *simulated) {
    const char *backend = ferry_backend_name();
    if (backend == NULL)
        return ferry_error(FERRY_BACKEND, "the library cannot start: %s", ferry_error_detail());
    *simulated = strcmp(backend, "sim") == 0;
    return FERRY_OK;
}

static ferry_status load_host_kernel(const void *context, ferry_kernel **out) {
    const launch_host_kernel *host = context;
    return ferry_kernel_load(NULL, 0, host->name, host->run, out);
}

ferry_status launch_host_kernel_get(const launch_host_kernel *host, ferry_kernel **out) {
    return kernel_table_get(device_key(DEVICE_KEY_HOST, (uint64_t)host->key, 0), load_host_kernel, host, out);
}

ferry_status launch_host_enqueue(ferry_kernel *kernel, const void *value, size_t bytes, ferry_stream *stream) {
    void *args[] = {(void *)(uintptr_t)value};
    return ferry_kernel_enqueue(kernel, (ferry_grid){0}, args, &bytes, 1, stream);
}

static ferry_status write_source(const void *form, text_buffer *source) {
    return device_source_make(form, source);
}

ferry_status launch_prepare(const plan *p, const ferry_stream *stream, prepared *out) {
    static const launch_host_kernel host = {LAUNCH_ELEMENTWISE, DEVICE_KERNEL_NAME, host_kernel_run};
    static const device_family family = {DEVICE_KEY_ELEMENTWISE, DEVICE_KERNEL_NAME, write_source};
    *out = (prepared){.kernel = NULL};
    ferry_status status = launch_backend(&out->simulated);
    if (status != FERRY_OK)
        return status;
    if (out->simulated)
        return launch_host_kernel_get(&host, &out->kernel);
    device_form_make(&out->form, p);
    return device_kernel_get(&family, &out->form, device_form_key(&out->form), stream, &out->kernel);
}

uint32_t launch_blocks(int64_t blocks) {
    return (uint32_t)(blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

static uint32_t blocks_for(int64_t threads) {
    return launch_blocks((threads + DEVICE_THREADS - 1) / DEVICE_THREADS);
}

/* Packs of a contiguous kernel: none unless every operand lets them be loaded whole. */
static int64_t packs_of(const plan *p, const device_form *form) {
    int per_pack = device_form_pack(form);
    for (int k = 0; k < p->noperands; k++) {
        uintptr_t bytes = ferry_dtype_size(p->dtype[k]) * (size_t)per_pack;
        if (!form->scalar[k] && (uintptr_t)p->data[k] % (bytes < 16 ? bytes : 16) != 0)
            return 0;
    }
    return p->size / per_pack;
}

static ferry_status enqueue_contiguous(const plan *p, const prepared *k, ferry_stream *stream) {
    int64_t n = p->size, packs = packs_of(p, &k->form);
    char *data[PLAN_OPERANDS] = {p->data[0], p->data[1], p->data[p->noperands - 1]};
    uint32_t *exceptions = p->exceptions;
    void *args[] = {&data[0], &data[1], &data[2], &n, &packs, &exceptions};
    const size_t sizes[] = {sizeof data[0], sizeof data[1], sizeof data[2], sizeof n, sizeof packs, sizeof exceptions};
    ferry_grid grid = {.blocks = {blocks_for(packs > 0 ? packs : n)}, .threads = {DEVICE_THREADS}};
    return ferry_kernel_enqueue(k->kernel, grid, args, sizes, k->form.checked ? 6 : 5, stream);
}

static ferry_status enqueue_strided(const plan *p, const prepared *k, ferry_stream *stream) {
    _Alignas(8) char geometry[DEVICE_GEOMETRY_BYTES];
    size_t bytes = device_geometry_make(&k->form, p, geometry);
    char *data[PLAN_OPERANDS] = {p->data[0], p->data[1], p->data[p->noperands - 1]};
    uint32_t *exceptions = p->exceptions;
    void *args[] = {&data[0], &data[1], &data[2], geometry, &exceptions};
    const size_t sizes[] = {sizeof data[0], sizeof data[1], sizeof data[2], bytes, sizeof exceptions};
    ferry_grid grid = {.blocks = {blocks_for(p->size)}, .threads = {DEVICE_THREADS}};
    return ferry_kernel_enqueue(k->kernel, grid, args, sizes, k->form.checked ? 5 : 4, stream);
}

static ferry_status enqueue(const plan *p, const prepared *k, ferry_stream *stream) {
    if (k->simulated)
        return launch_host_enqueue(k->kernel, p, sizeof *p, stream);
    return k->form.contiguous ? enqueue_contiguous(p, k, stream) : enqueue_strided(p, k, stream);
}

ferry_status launch_run(const plan *p, const prepared *kernel, const ferry_operand *operands, size_t n,
                        ferry_stream *stream) {
    ferry_status status = ferry_acquire(operands, n, stream);
    if (status != FERRY_OK)
        return status;
    status = enqueue(p, kernel, stream);
    ferry_status completed = ferry_complete(operands, n, stream);
    return status != FERRY_OK ? status : completed;
}
