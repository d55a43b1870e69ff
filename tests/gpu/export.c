/* Memory in the hands of others, on the device: where DLPack says it is, and PyTorch's pair. */
#include "ferry/dlpack.h"
#include "ferry/torch.h"
#include "tests/gpu/gpu.h"
#include "views/dlpack_abi.h"

#define COUNT ((int64_t)(4 * MIB / sizeof(double)))

static const char late_source[] = "extern \"C\" __global__ void late(double *p, long long n, long long ticks) {\n"
                                  "    for (long long start = clock64(); clock64() - start < ticks;)\n"
                                  "        ;\n"
                                  "    for (long long i = threadIdx.x; i < n; i += blockDim.x)\n"
                                  "        p[i] = 7.0;\n"
                                  "}\n";

static ferry_kernel *late;

/* As another library would: no operand is named. */
static void other_writes(double *p, int64_t ticks, ferry_stream *stream) {
    int64_t count = COUNT;
    void *args[] = {&p, &count, &ticks};
    const size_t sizes[] = {sizeof p, sizeof count, sizeof ticks};
    REQUIRE_OK(ferry_kernel_enqueue(late, (ferry_grid){.threads = {256}}, args, sizes, 3, stream));
}

static int64_t not_seven(const double *p) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < COUNT; i++)
        wrong += p[i] != 7.0;
    return wrong;
}

static void cuda_tensors_are_on_their_device(void) {
    ferry_array array = gpu_filled(NULL, COUNT, 1.0);
    struct DLManagedTensorVersioned *tensor;
    REQUIRE_OK(ferry_dlpack_export(&array, &(ferry_dlpack_options){.type = FERRY_DLPACK_CUDA}, &tensor));
    CHECK_INT(tensor->tensor.device.type, FERRY_DLPACK_CUDA);
    CHECK(tensor->tensor.data == array.view.data);
    CHECK_INT(ferry_view_place(&array.view), 0);
    tensor->deleter(tensor);
    ferry_array_release(&array);
}

static void what_another_library_writes_is_seen(void) {
    ferry_array array = gpu_filled(NULL, COUNT, 1.0), result = gpu_array(NULL, COUNT);
    struct DLManagedTensorVersioned *tensor;
    REQUIRE_OK(gpu_unary(FERRY_OP_NEGATIVE, &array, &result, NULL));
    REQUIRE_OK(ferry_dlpack_export(&array, NULL, &tensor));
    const ferry_stats before = gpu_stats();
    for (int round = 0; round < 3; round++) {
        gpu_fill(&array, 1.0);
        other_writes(tensor->tensor.data, 0, NULL);
        REQUIRE_OK(ferry_sync(NULL));
        REQUIRE_OK(gpu_unary(FERRY_OP_NEGATIVE, &array, &result, NULL));
        REQUIRE_OK(ferry_host_acquire(&array.view, FERRY_READ));
        REQUIRE_OK(ferry_host_acquire(&result.view, FERRY_READ));
        CHECK_INT(not_seven(gpu_data(&array)), 0);
        CHECK(gpu_data(&result)[COUNT - 1] == -7.0);
    }
    const ferry_stats since = gpu_since(&before);
    CHECK_UINT(since.redundant_bytes, 0);
    tensor->deleter(tensor);
    ferry_array_release(&array);
    ferry_array_release(&result);
}

/* A block that is freed while a kernel writes it is not another's before the kernel has ended. The stream stays, as
 * PyTorch's do: the pair of functions follows it as long as the process lives, and so waits for all are waits for it.
 */
static void frees_wait_for_the_stream(void) {
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    const ssize_t bytes = (ssize_t)COUNT * (ssize_t)sizeof(double);
    for (int round = 0; round < 3; round++) {
        double *a = ferry_torch_malloc(bytes, 0, ferry_stream_native(stream));
        REQUIRE(a != NULL);
        other_writes(a, INT64_C(40000000), stream);
        ferry_torch_free(a, bytes, 0, ferry_stream_native(stream));
        double *b = ferry_torch_malloc(bytes, 0, NULL);
        REQUIRE(b != NULL && b != a);
        ferry_torch_free(b, bytes, 0, NULL);
        REQUIRE_OK(ferry_sync(stream));
    }
}

static void the_host_reads_what_pytorch_wrote(void) {
    const ssize_t bytes = (ssize_t)COUNT * (ssize_t)sizeof(double);
    double *a = ferry_torch_malloc(bytes, 0, NULL);
    REQUIRE(a != NULL);
    ferry_view view;
    REQUIRE_OK(ferry_view_make(a, FERRY_FLOAT64, 1, (const int64_t[]){COUNT}, &view));
    CHECK_INT(ferry_view_place(&view), 0);
    other_writes(a, 0, NULL);
    REQUIRE_OK(ferry_sync(NULL));
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
    CHECK_INT(not_seven(a), 0);
    ferry_torch_free(a, bytes, 0, NULL);
}

int main(void) {
    gpu_start();
    REQUIRE_OK(ferry_kernel_compile(late_source, "late", &late));
    RUN(cuda_tensors_are_on_their_device);
    RUN(what_another_library_writes_is_seen);
    RUN(frees_wait_for_the_stream);
    RUN(the_host_reads_what_pytorch_wrote);
    ferry_kernel_destroy(late);
    return test_finish();
}
