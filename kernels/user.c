/* Kernels of the user's own: compiled from source, launched with movement. */
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "device_kernel.h"
#include "ferry/site.h"

/* One image serves every device: machine code where they are alike, else PTX for the least of them. */
static ferry_status choose_architecture(nvrtc_request *request) {
    for (int device = 0; device < ferry_device_count(); device++) {
        int architecture;
        ferry_status status = device_architecture(device, &architecture);
        if (status != FERRY_OK)
            return status;
        request->portable |= device > 0 && architecture != request->architecture;
        if (device == 0 || architecture < request->architecture)
            request->architecture = architecture;
    }
    return FERRY_OK;
}

ferry_status ferry_kernel_compile(const char *source, const char *name, ferry_kernel **out) {
    if (source == NULL || name == NULL)
        return ferry_error(FERRY_INVALID_ARGUMENT, "a kernel needs a source and a name");
    const char *backend = ferry_backend_name();
    if (backend == NULL)
        return ferry_error(FERRY_BACKEND, "the library cannot start: %s", ferry_error_detail());
    if (strcmp(backend, "sim") == 0)
        return ferry_kernel_load(source, strlen(source) + 1, name, NULL, out);
    nvrtc_request request = {.source = source, .name = name, .contract = true};
    code_image image;
    ferry_status status = choose_architecture(&request);
    if (status == FERRY_OK)
        status = compile_source(&request, &image, NULL);
    if (status != FERRY_OK)
        return status;
    status = ferry_kernel_load(image.data, image.bytes, name, NULL, out);
    free(image.data);
    return status;
}

#define ARGS_FEW 16

/* An argument of a launch, in the forms that its three calls want. */
typedef struct launch_args {
    ferry_operand *operands;
    size_t noperands;
    void **values, **addresses;
    size_t *sizes;
    void *many; /* what to free when they are more than a few */
    ferry_operand few_operands[ARGS_FEW];
    void *few_values[ARGS_FEW], *few_addresses[ARGS_FEW];
    size_t few_sizes[ARGS_FEW];
} launch_args;

static ferry_status args_allocate(launch_args *a, size_t n) {
    a->noperands = 0;
    a->operands = a->few_operands;
    a->values = a->few_values;
    a->addresses = a->few_addresses;
    a->sizes = a->few_sizes;
    a->many = NULL;
    if (n <= ARGS_FEW)
        return FERRY_OK;
    a->many = calloc(n, sizeof *a->operands + sizeof *a->values + sizeof *a->addresses + sizeof *a->sizes);
    if (a->many == NULL)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a launch of %zu arguments", n);
    a->operands = a->many;
    a->values = (void **)(a->operands + n);
    a->addresses = a->values + n;
    a->sizes = (size_t *)(a->addresses + n);
    return FERRY_OK;
}

static ferry_status args_fill(launch_args *a, const ferry_arg *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (args[i].operand.view != NULL) {
            a->operands[a->noperands++] = args[i].operand;
            a->addresses[i] = ferry_device_pointer(args[i].operand.view->data);
            a->values[i] = &a->addresses[i];
            a->sizes[i] = sizeof a->addresses[i];
        } else if (args[i].value != NULL && args[i].bytes > 0) {
            a->values[i] = (void *)(uintptr_t)args[i].value;
            a->sizes[i] = args[i].bytes;
        } else {
            return ferry_error(FERRY_INVALID_ARGUMENT, "argument %zu is neither an operand nor a value", i);
        }
    }
    return FERRY_OK;
}

static ferry_status launch_filled(ferry_kernel *kernel, ferry_grid grid, const launch_args *a, size_t n,
                                  ferry_stream *stream) {
    ferry_status status = ferry_acquire(a->operands, a->noperands, stream);
    if (status != FERRY_OK)
        return status;
    status = ferry_kernel_enqueue(kernel, grid, a->values, a->sizes, n, stream);
    ferry_status completed = ferry_complete(a->operands, a->noperands, stream);
    return status != FERRY_OK ? status : completed;
}

static ferry_status launch(ferry_kernel *kernel, ferry_grid grid, const ferry_arg *args, size_t n,
                           ferry_stream *stream) {
    if (kernel == NULL || (args == NULL && n > 0))
        return ferry_error(FERRY_INVALID_ARGUMENT, "a launch needs a kernel and its arguments");
    launch_args a;
    ferry_status status = args_allocate(&a, n);
    if (status == FERRY_OK)
        status = args_fill(&a, args, n);
    if (status == FERRY_OK)
        status = launch_filled(kernel, grid, &a, n, stream);
    free(a.many);
    return status;
}

ferry_status ferry_launch(ferry_kernel *kernel, ferry_grid grid, const ferry_arg *args, size_t n,
                          ferry_stream *stream) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = launch(kernel, grid, args, n, stream);
    ferry_site_set(before);
    return status;
}
