/* The clock that a suite tells times by: this machine's, or on the simulator the modelled machine's. */
#ifndef FERRY_BENCHMARKS_CLOCK_H
#define FERRY_BENCHMARKS_CLOCK_H

#include <stdbool.h>

bool clock_is_virtual(void);
double clock_seconds(void);

#endif
