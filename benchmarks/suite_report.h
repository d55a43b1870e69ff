/* What the suites share: their report. */
#ifndef FERRY_BENCHMARKS_SUITE_REPORT_H
#define FERRY_BENCHMARKS_SUITE_REPORT_H

#include "report.h"
#include "suites.h"

/* Opens the report: says what was measured where, by which clock, and what the machine's limits are. False, with a
 * message, when it cannot. */
bool suite_report_begin(struct report *report, const struct suite *suite, const struct suite_options *options,
                        char message[SUITE_MESSAGE]);

/* Checks how much managed memory the suite has had, and ends the report. SUITE_FAILED when the suite had failed, the
 * file could not be written, or checks that were asked for do not hold. */
enum suite_end suite_report_end(struct report *report, const struct suite_options *options, enum suite_end end,
                                char message[SUITE_MESSAGE]);

extern const struct suite suite_transfer, suite_pingpong, suite_producer, suite_reuse, suite_placement, suite_alloc,
    suite_launch, suite_stream;

#endif
