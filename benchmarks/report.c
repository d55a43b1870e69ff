#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void samples_add(struct samples *samples, double seconds) {
    if (samples->n < SAMPLES_MAX)
        samples->seconds[samples->n++] = seconds;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(struct samples *samples, double part) {
    size_t n = samples->n;
    qsort(samples->seconds, n, sizeof *samples->seconds, compare);
    if (n == 0)
        return 0;
    double at = part * (double)(n - 1);
    size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    return samples->seconds[below] + (at - (double)below) * (samples->seconds[above] - samples->seconds[below]);
}

double samples_median(struct samples *samples) {
    return samples_quantile(samples, 0.5);
}

void report_size_text(size_t bytes, char text[REPORT_SIZE_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 3) {
        value /= 1024;
        unit++;
    }
    snprintf(text, REPORT_SIZE_TEXT, "%.4g %s", value, units[unit]);
}

static void put_pair(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\": \"", name);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, file);
    fputc('"', file);
}

static void put_string(FILE *file, const char *name, const char *text) {
    fputs("  ", file);
    put_pair(file, name, text);
    fputs(",\n", file);
}

/* The first line that `command` prints, or the value of `variable` (may be NULL) where that is set, or "unknown". */
static void ask(const char *variable, const char *command, char *out, size_t bytes) {
    const char *known = variable ? getenv(variable) : NULL;
    snprintf(out, bytes, "%s", known && *known ? known : "");
    FILE *pipe = *out ? NULL : popen(command, "r");
    if (pipe) {
        if (!fgets(out, (int)bytes, pipe))
            *out = '\0';
        pclose(pipe);
    }
    out[strcspn(out, "\n")] = '\0';
    if (!*out)
        snprintf(out, bytes, "unknown");
}

static void put_place_and_time(FILE *json) {
    char text[256], date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    ask("FERRY_CPU", "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo", text, sizeof text);
    put_string(json, "cpu", text);
    put_string(json, "date", date);
    ask("FERRY_COMMIT", "git rev-parse HEAD 2>/dev/null", text, sizeof text);
    put_string(json, "commit", text);
}

/* What the device runs at, asked while the program has it in use. */
static void put_clocks(FILE *json, bool has_device) {
    static const char *const names[] = {"sm_clock", "memory_clock"};
    static const char *const commands[] = {"nvidia-smi --query-gpu=clocks.sm --format=csv,noheader 2>/dev/null",
                                           "nvidia-smi --query-gpu=clocks.mem --format=csv,noheader 2>/dev/null"};
    char text[64] = "none";
    for (int i = 0; i < 2; i++) {
        if (has_device)
            ask(NULL, commands[i], text, sizeof text);
        put_string(json, names[i], text);
    }
}

bool report_begin(struct report *report, const char *path, const char *device, const char *driver, const char *cuda) {
    char text[256];
    *report = (struct report){0};
    if (!path)
        return true;
    report->json = fopen(path, "w");
    if (!report->json)
        return false;
    fputs("{\n", report->json);
    put_string(report->json, "device", device);
    put_clocks(report->json, !driver);
    if (!driver) {
        ask("FERRY_DRIVER", "nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null", text,
            sizeof text);
        driver = text;
    }
    put_string(report->json, "driver", driver);
    put_string(report->json, "cuda", cuda);
    put_place_and_time(report->json);
    return true;
}

void report_fact(struct report *report, const char *name, const char *text) {
    if (report->json)
        put_string(report->json, name, text);
}

static void begin_member(struct report *report, const char *name) {
    fprintf(report->json, "%s\"%s\": ", report->members++ ? ", " : "", name);
}

void report_object(struct report *report, const char *name) {
    report->members = 0;
    if (report->json)
        fprintf(report->json, "  \"%s\": {", name);
}

void report_object_number(struct report *report, const char *name, double value) {
    if (report->json) {
        begin_member(report, name);
        fprintf(report->json, "%.9g", value);
    }
}

void report_object_text(struct report *report, const char *name, const char *text) {
    if (report->json) {
        fputs(report->members++ ? ", " : "", report->json);
        put_pair(report->json, name, text);
    }
}

void report_object_end(struct report *report) {
    if (report->json)
        fputs("},\n", report->json);
}

void report_progress(struct report *report, const char *what, double done) {
    if (report->progress)
        report->progress(report->progress_context, what, done);
}

void report_case(struct report *report, const char *name, const char *strategy, uint64_t bytes,
                 struct samples *samples) {
    double median = samples_median(samples);
    report_progress(report, NULL, 0);
    report->median = median;
    double low = samples->n ? samples->seconds[0] : 0, high = samples->n ? samples->seconds[samples->n - 1] : 0;
    if (!report->quiet)
        printf("%-34s %-19s %12llu B  %12.6f ms", name, strategy, (unsigned long long)bytes, 1e3 * median);
    if (report->json)
        fprintf(report->json,
                "%s\n    {\"case\": \"%s\", \"strategy\": \"%s\", \"bytes\": %llu, \"runs\": %zu, \"median_ms\": %.9g, "
                "\"min_ms\": %.9g, \"max_ms\": %.9g, \"q1_ms\": %.9g, \"q3_ms\": %.9g",
                report->cases ? "," : "  \"cases\": [", name, strategy, (unsigned long long)bytes, samples->n,
                1e3 * median, 1e3 * low, 1e3 * high, 1e3 * samples_quantile(samples, 0.25),
                1e3 * samples_quantile(samples, 0.75));
    report->cases++;
}

void report_number(struct report *report, const char *name, double value) {
    if (!report->quiet)
        printf("  %s %.4g", name, value);
    if (report->json)
        fprintf(report->json, ", \"%s\": %.9g", name, value);
}

void report_count(struct report *report, const char *name, uint64_t value) {
    if (report->json)
        fprintf(report->json, ", \"%s\": %llu", name, (unsigned long long)value);
}

void report_flag(struct report *report, const char *name, bool value) {
    if (report->json)
        fprintf(report->json, ", \"%s\": %s", name, value ? "true" : "false");
}

void report_text(struct report *report, const char *name, const char *text) {
    if (report->json) {
        fputs(", ", report->json);
        put_pair(report->json, name, text);
    }
}

void report_limit(struct report *report, double seconds) {
    if (seconds <= 0)
        return;
    if (report->json)
        fprintf(report->json, ", \"limit_ms\": %.9g", 1e3 * seconds);
    if (report->median > 0)
        report_number(report, "share", seconds / report->median);
}

void report_case_end(struct report *report) {
    if (!report->quiet)
        putchar('\n');
    if (report->json)
        fputc('}', report->json);
}

void report_check(struct report *report, bool holds, const char *text, double figure) {
    size_t used = strlen(report->checked);
    report_progress(report, NULL, 0);
    printf("%s  %s: %.6g\n", holds ? "holds" : "FAILS", text, figure);
    snprintf(report->checked + used, sizeof report->checked - used,
             "%s\n    {\"check\": \"%s\", \"figure\": %.9g, \"holds\": %s}", report->checks ? "," : "", text, figure,
             holds ? "true" : "false");
    report->checks++;
    report->failed += !holds;
}

bool report_end(struct report *report) {
    if (!report->json)
        return true;
    fprintf(report->json, "%s\n  ],\n  \"checks\": [%s\n  ]\n}\n", report->cases ? "" : "  \"cases\": [",
            report->checked);
    bool whole = !ferror(report->json);
    return fclose(report->json) == 0 && whole;
}
