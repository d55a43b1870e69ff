#include "host_model.h"

#include <stdint.h>

#include "pool.h"

/*
 * GB/s, and seconds. From the difference between epochs of the policy `remote` with the host's part and without, on an
 * H200's host of 16 cores (results/h200/reuse.json). There the lines that the host goes over are in no cache: the
 * device has read them, which writes them back, or has written them. Below, one core's rates; those of updates are of
 * what fits into its cache, and of what does not.
 */
static const double one_core[HOST_WORKS] = {[HOST_STORES] = 7.4, [HOST_UPDATES] = 7.4, [HOST_LOADS] = 12.4};
#define LARGE_UPDATES 5.1
#define LARGE_BYTES ((size_t)2 << 20)
static const double all_cores[HOST_WORKS] = {[HOST_STORES] = 50, [HOST_UPDATES] = 50, [HOST_LOADS] = 77};
#define WAKE_SECONDS 0.5e-3 /* until all threads of the pool are at work, and it is known that they have finished */
#define LOOK_SECONDS 0.6e-6
#define LOOK_BYTES ((size_t)256 << 10) /* smaller arrays' pages and lines are at hand */
#define FAULTS_AT_ONCE 3               /* the driver locks blocks one by one, but not for all that it does */

double host_model_loop(enum host_work work, size_t bytes) {
    if (bytes >= POOL_LEAST_BYTES)
        return WAKE_SECONDS + (double)bytes * 1e-9 / all_cores[work];
    double rate = work == HOST_UPDATES && bytes > LARGE_BYTES ? LARGE_UPDATES : one_core[work];
    return (double)bytes * 1e-9 / rate;
}

double host_model_looks(size_t n, size_t array_bytes) {
    return array_bytes > LOOK_BYTES ? (double)n * LOOK_SECONDS : 0;
}

double host_model_faults_at_once(size_t bytes) {
    return bytes >= POOL_LEAST_BYTES ? FAULTS_AT_ONCE : 1;
}
