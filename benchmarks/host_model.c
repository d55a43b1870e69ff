#include "host_model.h"

#include <math.h>

#include "pool.h"

/*
 * GB/s, and seconds. From the difference between epochs of the policy `remote` with the host's part and without, on an
 * H200's host of 16 cores (results/h200/reuse.json). There the lines that the host goes over are in no cache: the
 * device has read them, which writes them back, or has written them; and the device takes what was stored from the
 * host's caches, which is in the rates of stores and updates. Below, one core's rates; those of updates are of what
 * fits into its cache, and of what does not.
 */
static const double one_core[HOST_WORKS] = {[HOST_STORES] = 7.4, [HOST_UPDATES] = 7.4, [HOST_LOADS] = 12.4};
#define LARGE_UPDATES 5.1
#define LARGE_BYTES ((size_t)2 << 20)
static const double all_cores[HOST_WORKS] = {[HOST_STORES] = 50, [HOST_UPDATES] = 50, [HOST_LOADS] = 77};
#define WAKE_SECONDS 0.5e-3 /* until all threads of the pool are at work, and it is known that they have finished */
#define LOOK_SECONDS 0.6e-6
#define LOOK_BYTES ((size_t)256 << 10) /* smaller arrays' pages and lines are at hand */
#define PAGE_BYTES 4096
/* From results/h200/transfer.json: on one core as on ordinary memory, since the rest is what stores cost the device; on
 * all cores what 16 MiB to 1 GiB under `remote` take beside the kernel. They wake up from the wait for it. */
#define TOUCH_SECONDS 3e-9
#define TOUCH_SECONDS_MANY 33e-9 /* on each of them */
#define TOUCH_WAKE_SECONDS 0.27e-3
#define CORES 16
/*
 * GB/s. DIRTY is what the device loads at from lines that the host has just stored, and which are in a core's own
 * cache: 2 MiB, by the processor's data sheet (Sapphire Rapids). Kernels that reach into 256 KiB, 1 MiB and 4 MiB take
 * 6, 24 and 44 µs longer in `transfer` than in `reuse`, where the host does nothing; explicit copies of 64 MiB that the
 * host has filled in the same round 0.8 to 1 ms longer than by the bus's rate. In `pingpong`, where other strategies'
 * arrays come between stores and copy, those do not. The other rates are of alloc/sim_link.c, whose remote_ns says what
 * hides.
 */
#define DIRTY 24.0
#define CACHE_BYTES ((size_t)2 << 20)
#define COPIED 51.0
#define LOADED 51.0
#define BOTH 84.0
#define WAVE_BYTES ((double)132 * 2048 * 16)
#define FAULTS_AT_ONCE 3  /* the driver locks blocks one by one, but not for all that it does */
#define TOUCHES_AT_ONCE 2 /* between what 64 MiB took under `none`, in `transfer` and `pingpong`, on two days */

double host_model_loop(enum host_work work, size_t bytes) {
    if (bytes >= POOL_LEAST_BYTES)
        return WAKE_SECONDS + (double)bytes * 1e-9 / all_cores[work];
    double rate = work == HOST_UPDATES && bytes > LARGE_BYTES ? LARGE_UPDATES : one_core[work];
    return (double)bytes * 1e-9 / rate;
}

double host_model_looks(size_t n, size_t array_bytes) {
    return array_bytes > LOOK_BYTES ? (double)n * LOOK_SECONDS : 0;
}

double host_model_touches(size_t bytes) {
    double pages = (double)bytes / PAGE_BYTES;
    return bytes < POOL_LEAST_BYTES ? pages * TOUCH_SECONDS : TOUCH_WAKE_SECONDS + pages * TOUCH_SECONDS_MANY / CORES;
}

/* What is stored last stays in the caches of those cores that have stored. */
static double dirty_bytes(size_t bytes) {
    size_t held = bytes < POOL_LEAST_BYTES ? CACHE_BYTES : CORES * CACHE_BYTES;
    return (double)(bytes < held ? bytes : held);
}

double host_model_dirty_copy(size_t bytes) {
    return dirty_bytes(bytes) * 1e-9 * (1 / DIRTY - 1 / COPIED);
}

/* Seconds of a kernel that loads so many bytes across the bus, at that rate, and stores as many. As the simulator's
 * remote_ns has it: the first wave of its threads loads before anything is stored. */
static double across(size_t bytes, double rate) {
    double wave = fmin((double)bytes, WAVE_BYTES), rest = (double)bytes - wave;
    return 1e-9 * (wave / rate + fmax(rest / rate, 2 * rest / BOTH));
}

double host_model_dirty_loads(size_t bytes) {
    double dirty = dirty_bytes(bytes), rate = (double)bytes / (dirty / DIRTY + ((double)bytes - dirty) / LOADED);
    return bytes ? across(bytes, rate) - across(bytes, LOADED) : 0;
}

double host_model_faults_at_once(size_t bytes) {
    return bytes >= POOL_LEAST_BYTES ? FAULTS_AT_ONCE : 1;
}

double host_model_touches_at_once(size_t bytes) {
    return bytes >= POOL_LEAST_BYTES ? TOUCHES_AT_ONCE : 1;
}
