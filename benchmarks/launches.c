#include "launches.h"

#include <string.h>

#include "content.h"
#include "pinned.h"

#define NAME "nothing"
#define PTX_BYTES 1024

static void write_ptx(char ptx[PTX_BYTES], size_t count) {
    size_t used = (size_t)snprintf(ptx, PTX_BYTES, "%s",
                                   ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry " NAME "(");
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(ptx + used, PTX_BYTES - used, "%s.param .u64 p%zu", i ? ", " : "", i);
    snprintf(ptx + used, PTX_BYTES - used, ")\n{\n    ret;\n}\n");
}

static void nothing(const ferry_grid *grid, void *const *args) {
    (void)grid, (void)args;
}

static ferry_status open_operand(struct launches *launches, size_t i, ferry_heap *heap) {
    int64_t n = LAUNCHES_BYTES / sizeof(double);
    struct content content = content_new((size_t)n, false);
    ferry_view *view = &launches->arrays[i].view;
    ferry_status status = ferry_array_create(heap, FERRY_FLOAT64, 1, &n, &launches->arrays[i]);
    if (status)
        return status;
    content_overwrite(&content, view->data);
    launches->operands[i] = (ferry_operand){.view = view, .access = i % 2 ? FERRY_WRITE : FERRY_READ, .passes = 1};
    launches->args[i] = &view->data;
    launches->sizes[i] = sizeof view->data;
    return ferry_prefetch(view, 0, NULL);
}

ferry_status launches_open(struct launches *launches, size_t count, ferry_heap *heap, bool bare) {
    char ptx[PTX_BYTES];
    write_ptx(ptx, count);
    *launches = (struct launches){.stream = ferry_stream_native(NULL), .count = count};
    ferry_status status = ferry_kernel_load(ptx, strlen(ptx), NAME, nothing, &launches->kernel);
    if (!status && bare && !pinned_kernel_open(ptx, NAME))
        status = ferry_error(FERRY_BACKEND, "CUDA does not load a kernel that does nothing");
    launches->has_bare = bare && !status;
    for (size_t i = 0; i < count && !status; i++)
        status = open_operand(launches, i, heap);
    return status ? status : ferry_sync(NULL);
}

void launches_close(struct launches *launches) {
    ferry_sync(NULL);
    for (size_t i = 0; i < launches->count; i++)
        ferry_array_release(&launches->arrays[i]);
    ferry_kernel_destroy(launches->kernel);
    *launches = (struct launches){0};
}

static const ferry_grid grid = {.blocks = {1}, .threads = {32}};

ferry_status launches_enqueue(struct launches *launches, size_t operands) {
    (void)operands;
    return ferry_kernel_enqueue(launches->kernel, grid, launches->args, launches->sizes, launches->count, NULL);
}

ferry_status launches_bare(struct launches *launches, size_t operands) {
    if (!launches->has_bare)
        return launches_enqueue(launches, operands);
    bool worked = pinned_enqueue(launches->stream, launches->args);
    return worked ? FERRY_OK : ferry_error(FERRY_BACKEND, "a bare launch failed");
}

ferry_status launches_acquired(struct launches *launches, size_t operands) {
    ferry_status status = ferry_acquire(launches->operands, operands, NULL);
    if (status)
        return status;
    status = launches_bare(launches, operands);
    ferry_status completed = ferry_complete(launches->operands, operands, NULL);
    return status ? status : completed;
}

ferry_status launches_launch(struct launches *launches, size_t operands) {
    ferry_arg args[LAUNCHES_OPERANDS];
    (void)operands;
    for (size_t i = 0; i < launches->count; i++)
        args[i] = (ferry_arg){.operand = launches->operands[i]};
    return ferry_launch(launches->kernel, grid, args, launches->count, NULL);
}

ferry_status launches_time(struct launches *launches, launch_function launch, size_t operands, size_t batch,
                           struct samples *samples) {
    ferry_status status = FERRY_OK;
    double begin = now_seconds();
    for (size_t i = 0; i < batch && !status; i++)
        status = launch(launches, operands);
    samples_add(samples, (now_seconds() - begin) / (double)batch);
    return status;
}
