/* The suite `placement`: its parts. Each returns a failure of the library's or of CUDA's; figures go into the report.
 */
#ifndef FERRY_BENCHMARKS_PLACEMENT_H
#define FERRY_BENCHMARKS_PLACEMENT_H

#include "bench_kernels.h"
#include "report.h"
#include "suites.h"

struct placement {
    struct report *report;
    struct bench_kernels kernels;
    bool modelled, has_explicit;
    size_t sizes[SUITE_SIZES_MAX], nsizes; /* of the round trips */
    size_t chain_bytes;                    /* of an array of the chain */
    size_t crossings_bytes;                /* of an array whose crossings are counted */
    size_t runs;
};

/* A logarithm, host array to host array, beside explicit pinned copies and pinned zero-copy memory. */
ferry_status placement_round_trips(struct placement *placement);

/* Ten kernels one after the other, beside hand-written orders; and as a loop that allocates its temporaries. */
ferry_status placement_chain(struct placement *placement);

/* What a launch costs when its operands are in place, and whether that grows. */
ferry_status placement_launches(struct placement *placement);

/* Bytes that nobody needs, by the driver's count. Comes last: CUPTI leaves hooks in the driver. */
ferry_status placement_crossings(struct placement *placement);

/* Seconds in which an array of so many bytes could cross to the device while another comes home. */
double placement_limit(size_t bytes);

/* Touches one element in every 2 MiB, as a host that has to find the array at home would notice. */
double placement_touch(const double *array, size_t n);

#endif
