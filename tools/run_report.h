/* What programs under `ferry run` did with their memory: for people, and as JSON, docs/run.md. */
#ifndef FERRY_TOOLS_RUN_REPORT_H
#define FERRY_TOOLS_RUN_REPORT_H

#include <stdio.h>

#include "run_records.h"

/* `histogram`: all classes of sizes and lifetimes. */
void run_report_text(FILE *to, const run_records *records, bool histogram);
void run_report_json(FILE *to, const run_records *records);

#endif
