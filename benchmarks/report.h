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
/* The value below which `part` of them lie, between two of them in proportion; part 0.25 is the first quartile. */
double samples_quantile(struct samples *samples, double part);

/* Told what is in hand and how much of the whole is done, 0 to 1; `what` NULL: something is about to be printed. */
typedef void (*report_progress_function)(void *context, const char *what, double done);

/* "64 KiB" */
#define REPORT_SIZE_TEXT 32
void report_size_text(size_t bytes, char text[REPORT_SIZE_TEXT]);

struct report {
    FILE *json; /* NULL: only the table */
    bool quiet; /* cases go to the file only: the caller prints a table of its own */
    int cases, checks, failed;
    int members;                       /* of the object in hand */
    double median;                     /* of the case in hand, in seconds */
    char checked[16384];               /* the checks, as JSON, until the file ends */
    report_progress_function progress; /* may be NULL */
    void *progress_context;
};

/* Writes what was measured where: machine and build. `path` may be NULL. False when the file cannot be written. */
bool report_begin(struct report *report, const char *path, const char *device, const char *driver, const char *cuda);

/* One more fact about the whole run, before the first case. */
void report_fact(struct report *report, const char *name, const char *text);

/* The same of several: begin, any members, end. They are not printed. */
void report_object(struct report *report, const char *name);
void report_object_number(struct report *report, const char *name, double value);
void report_object_text(struct report *report, const char *name, const char *text);
void report_object_end(struct report *report);

/* What is in hand: passed on to whoever shows progress. Whoever prints by itself says NULL first. */
void report_progress(struct report *report, const char *what, double done);

/* One case: begin, any numbers, end. `bytes` is the size it is about. The file has the median, the least, the greatest
 * and the quartiles. */
void report_case(struct report *report, const char *name, const char *strategy, uint64_t bytes,
                 struct samples *samples);
void report_number(struct report *report, const char *name, double value);
void report_count(struct report *report, const char *name, uint64_t value);
void report_flag(struct report *report, const char *name, bool value);
void report_text(struct report *report, const char *name, const char *text);
/* The time that the machine would take at best, in seconds, and the median's share of it: limit / median. Nothing where
 * that is 0. */
void report_limit(struct report *report, double seconds);
void report_case_end(struct report *report);

/* Something that has to hold, with the figure that says so. */
void report_check(struct report *report, bool holds, const char *text, double figure);

/* False when the file could not be written whole. */
bool report_end(struct report *report);

#endif
