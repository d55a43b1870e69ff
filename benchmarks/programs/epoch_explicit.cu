#include "epoch.h"
#include "with_cuda.h"

#include "epoch.cuh"

/* Two batches: the host reads one while the other is copied and used. */
void epoch_run(const struct epoch *epoch) {
    const size_t batch_bytes = (size_t)epoch->batch * FIELDS * sizeof(float);
    float *samples[2], *host_samples[2], *weights, *host_weights, *gradients;
    double *losses, *host_losses;
    cudaStream_t copy, work;
    cudaEvent_t copied[2], used[2];
    lap_start();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc((void **)&samples[i], batch_bytes));
        CHECK(cudaMallocHost((void **)&host_samples[i], batch_bytes));
        CHECK(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&used[i], cudaEventDisableTiming));
    }
    CHECK(cudaMalloc((void **)&weights, FIELDS * sizeof(float)));
    CHECK(cudaMallocHost((void **)&host_weights, FIELDS * sizeof(float)));
    CHECK(cudaMalloc((void **)&gradients, GROUPS * FIELDS * sizeof(float)));
    CHECK(cudaMalloc((void **)&losses, GROUPS * sizeof(double)));
    CHECK(cudaMallocHost((void **)&host_losses, GROUPS * sizeof(double)));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    lap("allocate");
    CHECK(cudaMemsetAsync(weights, 0, FIELDS * sizeof(float), work));
    for (int batch = 0; batch < epoch->batches; batch++) {
        int slot = batch % 2, count = epoch_count(epoch, batch);
        CHECK(cudaEventSynchronize(copied[slot]));
        epoch_read(epoch, batch, host_samples[slot]);
        CHECK(cudaStreamWaitEvent(copy, used[slot], 0));
        CHECK(cudaMemcpyAsync(samples[slot], host_samples[slot], (size_t)count * FIELDS * sizeof(float),
                              cudaMemcpyHostToDevice, copy));
        CHECK(cudaEventRecord(copied[slot], copy));
        CHECK(cudaStreamWaitEvent(work, copied[slot], 0));
        LAUNCH(epoch_gradient, GROUPS, work, samples[slot], weights, gradients, losses, count, batch);
        CHECK(cudaEventRecord(used[slot], work));
        LAUNCH(epoch_update, FIELDS / THREADS, work, gradients, weights, count, batch);
    }
    CHECK(cudaMemcpyAsync(host_weights, weights, FIELDS * sizeof(float), cudaMemcpyDeviceToHost, work));
    CHECK(cudaMemcpyAsync(host_losses, losses, GROUPS * sizeof(double), cudaMemcpyDeviceToHost, work));
    CHECK(cudaStreamSynchronize(work));
    lap("work");
    epoch_answer(epoch, host_losses, host_weights);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(samples[i]));
        CHECK(cudaFreeHost(host_samples[i]));
        CHECK(cudaEventDestroy(copied[i]));
        CHECK(cudaEventDestroy(used[i]));
    }
    CHECK(cudaFree(weights));
    CHECK(cudaFreeHost(host_weights));
    CHECK(cudaFree(gradients));
    CHECK(cudaFree(losses));
    CHECK(cudaFreeHost(host_losses));
    CHECK(cudaStreamDestroy(copy));
    CHECK(cudaStreamDestroy(work));
}
