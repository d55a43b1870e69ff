/* The benchmark's file: whole JSON whatever is in it. */
#include "benchmarks/report.h"

#include <unistd.h>

#include "tests/test.h"

static char text[65536];

static void read_back(const char *path) {
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

static void write_report(const char *path, int cases, bool quiet) {
    static struct report report;
    static struct samples samples;
    samples.n = 0;
    for (int i = 3; i > 0; i--)
        samples_add(&samples, i);
    REQUIRE(report_begin(&report, path, "a \"device\"\\", "driver", "13.0"));
    report.quiet = quiet;
    report_fact(&report, "clock", "modelled");
    for (int i = 0; i < cases; i++) {
        report_case(&report, "case", "strategy", 4096, &samples);
        report_number(&report, "number", 0.5);
        report_count(&report, "count", 7);
        report_text(&report, "text", "a \"word\"\\\n");
        report_case_end(&report);
    }
    report_check(&report, false, "something", 2);
    CHECK_INT(report.failed, 1);
    CHECK(report_end(&report));
}

static void file_holds_what_was_said(void) {
    char path[] = "reportXXXXXX";
    REQUIRE(mkstemp(path) >= 0);
    write_report(path, 2, true);
    read_back(path);
    CHECK(strstr(text, "\"device\": \"a \\\"device\\\"\\\\\","));
    CHECK(strstr(text, "\"clock\": \"modelled\","));
    CHECK(strstr(text,
                 "\"cases\": [\n    {\"case\": \"case\", \"strategy\": \"strategy\", \"bytes\": 4096, \"runs\": 3, "
                 "\"median_ms\": 2000, \"min_ms\": 1000, \"max_ms\": 3000, \"number\": 0.5, \"count\": 7, "
                 "\"text\": \"a \\\"word\\\"\\\\\"},\n    {"));
    CHECK(strstr(text, "{\"check\": \"something\", \"figure\": 2, \"holds\": false}"));
    unlink(path);
}

static void file_without_cases_is_whole(void) {
    char path[] = "reportXXXXXX";
    REQUIRE(mkstemp(path) >= 0);
    write_report(path, 0, false);
    read_back(path);
    CHECK(strstr(text, "  \"cases\": [\n  ],\n  \"checks\": ["));
    unlink(path);
}

static void medians(void) {
    static struct samples samples;
    CHECK(samples_median(&samples) == 0);
    samples_add(&samples, 3);
    CHECK(samples_median(&samples) == 3);
    samples_add(&samples, 1);
    CHECK(samples_median(&samples) == 2);
    samples_add(&samples, 10);
    CHECK(samples_median(&samples) == 3);
    CHECK(samples.seconds[0] == 1 && samples.seconds[2] == 10);
}

int main(void) {
    RUN(file_holds_what_was_said);
    RUN(file_without_cases_is_whole);
    RUN(medians);
    return test_finish();
}
