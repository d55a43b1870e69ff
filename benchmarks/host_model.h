/* What the host's own part of a benchmark takes on the machine that the simulator models by default. The virtual clock
 * does not count it: it sees what the library and the driver do. */
#ifndef FERRY_BENCHMARKS_HOST_MODEL_H
#define FERRY_BENCHMARKS_HOST_MODEL_H

#include <stddef.h>

enum host_work { HOST_STORES, HOST_UPDATES, HOST_LOADS, HOST_WORKS };

/* Seconds for a loop over so many bytes, which a device has used since the host did: on one core, or on all of them
 * where pool_run takes all. */
double host_model_loop(enum host_work work, size_t bytes);
/* Seconds for looks at `n` elements, each on a page of its own, of an array of so many bytes. */
double host_model_looks(size_t n, size_t array_bytes);
/* Seconds for a touch of each page of an array of so many bytes, whose lines are in no cache. */
double host_model_touches(size_t bytes);
/*
 * Seconds that it takes a device longer to load so many bytes across the bus because the host has just stored them: the
 * lines are in the host's caches, and have to be taken from there. By a copy or a move; or by a kernel that stores as
 * many bytes across the bus beside.
 */
double host_model_dirty_copy(size_t bytes);
double host_model_dirty_loads(size_t bytes);
/* How many of its threads' faults the driver serves at a time while they go over so many bytes. */
double host_model_faults_at_once(size_t bytes);
/* The same of threads that only touch every page, and so raise one fault right after the other. */
double host_model_touches_at_once(size_t bytes);

#endif
