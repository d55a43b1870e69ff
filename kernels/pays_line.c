#include "pays_line.h"

#include <math.h>
#include <stdint.h>

/* Less would be within what times vary by, and a launch takes the bus and the device from others. */
#define SHARE 0.9

pays_line pays_line_through(size_t few, double few_ns, size_t many, double many_ns) {
    const double element_ns = fmax(0, (many_ns - few_ns) / (double)(many - few));
    return (pays_line){fmax(0, few_ns - element_ns * (double)few), element_ns};
}

double pays_crossing_ns(const ferry_link_costs *costs, size_t loaded_bytes, size_t stored_bytes) {
    const double loaded = (double)loaded_bytes, stored = (double)stored_bytes, both = fmin(loaded, stored);
    return both * costs->remote_both_ns_per_byte + (loaded - both) * costs->remote_read_ns_per_byte +
           (stored - both) * costs->remote_write_ns_per_byte;
}

size_t pays_from(pays_line host, pays_line device) {
    const double gained_ns = SHARE * host.element_ns - device.element_ns;
    const double elements = ceil((device.fixed_ns - SHARE * host.fixed_ns) / gained_ns);
    if (!(gained_ns > 0 && elements < (double)INT64_MAX))
        return SIZE_MAX;
    return elements > 1 ? (size_t)elements : 1;
}
