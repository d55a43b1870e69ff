#include "heat.h"
#include "with_cuda.h"

#include "heat.cuh"

/* Pictures are painted into one of two buffers and copied on a stream of their own, so that steps go on meanwhile; the
 * host writes a picture while the next one is made. */
void heat_run(const struct heat *heat) {
    float *grid[2], *host_grid;
    unsigned *picture[2];
    uint8_t *host_picture[2];
    double *row_sums, *host_row_sums;
    cudaStream_t work, copy;
    cudaEvent_t painted[2], copied[2];
    int size = heat->size, number = 0;
    lap_start();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc((void **)&grid[i], heat->area * sizeof(float)));
        CHECK(cudaMalloc((void **)&picture[i], heat->area));
        CHECK(cudaMallocHost((void **)&host_picture[i], heat->area));
        CHECK(cudaEventCreateWithFlags(&painted[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
    }
    CHECK(cudaMallocHost((void **)&host_grid, heat->area * sizeof(float)));
    CHECK(cudaMalloc((void **)&row_sums, (size_t)size * sizeof(double)));
    CHECK(cudaMallocHost((void **)&host_row_sums, (size_t)size * sizeof(double)));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    lap("allocate");
    heat_fill(heat, host_grid);
    lap("input");
    CHECK(cudaMemcpyAsync(grid[0], host_grid, heat->area * sizeof(float), cudaMemcpyHostToDevice, work));
    for (int step = 1; step <= heat->steps; step++) {
        LAUNCH(heat_step, size, work, grid[(step - 1) % 2], grid[step % 2], size);
        if (step % heat->every != 0)
            continue;
        int slot = ++number % 2;
        CHECK(cudaStreamWaitEvent(work, copied[slot], 0));
        LAUNCH(heat_paint, size, work, grid[step % 2], picture[slot], size);
        CHECK(cudaEventRecord(painted[slot], work));
        CHECK(cudaStreamWaitEvent(copy, painted[slot], 0));
        CHECK(cudaMemcpyAsync(host_picture[slot], picture[slot], heat->area, cudaMemcpyDeviceToHost, copy));
        CHECK(cudaEventRecord(copied[slot], copy));
        if (number > 1) {
            CHECK(cudaEventSynchronize(copied[1 - slot]));
            heat_save(heat, number - 1, host_picture[1 - slot]);
        }
    }
    CHECK(cudaEventSynchronize(copied[number % 2]));
    heat_save(heat, number, host_picture[number % 2]);
    LAUNCH(heat_sum, size, work, grid[heat->steps % 2], row_sums, size);
    CHECK(cudaMemcpyAsync(host_row_sums, row_sums, (size_t)size * sizeof(double), cudaMemcpyDeviceToHost, work));
    CHECK(cudaStreamSynchronize(work));
    heat_answer(heat, host_row_sums);
    lap("work");
    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(grid[i]));
        CHECK(cudaFree(picture[i]));
        CHECK(cudaFreeHost(host_picture[i]));
        CHECK(cudaEventDestroy(painted[i]));
        CHECK(cudaEventDestroy(copied[i]));
    }
    CHECK(cudaFreeHost(host_grid));
    CHECK(cudaFree(row_sums));
    CHECK(cudaFreeHost(host_row_sums));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(copy));
}
