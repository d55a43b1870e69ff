/*
 * The suite `stream`: McCalpin's four operations over three arrays, c = a, b = s c, c = a + b, a = b + s c, wherever
 * the arrays are. None reads what it writes: repeated, an operation gives the same.
 */
#ifndef FERRY_BENCHMARKS_STREAM_H
#define FERRY_BENCHMARKS_STREAM_H

#include "bench_kernels.h"
#include "content.h"
#include "report.h"
#include "team.h"

#define STREAM_FACTOR 0.4

enum { STREAM_COPY, STREAM_SCALE, STREAM_ADD, STREAM_TRIAD, STREAM_OPERATIONS };
enum { STREAM_A, STREAM_B, STREAM_C, STREAM_ARRAYS };

/* An operation: which array it writes, and which one or two it reads. */
struct stream_operation {
    const char *name;
    int to, from[2], reads;
};
extern const struct stream_operation stream_operations[STREAM_OPERATIONS];

/* Kernels; a device's as source. */
struct stream_kernels {
    ferry_kernel *kernels[STREAM_OPERATIONS];
};
ferry_status stream_kernels_open(struct stream_kernels *kernels);
void stream_kernels_close(struct stream_kernels *kernels);
/* On addresses that the device sees, with no movement and no bookkeeping, on the library's own stream. */
ferry_status stream_enqueue(const struct stream_kernels *kernels, int operation, double *const arrays[STREAM_ARRAYS],
                            double factor, size_t n);

/* The same by the team's threads on the host; seconds. `library`: memcpy for the copy. */
double stream_on_host(struct team *team, size_t threads, int operation, double *const arrays[STREAM_ARRAYS],
                      double factor, size_t n, bool library);

/* Where three arrays are. */
enum stream_place {
    STREAM_DEVICE,       /* memory of the device's, by CUDA */
    STREAM_MANAGED,      /* the library's, on the device */
    STREAM_REMOTE,       /* the library's, at home on the host; kernels cross the bus */
    STREAM_PINNED,       /* page-locked memory, of which kernels do the same */
    STREAM_HOST,         /* ordinary memory, used by the host */
    STREAM_HOST_MANAGED, /* the library's, used by the host */
    STREAM_PLACES
};

struct stream_memory {
    enum stream_place place;
    size_t n;
    ferry_heap *heap;
    ferry_array arrays[STREAM_ARRAYS]; /* of the library's */
    double *host[STREAM_ARRAYS];       /* as the host sees them; NULL: it does not */
    double *device[STREAM_ARRAYS];     /* as the device sees them */
    double *probes;                    /* what the device found */
    double expected[STREAM_ARRAYS][CONTENT_PROBES];
};

bool stream_place_has_kernels(enum stream_place place);
bool stream_place_needs_cuda(enum stream_place place);

/* Three arrays of n numbers each, filled, and in their place. Close it in any case. */
ferry_status stream_memory_open(struct stream_memory *memory, enum stream_place place, size_t n);
void stream_memory_close(struct stream_memory *memory);

/* Notes what the operation makes of the numbers that are looked at. */
void stream_expect(struct stream_memory *memory, int operation);
/* Whether those in memory are that; what is there is expected from then on. `gather` looks where the host cannot. */
ferry_status stream_check(const struct bench_kernels *gather, struct stream_memory *memory, bool *right);

#endif
