#include "with_cuda.h"

const char *version_name(void) {
    return "explicit";
}

void version_end(void) {}

#ifdef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

#define SKIPPED 77 /* what the project's tests exit with where there is no device */

const char *version_backend(void) {
    return "cuda";
}

void version_start(void) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "there is no device here\n");
        exit(SKIPPED);
    }
    CHECK(cudaFree(NULL));
}

#else

const char *version_backend(void) {
    return "host";
}

void version_start(void) {}

#endif
