#include "launch.h"

#include <pthread.h>
#include <string.h>

#include "device_kernel.h"
#include "host_kernel.h"

/* Blocks of a launch at most: a thread then takes several elements, so that its start is paid for. 64-bit sizes fit any
 * grid. */
#define BLOCKS_MAX (1 << 16)

/* The simulator's one kernel. */
static struct {
    pthread_mutex_t lock; /* guards kernel */
    ferry_kernel *kernel;
} host = {PTHREAD_MUTEX_INITIALIZER, NULL};

static ferry_status host_kernel_get(ferry_kernel **out) {
    ferry_status status = FERRY_OK;
    pthread_mutex_lock(&host.lock);
    if (host.kernel == NULL)
        status = ferry_kernel_load(NULL, 0, DEVICE_KERNEL_NAME, host_kernel_run, &host.kernel);
    if (status == FERRY_OK)
        *out = host.kernel;
    pthread_mutex_unlock(&host.lock);
    return status;
}

ferry_status launch_prepare(const plan *p, const ferry_stream *stream, prepared *out) {
    const char *backend = ferry_backend_name();
    if (backend == NULL)
        return ferry_error(FERRY_BACKEND, "the library cannot start: %s", ferry_error_detail());
    *out = (prepared){.simulated = strcmp(backend, "sim") == 0};
    if (out->simulated)
        return host_kernel_get(&out->kernel);
    device_form_make(&out->form, p);
    return device_kernel_get(&out->form, stream != NULL ? ferry_stream_device(stream) : 0, &out->kernel);
}

static uint32_t blocks_for(int64_t threads) {
    int64_t blocks = (threads + DEVICE_THREADS - 1) / DEVICE_THREADS;
    return (uint32_t)(blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
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

static ferry_status enqueue_host(const plan *p, const prepared *k, ferry_stream *stream) {
    plan copy = *p;
    void *args[] = {&copy};
    const size_t sizes[] = {sizeof copy};
    return ferry_kernel_enqueue(k->kernel, (ferry_grid){0}, args, sizes, 1, stream);
}

static ferry_status enqueue(const plan *p, const prepared *k, ferry_stream *stream) {
    if (k->simulated)
        return enqueue_host(p, k, stream);
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
