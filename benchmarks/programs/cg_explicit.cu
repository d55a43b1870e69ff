#include "cg.h"
#include "with_cuda.h"

#include "cg.cuh"

/* Whether to stop is asked every CHECKED_EVERY iterations, of a residual that has been copied to pinned memory. */
void cg_run(const struct cg *cg) {
    const size_t offset_bytes = ((size_t)cg->rows + 1) * sizeof(int);
    const size_t column_bytes = (size_t)cg->elements * sizeof(int);
    const size_t value_bytes = (size_t)cg->elements * sizeof(double);
    const size_t vector_bytes = (size_t)cg->rows * sizeof(double);
    const size_t part_bytes = (size_t)cg->parts * sizeof(double);
    const size_t rounded_bytes = (size_t)cg->rows * sizeof(float);
    int *offsets, *columns, *host_offsets, *host_columns, iteration = 0;
    double *values, *b, *x, *r, *p, *q, *products, *squares, *rho, *residual, first;
    double *host_values, *host_b, *host_residual;
    float *rounded, *host_rounded;
    cudaStream_t stream;
    lap_start();
    CHECK(cudaMalloc((void **)&offsets, offset_bytes));
    CHECK(cudaMalloc((void **)&columns, column_bytes));
    CHECK(cudaMalloc((void **)&values, value_bytes));
    CHECK(cudaMalloc((void **)&b, vector_bytes));
    CHECK(cudaMalloc((void **)&x, vector_bytes));
    CHECK(cudaMalloc((void **)&r, vector_bytes));
    CHECK(cudaMalloc((void **)&p, vector_bytes));
    CHECK(cudaMalloc((void **)&q, vector_bytes));
    CHECK(cudaMalloc((void **)&products, part_bytes));
    CHECK(cudaMalloc((void **)&squares, part_bytes));
    CHECK(cudaMalloc((void **)&rho, 2 * sizeof(double)));
    CHECK(cudaMalloc((void **)&residual, sizeof(double)));
    CHECK(cudaMalloc((void **)&rounded, rounded_bytes));
    CHECK(cudaMallocHost((void **)&host_offsets, offset_bytes));
    CHECK(cudaMallocHost((void **)&host_columns, column_bytes));
    CHECK(cudaMallocHost((void **)&host_values, value_bytes));
    CHECK(cudaMallocHost((void **)&host_b, vector_bytes));
    CHECK(cudaMallocHost((void **)&host_residual, sizeof(double)));
    CHECK(cudaMallocHost((void **)&host_rounded, rounded_bytes));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    lap("allocate");
    cg_fill(cg, host_offsets, host_columns, host_values, host_b);
    lap("input");
    CHECK(cudaMemcpyAsync(offsets, host_offsets, offset_bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(columns, host_columns, column_bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(values, host_values, value_bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(b, host_b, vector_bytes, cudaMemcpyHostToDevice, stream));
    LAUNCH(cg_start, cg->parts, stream, b, x, r, p, squares, cg->rows);
    LAUNCH(cg_turn, cg->parts, stream, r, squares, p, rho, residual, cg->rows, iteration);
    CHECK(cudaMemcpyAsync(host_residual, residual, sizeof(double), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    first = *host_residual;
    while (!cg_converged(*host_residual, first) && iteration < cg->iterations) {
        for (int i = 0; i < CHECKED_EVERY; i++) {
            iteration++;
            LAUNCH(cg_multiply, cg->parts, stream, offsets, columns, values, p, q, products, cg->rows);
            LAUNCH(cg_advance, cg->parts, stream, p, q, products, rho, x, r, squares, cg->rows, iteration);
            LAUNCH(cg_turn, cg->parts, stream, r, squares, p, rho, residual, cg->rows, iteration);
        }
        CHECK(cudaMemcpyAsync(host_residual, residual, sizeof(double), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    LAUNCH(cg_round, cg->parts, stream, x, rounded, cg->rows);
    CHECK(cudaMemcpyAsync(host_rounded, rounded, rounded_bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    lap("work");
    cg_answer(cg, iteration, *host_residual, host_rounded);
    void *const on_device[] = {offsets, columns, values, b, x, r, p, q, products, squares, rho, residual, rounded};
    void *const on_host[] = {host_offsets, host_columns, host_values, host_b, host_residual, host_rounded};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        CHECK(cudaFree(on_device[i]));
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        CHECK(cudaFreeHost(on_host[i]));
    CHECK(cudaStreamDestroy(stream));
}
