#include "kmeans.h"
#include "with_cuda.h"

#include "kmeans.cuh"

/* New centres are on their way while the host looks at the tallies. */
void kmeans_run(const struct kmeans *kmeans) {
    const size_t point_bytes = (size_t)kmeans->points * (size_t)kmeans->features * sizeof(float);
    const size_t centre_bytes = CLUSTERS * (size_t)kmeans->features * sizeof(float);
    const size_t label_bytes = (size_t)kmeans->points * sizeof(int), shade_bytes = (size_t)kmeans->points;
    const size_t tally_bytes = 2 * (size_t)kmeans->blocks * sizeof(double);
    float *points, *host_points, *centres, *host_centres;
    int *labels, iteration = 0;
    unsigned char *shades, *host_shades;
    double *tallies, *host_tallies;
    cudaStream_t stream;
    cudaEvent_t counted;
    lap_start();
    CHECK(cudaMalloc((void **)&points, point_bytes));
    CHECK(cudaMalloc((void **)&centres, centre_bytes));
    CHECK(cudaMalloc((void **)&labels, label_bytes));
    CHECK(cudaMalloc((void **)&tallies, tally_bytes));
    CHECK(cudaMalloc((void **)&shades, shade_bytes));
    CHECK(cudaMallocHost((void **)&host_points, point_bytes));
    CHECK(cudaMallocHost((void **)&host_centres, centre_bytes));
    CHECK(cudaMallocHost((void **)&host_shades, shade_bytes));
    CHECK(cudaMallocHost((void **)&host_tallies, tally_bytes));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&counted, cudaEventDisableTiming));
    lap("allocate");
    kmeans_fill(kmeans, host_points);
    kmeans_start(kmeans, host_centres);
    lap("input");
    CHECK(cudaMemcpyAsync(points, host_points, point_bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(centres, host_centres, centre_bytes, cudaMemcpyHostToDevice, stream));
    do {
        iteration++;
        LAUNCH(kmeans_assign, kmeans->blocks, stream, points, centres, labels, tallies, kmeans->points,
               kmeans->features, iteration);
        CHECK(cudaMemcpyAsync(host_tallies, tallies, tally_bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventRecord(counted, stream));
        LAUNCH(kmeans_centre, kmeans->features, stream, points, labels, centres, kmeans->points);
        CHECK(cudaEventSynchronize(counted));
    } while (kmeans_moved(kmeans, host_tallies) > 0 && iteration < kmeans->iterations);
    LAUNCH(kmeans_paint, kmeans->blocks, stream, labels, shades, kmeans->points);
    CHECK(cudaMemcpyAsync(host_shades, shades, shade_bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    lap("work");
    kmeans_answer(kmeans, iteration, host_tallies, host_shades);
    CHECK(cudaFree(points));
    CHECK(cudaFree(centres));
    CHECK(cudaFree(labels));
    CHECK(cudaFree(tallies));
    CHECK(cudaFree(shades));
    CHECK(cudaFreeHost(host_points));
    CHECK(cudaFreeHost(host_centres));
    CHECK(cudaFreeHost(host_shades));
    CHECK(cudaFreeHost(host_tallies));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(counted));
}
