/*
 * malloc_kernel [STEPS [copies]]: heat spreads over a plate, by a kernel that works on what malloc gave.
 *
 * It knows nothing of ferry. On a device that reaches ordinary memory it runs as it is; on others under `ferry run`,
 * and without that the launch fails. With "copies" the plate is copied to memory of the device and back, as such
 * programs are usually written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIDE ((size_t)4096)
#define PLATE_BYTES (SIDE * SIDE * sizeof(float))
#define NO_DEVICE 77

/* The multiplication is exact, so that whoever fuses operations, and who does not, has the same result. */
__host__ __device__ static float mean(const float *plate, size_t at) {
    return 0.25f * (plate[at - SIDE] + plate[at - 1] + plate[at + 1] + plate[at + SIDE]);
}

__global__ void spread(const float *from, float *to) {
    const size_t column = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t row = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (row > 0 && row < SIDE - 1 && column > 0 && column < SIDE - 1)
        to[row * SIDE + column] = mean(from, row * SIDE + column);
}

static void spread_on_host(const float *from, float *to) {
    for (size_t row = 1; row < SIDE - 1; row++) {
        for (size_t column = 1; column < SIDE - 1; column++)
            to[row * SIDE + column] = mean(from, row * SIDE + column);
    }
}

/* Hot at the edges and at some places between. */
static void heat(float *plate) {
    for (size_t at = 0; at < SIDE * SIDE; at++) {
        const size_t row = at / SIDE, column = at % SIDE;
        const bool edge = row == 0 || row == SIDE - 1 || column == 0 || column == SIDE - 1;
        plate[at] = edge ? 100.0f : (float)(at * 7 % 101);
    }
}

static bool failed(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fprintf(stderr, "malloc_kernel: %s: %s\n", what, cudaGetErrorString(error));
    return error != cudaSuccess;
}

static bool launch(float *from, float *to, int steps) {
    const dim3 block(32, 8), grid(SIDE / 32, SIDE / 8);
    for (int i = 0; i < steps; i++) {
        spread<<<grid, block>>>(i % 2 == 0 ? from : to, i % 2 == 0 ? to : from);
        if (failed(cudaGetLastError(), "launch"))
            return false;
    }
    return !failed(cudaDeviceSynchronize(), "kernel");
}

static bool launch_on_copies(float *plate, float *next, int steps) {
    float *from = NULL, *to = NULL;
    const bool done =
        !failed(cudaMalloc(&from, PLATE_BYTES), "cudaMalloc") && !failed(cudaMalloc(&to, PLATE_BYTES), "cudaMalloc") &&
        !failed(cudaMemcpy(from, plate, PLATE_BYTES, cudaMemcpyHostToDevice), "copy in") &&
        !failed(cudaMemcpy(to, next, PLATE_BYTES, cudaMemcpyHostToDevice), "copy in") && launch(from, to, steps) &&
        !failed(cudaMemcpy(plate, from, PLATE_BYTES, cudaMemcpyDeviceToHost), "copy out") &&
        !failed(cudaMemcpy(next, to, PLATE_BYTES, cudaMemcpyDeviceToHost), "copy out");
    cudaFree(from);
    cudaFree(to);
    return done;
}

static double seconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool work(float *plates[4], int steps, bool copies) {
    for (int i = 0; i < 4; i++)
        heat(plates[i]);
    /* The context is made before the clock starts. */
    if (failed(cudaFree(NULL), "start"))
        return false;
    const double began = seconds();
    if (!(copies ? launch_on_copies : launch)(plates[0], plates[1], steps))
        return false;
    fprintf(stderr, "work %.6f s\n", seconds() - began);
    for (int i = 0; i < steps; i++)
        spread_on_host(plates[2 + i % 2], plates[3 - i % 2]);
    return true;
}

/* The device's result and the host's, bit by bit. */
static bool compare(float *const plates[4], int steps) {
    const float *got = plates[steps % 2], *want = plates[2 + steps % 2];
    if (memcmp(got, want, PLATE_BYTES) != 0) {
        printf("FAILED: the device's plate is not the host's\n");
        return false;
    }
    printf("PASS: %d steps, %.6f in the middle\n", steps, got[SIDE * SIDE / 2 + SIDE / 2]);
    return true;
}

int main(int argc, char **argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 10;
    const bool copies = argc > 2 && strcmp(argv[2], "copies") == 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "malloc_kernel: there is no device here\n");
        return NO_DEVICE;
    }
    float *plates[4];
    bool right = true;
    for (int i = 0; i < 4; i++) {
        plates[i] = (float *)malloc(PLATE_BYTES);
        right = right && plates[i] != NULL;
    }
    right = right && work(plates, steps, copies) && compare(plates, steps);
    for (int i = 0; i < 4; i++)
        free(plates[i]);
    return right ? 0 : 1;
}
