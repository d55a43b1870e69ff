#include "images.h"
#include "with_cuda.h"

#include "images.cuh"

/* Two of everything: the host writes the edges of an image, and reads the next but one, while the next is on its way.
 */
void images_run(const struct images *images) {
    unsigned *values[2], *edges[2];
    uint8_t *host_values[2], *host_edges[2];
    unsigned short *blurred[2];
    unsigned char *both[2];
    cudaStream_t streams[2];
    lap_start();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc((void **)&values[i], images->most_bytes));
        CHECK(cudaMalloc((void **)&edges[i], images->most_bytes));
        CHECK(cudaMalloc((void **)&blurred[i], images->most_bytes * sizeof(unsigned short)));
        CHECK(cudaMalloc((void **)&both[i], images->most_bytes));
        CHECK(cudaMallocHost((void **)&host_values[i], images->most_bytes));
        CHECK(cudaMallocHost((void **)&host_edges[i], images->most_bytes));
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    lap("allocate");
    for (int i = 0; i <= images->count; i++) {
        int slot = i % 2;
        if (i < images->count) {
            const struct image *image = &images->list[i];
            image_read(images, i, host_values[slot]);
            CHECK(
                cudaMemcpyAsync(values[slot], host_values[slot], image->bytes, cudaMemcpyHostToDevice, streams[slot]));
            LAUNCH(images_rows, image->height, streams[slot], values[slot], blurred[slot], image->row, image->channels);
            LAUNCH(images_columns, image->height, streams[slot], blurred[slot], both[slot], image->row);
            LAUNCH(images_edges, image->height, streams[slot], both[slot], edges[slot], image->row, image->channels);
            CHECK(cudaMemcpyAsync(host_edges[slot], edges[slot], image->bytes, cudaMemcpyDeviceToHost, streams[slot]));
        }
        if (i > 0) {
            CHECK(cudaStreamSynchronize(streams[1 - slot]));
            image_write(images, i - 1, host_edges[1 - slot]);
        }
    }
    lap("work");
    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(values[i]));
        CHECK(cudaFree(edges[i]));
        CHECK(cudaFree(blurred[i]));
        CHECK(cudaFree(both[i]));
        CHECK(cudaFreeHost(host_values[i]));
        CHECK(cudaFreeHost(host_edges[i]));
        CHECK(cudaStreamDestroy(streams[i]));
    }
}
