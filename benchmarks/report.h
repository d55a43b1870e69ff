/* A benchmark's results: one JSON file, and a table on standard output. */
#ifndef FERRY_BENCHMARKS_REPORT_H
#define FERRY_BENCHMARKS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Seconds, ascending after samples_sort. */
#define SAMPLES_MAX 1024
struct samples {
    double seconds[SAMPLES_MAX];
    size_t n;
};

double now_seconds(void);
void samples_add(struct samples *samples, double seconds); /* beyond SAMPLES_MAX: dropped */
double samples_median(struct samples *samples);            /* 0 when there are none */

struct report {
    FILE *json; /* NULL: only the table */
    bool quiet; /* cases go to the file only: the caller prints a table of its own */
    int cases, checks, failed;
    char checked[16384]; /* the checks, as JSON, until the file ends */
};

/* Writes what was measured where: machine and build. `path` may be NULL. False when the file cannot be written. */
bool report_begin(struct report *report, const char *path, const char *device, const char *driver, const char *cuda);

/* One more fact about the whole run, before the first case. */
void report_fact(struct report *report, const char *name, const char *text);

/* One case: begin, any numbers, end. `bytes` is the size it is about. */
void report_case(struct report *report, const char *name, const char *strategy, uint64_t bytes,
                 struct samples *samples);
void report_number(struct report *report, const char *name, double value);
void report_count(struct report *report, const char *name, uint64_t value);
void report_text(struct report *report, const char *name, const char *text);
void report_case_end(struct report *report);

/* Something that has to hold, with the figure that says so. */
void report_check(struct report *report, bool holds, const char *text, double figure);

/* False when the file could not be written whole. */
bool report_end(struct report *report);

#endif
