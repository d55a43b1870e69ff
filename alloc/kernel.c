#include <stdlib.h>

#include "core.h"
#include "counters.h"
#include "stream.h"

struct ferry_kernel {
    backend_kernel *native;
};

ferry_status ferry_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                               ferry_kernel **out) {
    ferry_status status = core_start_device();
    if (status != FERRY_OK) {
        return status;
    }
    if (image == NULL && host == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "kernel %s has neither machine code nor a host function",
                           name == NULL ? "(no name)" : name);
    }
    if (image != NULL && name == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "a kernel in machine code needs a name");
    }
    ferry_kernel *kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel's record");
    }
    status = core.backend->kernel_load(image, bytes, name, host, &kernel->native);
    if (status != FERRY_OK) {
        free(kernel);
        return status;
    }
    *out = kernel;
    return FERRY_OK;
}

ferry_status ferry_kernel_set_host(ferry_kernel *kernel, ferry_host_kernel host) {
    const ferry_status status = core_start_device();
    return status == FERRY_OK ? core.backend->kernel_set_host(kernel->native, host) : status;
}

void ferry_kernel_destroy(ferry_kernel *kernel) {
    if (kernel != NULL && !core_forked()) {
        core.backend->kernel_unload(kernel->native);
        free(kernel);
    }
}

ferry_status ferry_kernel_enqueue(ferry_kernel *kernel, ferry_grid grid, void *const *args, const size_t *sizes,
                                  size_t n, ferry_stream *stream) {
    const ferry_status started = core_start_device();
    if (started != FERRY_OK) {
        return started;
    }
    for (int i = 0; i < 3; i++) {
        grid.blocks[i] = grid.blocks[i] == 0 ? 1 : grid.blocks[i];
        grid.threads[i] = grid.threads[i] == 0 ? 1 : grid.threads[i];
    }
    ferry_stream *resolved = NULL;
    movement_lock();
    const ferry_status status = stream_resolve(stream, &resolved);
    movement_unlock();
    return status == FERRY_OK ? core.backend->kernel_launch(kernel->native, &grid, args, sizes, n, resolved->native)
                              : status;
}

void *ferry_device_pointer(const void *address) {
    if (core_start() != FERRY_OK || core.backend->device_pointer == NULL) {
        return (void *)(uintptr_t)address;
    }
    return core.backend->device_pointer(address);
}
