#include "clock.h"

#include <string.h>

#include "ferry/ferry.h"
#include "report.h"

bool clock_is_virtual(void) {
    const char *name = ferry_backend_name();
    return name && strcmp(name, "sim") == 0;
}

double clock_seconds(void) {
    ferry_stats stats;
    if (!clock_is_virtual())
        return now_seconds();
    return ferry_stats_get(&stats) ? 0 : 1e-9 * (double)stats.modelled_ns;
}
