/* NVRTC, opened at run time: CUDA C++ source to machine code. */
#ifndef FERRY_KERNELS_NVRTC_PROGRAM_H
#define FERRY_KERNELS_NVRTC_PROGRAM_H

#include <stdbool.h>

#include "ferry/status.h"

typedef struct code_image {
    void *data; /* the owner frees it */
    size_t bytes;
} code_image;

/* What NVRTC is asked for. */
typedef struct nvrtc_request {
    const char *source, *name; /* name: of the kernel, for messages */
    int architecture;          /* 90 for compute capability 9.0 */
    bool portable;             /* PTX, which newer devices run too */
    bool contract; /* a * b + c may be fused: user code; else every operation rounds by itself, as on the host */
} nvrtc_request;

/*
 * What the result of a request depends on besides its source, as a line: version, architecture, options.
 * NUL-terminated, cut to `bytes`. FERRY_UNSUPPORTED where NVRTC is not to be found (FERRY_NVRTC names it) or the build
 * has no CUDA.
 */
ferry_status nvrtc_describe(const nvrtc_request *request, char *text, size_t bytes);

/*
 * Machine code for the architecture where NVRTC knows it, else PTX for the newest before it that NVRTC knows.
 * FERRY_COMPILE with the compiler's log; FERRY_UNSUPPORTED as above. Thread-safe.
 */
ferry_status nvrtc_compile(const nvrtc_request *request, code_image *out);

#endif
