/* Kernels of the cuda backend: one library for all devices, which CUDA loads on each when a kernel of it first runs
 * there. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_call.h"

#define SHARED_BYTES_WITHOUT_ASKING                                                                                    \
    ((size_t)48 << 10) /* more dynamic shared memory is an attribute to be raised first */

#if CUDART_VERSION >= 12080

typedef cudaLibrary_t library_handle;
typedef cudaKernel_t kernel_handle;

static ferry_status library_open(const void *image, library_handle *library) {
    return cuda_check(cudaLibraryLoadData(library, image, NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadData");
}

static void library_close(library_handle library) {
    cudaLibraryUnload(library);
}

static cudaError_t library_find(library_handle library, const char *name, kernel_handle *kernel) {
    return cudaLibraryGetKernel(kernel, library, name);
}

static ferry_status allow_shared(kernel_handle kernel, size_t bytes, int device) {
    return cuda_check(
        cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes, device),
        "cudaKernelSetAttributeForDevice");
}

static cudaError_t launch(kernel_handle kernel, dim3 blocks, dim3 threads, void **args, size_t shared,
                          cudaStream_t stream) {
    return cudaLaunchKernel((const void *)kernel, blocks, threads, args, shared, stream);
}

#else

/* Earlier runtimes have no libraries, the driver has: its functions, found at run time. */
#include <cuda.h>

typedef CUlibrary library_handle;
typedef CUkernel kernel_handle;

static ferry_status driver_function(const char *name, void *function) {
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    ferry_status status = cuda_check(cudaGetDriverEntryPoint(name, (void **)function, cudaEnableDefault, &found),
                                     "cudaGetDriverEntryPoint");
    if (!status && found != cudaDriverEntryPointSuccess)
        status = ferry_error(FERRY_UNSUPPORTED, "the CUDA driver has no %s", name);
    return status;
}

static ferry_status library_open(const void *image, library_handle *library) {
    CUresult (*load)(CUlibrary *, const void *, CUjit_option *, void **, unsigned, CUlibraryOption *, void **,
                     unsigned);
    ferry_status status = driver_function("cuLibraryLoadData", &load);
    return status ? status
                  : cuda_check((cudaError_t)load(library, image, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
}

static void library_close(library_handle library) {
    CUresult (*unload)(CUlibrary);
    if (!driver_function("cuLibraryUnload", &unload))
        unload(library);
}

static cudaError_t library_find(library_handle library, const char *name, kernel_handle *kernel) {
    CUresult (*find)(CUkernel *, CUlibrary, const char *);
    if (driver_function("cuLibraryGetKernel", &find))
        return cudaErrorCallRequiresNewerDriver;
    return (cudaError_t)find(kernel, library, name);
}

static ferry_status allow_shared(kernel_handle kernel, size_t bytes, int device) {
    CUresult (*set)(CUfunction_attribute, int, CUkernel, CUdevice);
    ferry_status status = driver_function("cuKernelSetAttribute", &set);
    if (status)
        return status;
    return cuda_check((cudaError_t)set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes, kernel, device),
                      "cuKernelSetAttribute");
}

static cudaError_t launch(kernel_handle kernel, dim3 blocks, dim3 threads, void **args, size_t shared,
                          cudaStream_t stream) {
    CUresult (*run)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                    void **);
    if (driver_function("cuLaunchKernel", &run))
        return cudaErrorCallRequiresNewerDriver;
    return (cudaError_t)run((CUfunction)kernel, blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z,
                            (unsigned)shared, stream, args, NULL);
}

#endif

struct backend_kernel {
    library_handle library;
    kernel_handle handle; /* NULL: there is no image, only a host function, which is the simulator's */
};

static ferry_status find_kernel(backend_kernel *kernel, const char *name) {
    cudaError_t error = library_find(kernel->library, name, &kernel->handle);
    if (error == cudaErrorSymbolNotFound) {
        cudaGetLastError();
        return ferry_error(FERRY_NOT_FOUND, "the image has no kernel %s", name);
    }
    return cuda_check(error, "cudaLibraryGetKernel");
}

static ferry_status load_image(backend_kernel *kernel, const void *image, size_t bytes, const char *name) {
    char *code = malloc(bytes + 1);
    if (!code)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an image of %zu bytes", bytes);
    memcpy(code, image, bytes);
    code[bytes] = '\0'; /* PTX is a string */
    ferry_status status = library_open(code, &kernel->library);
    free(code);
    if (status)
        return status;
    status = find_kernel(kernel, name);
    if (status)
        library_close(kernel->library);
    return status;
}

ferry_status cuda_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                              backend_kernel **out) {
    (void)host;
    backend_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel");
    struct cuda_scope scope;
    ferry_status status = image ? cuda_enter(&scope, CUDA_SAME_DEVICE) : FERRY_OK;
    if (image && !status) {
        status = load_image(kernel, image, bytes, name);
        cuda_leave(&scope);
    }
    if (status)
        free(kernel);
    else
        *out = kernel;
    return status;
}

/* Host functions are the simulator's. */
ferry_status cuda_kernel_set_host(backend_kernel *kernel, ferry_host_kernel host) {
    (void)kernel, (void)host;
    return FERRY_OK;
}

void cuda_kernel_unload(backend_kernel *kernel) {
    struct cuda_scope scope;
    if (!kernel)
        return;
    if (kernel->handle && cuda_enter(&scope, CUDA_SAME_DEVICE) == FERRY_OK) {
        library_close(kernel->library);
        cuda_leave(&scope);
    }
    free(kernel);
}

static dim3 extents(const uint32_t counts[3]) {
    return (dim3){counts[0] ? counts[0] : 1, counts[1] ? counts[1] : 1, counts[2] ? counts[2] : 1};
}

/* A grid that the device cannot have is the caller's mistake; the rest is the device's. */
static ferry_status launch_failed(cudaError_t error, dim3 blocks, dim3 threads, size_t shared_bytes) {
    if (error != cudaErrorInvalidConfiguration && error != cudaErrorInvalidValue)
        return cuda_check(error, "cudaLaunchKernel");
    return ferry_error(FERRY_INVALID_ARGUMENT,
                       "cudaLaunchKernel: %s: %u x %u x %u blocks of %u x %u x %u threads with %zu bytes shared",
                       cuda_text(error), blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z, shared_bytes);
}

ferry_status cuda_kernel_launch(backend_kernel *kernel, const ferry_grid *grid, void *const *args, const size_t *sizes,
                                size_t n, backend_stream *stream) {
    (void)sizes, (void)n; /* the image knows them */
    if (!kernel->handle)
        return ferry_error(FERRY_UNSUPPORTED, "the kernel has no device code, only a host function");
    struct cuda_scope scope;
    ferry_status status = cuda_enter(&scope, stream->device);
    if (status)
        return status;
    if (grid->shared_bytes > SHARED_BYTES_WITHOUT_ASKING)
        status = allow_shared(kernel->handle, grid->shared_bytes, stream->device);
    if (!status) {
        dim3 blocks = extents(grid->blocks), threads = extents(grid->threads);
        cudaError_t error = launch(kernel->handle, blocks, threads, (void **)args, grid->shared_bytes, stream->native);
        status = launch_failed(error, blocks, threads, grid->shared_bytes);
    }
    cuda_leave(&scope);
    return status;
}
