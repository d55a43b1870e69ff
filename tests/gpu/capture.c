/* Streams that are being captured into a graph: nothing moves in them, and no call of ours spoils the capture. */
#include <cuda_runtime_api.h>

#include "tests/gpu/gpu.h"

#define COUNT ((int64_t)(MIB / sizeof(double)))

static const char triple_source[] = "extern \"C\" __global__ void triple(const double *x, double *y, long long n) {\n"
                                    "    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
                                    "    if (i < n)\n"
                                    "        y[i] = 3.0 * x[i];\n"
                                    "}\n";

static ferry_kernel *triple;

static void begin(ferry_stream *stream) {
    REQUIRE(cudaStreamBeginCapture(ferry_stream_native(stream), cudaStreamCaptureModeGlobal) == cudaSuccess);
}

/* The graph, whole, or the test is over. */
static cudaGraph_t end(ferry_stream *stream) {
    cudaGraph_t graph = NULL;
    REQUIRE(cudaStreamEndCapture(ferry_stream_native(stream), &graph) == cudaSuccess);
    REQUIRE(graph != NULL);
    return graph;
}

static ferry_status launch(const ferry_array *x, const ferry_array *y, ferry_stream *stream) {
    int64_t count = COUNT;
    ferry_arg args[] = {{.operand = {.view = &x->view, .access = FERRY_READ}},
                        {.operand = {.view = &y->view, .access = FERRY_WRITE}},
                        {.value = &count, .bytes = sizeof count}};
    ferry_grid grid = {.blocks = {(COUNT + 255) / 256}, .threads = {256}};
    return ferry_launch(triple, grid, args, 3, stream);
}

static void moves_are_refused(void) {
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    ferry_array x = gpu_filled(NULL, COUNT, 1.0), y = gpu_array(NULL, COUNT);
    ferry_operand operand = {.view = &x.view, .access = FERRY_READ};
    begin(stream);
    CHECK_STATUS(ferry_acquire(&operand, 1, stream), FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_prefetch(&x.view, 0, stream), FERRY_UNSUPPORTED);
    CHECK_STATUS(launch(&x, &y, stream), FERRY_UNSUPPORTED);
    cudaGraphDestroy(end(stream));
    CHECK_INT(ferry_view_place(&x.view), FERRY_PLACE_HOST);
    REQUIRE_OK(launch(&x, &y, stream));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 3, gpu_same, 1.0), 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_stream_destroy(stream);
}

/* Operands in place need no move: the launch is captured, and runs when the graph does. */
static void resident_launches_are_captured(void) {
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    ferry_array x = gpu_filled(NULL, COUNT, 1.0), y = gpu_filled(NULL, COUNT, 0.0);
    REQUIRE_OK(ferry_prefetch(&x.view, 0, stream));
    REQUIRE_OK(ferry_prefetch(&y.view, 0, stream));
    REQUIRE_OK(ferry_sync(stream));
    begin(stream);
    CHECK_OK(launch(&x, &y, stream));
    cudaGraph_t graph = end(stream);
    cudaGraphExec_t executable = NULL;
    REQUIRE(cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, ferry_stream_native(stream)) == cudaSuccess);
    CHECK_OK(ferry_sync(stream));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 3, gpu_same, 1.0), 0);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    ferry_array_release(&x);
    ferry_array_release(&y);
    ferry_stream_destroy(stream);
}

/* What the stream ran before the capture cannot be asked about while it lasts: its blocks wait. */
static void earlier_work_keeps_its_blocks(void) {
    ferry_stream *stream;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    ferry_heap *heap; /* of its own, so that the freed block is the one that the next array would take */
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    ferry_array x = gpu_filled(heap, COUNT, 1.0), y = gpu_array(heap, COUNT);
    REQUIRE_OK(launch(&x, &y, stream));
    begin(stream);
    const void *used = y.view.data;
    ferry_array_release(&y);
    ferry_array z = gpu_array(heap, COUNT);
    CHECK(z.view.data != used);
    cudaGraphDestroy(end(stream));
    CHECK_OK(ferry_sync(stream));
    ferry_array again = gpu_array(heap, COUNT);
    CHECK(again.view.data == used);
    ferry_array_release(&again);
    ferry_array_release(&z);
    ferry_array_release(&x);
    ferry_heap_destroy(heap);
    ferry_stream_destroy(stream);
}

/* Work of ours elsewhere, a new region among it, while the same thread captures. */
static void other_work_leaves_a_capture_whole(void) {
    ferry_stream *stream, *other;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    begin(stream);
    CHECK_OK(ferry_stream_create(0, &other));
    ferry_heap *heap;
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    ferry_array x = gpu_filled(heap, COUNT, 1.0), y = gpu_array(heap, COUNT);
    CHECK_OK(gpu_unary(FERRY_OP_NEGATIVE, &x, &y, other));
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, -1, gpu_same, 1.0), 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
    cudaGraphDestroy(end(stream));
    ferry_heap_destroy(heap);
    ferry_stream_destroy(other);
    ferry_stream_destroy(stream);
}

int main(void) {
    gpu_start();
    REQUIRE_OK(ferry_kernel_compile(triple_source, "triple", &triple));
    RUN(moves_are_refused);
    RUN(resident_launches_are_captured);
    RUN(earlier_work_keeps_its_blocks);
    RUN(other_work_leaves_a_capture_whole);
    ferry_kernel_destroy(triple);
    return test_finish();
}
