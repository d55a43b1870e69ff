/* When a launch pays: times that grow evenly with the number of elements, and where two of them meet. */
#ifndef FERRY_KERNELS_PAYS_LINE_H
#define FERRY_KERNELS_PAYS_LINE_H

#include <stddef.h>

#include "ferry/link.h"

/* n elements take fixed_ns + n * element_ns. */
typedef struct pays_line {
    double fixed_ns, element_ns;
} pays_line;

/* Through two measurements, of which neither part may be negative: noise is taken for none. few < many. */
pays_line pays_line_through(size_t few, double few_ns, size_t many, double many_ns);

/* What a kernel across the bus adds for an element of which it loads and stores so many bytes: both directions work at
 * once as far as both have something to do. */
double pays_crossing_ns(const ferry_link_costs *costs, size_t loaded_bytes, size_t stored_bytes);

/* The least number of elements, 1 or more, from which on the device takes at most nine tenths of the host's time;
 * SIZE_MAX where there is none. */
size_t pays_from(pays_line host, pays_line device);

#endif
