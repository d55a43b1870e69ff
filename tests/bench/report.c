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
    report_object(&report, "limits");
    report_object_number(&report, "to_device", 0.25);
    report_object_text(&report, "source", "\"copies\"");
    report_object_end(&report);
    for (int i = 0; i < cases; i++) {
        report_case(&report, "case", "strategy", 4096, &samples);
        report_number(&report, "number", 0.5);
        report_count(&report, "count", 7);
        report_text(&report, "text", "a \"word\"\\\n");
        report_limit(&report, 0.5);
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
    CHECK(strstr(text, "\"sm_clock\": \"none\",") && strstr(text, "\"memory_clock\": \"none\","));
    CHECK(strstr(text, "\"clock\": \"modelled\","));
    CHECK(strstr(text, "\"limits\": {\"to_device\": 0.25, \"source\": \"\\\"copies\\\"\"},\n"));
    CHECK(strstr(
        text,
        "\"cases\": [\n    {\"case\": \"case\", \"strategy\": \"strategy\", \"bytes\": 4096, \"runs\": 3, "
        "\"median_ms\": 2000, \"min_ms\": 1000, \"max_ms\": 3000, \"q1_ms\": 1500, \"q3_ms\": 2500, \"number\": 0.5, "
        "\"count\": 7, \"text\": \"a \\\"word\\\"\\\\\", \"limit_ms\": 500, \"share\": 0.25},\n    {"));
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
    CHECK(samples_quantile(&samples, 0) == 1 && samples_quantile(&samples, 1) == 10);
    CHECK(samples_quantile(&samples, 0.25) == 2 && samples_quantile(&samples, 0.75) == 6.5);
}

int main(void) {
    RUN(file_holds_what_was_said);
    RUN(file_without_cases_is_whole);
    RUN(medians);
    return test_finish();
}
