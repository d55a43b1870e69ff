/* Times and answers of a program, and how they are told. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "program.h"

#define LAPS_MAX 8
#define ANSWERS_MAX 8
#define COUNTS_MAX 8

static struct {
    double begun_ms;
    int nlaps, nanswers, ncounts;
    struct {
        const char *name;
        double ms;
    } laps[LAPS_MAX];
    struct {
        const char *name;
        char text[40];
    } answers[ANSWERS_MAX];
    struct {
        const char *name;
        uint64_t count;
    } counts[COUNTS_MAX];
} report;

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void lap_start(void) {
    report.begun_ms = now_ms();
}

void lap(const char *name) {
    double ended_ms = now_ms();
    if (report.nlaps == LAPS_MAX)
        fail("more laps than can be kept");
    report.laps[report.nlaps].name = name;
    report.laps[report.nlaps++].ms = ended_ms - report.begun_ms;
    report.begun_ms = ended_ms;
}

static char *answer_text(const char *name) {
    if (report.nanswers == ANSWERS_MAX)
        fail("more answers than can be kept");
    report.answers[report.nanswers].name = name;
    return report.answers[report.nanswers++].text;
}

void answer_number(const char *name, double value) {
    snprintf(answer_text(name), sizeof report.answers->text, "%.17g", value);
}

/* Order counts: a value that has changed places is noticed. */
void answer_bytes(const char *name, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    uint64_t sum = n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, from + i, n - i < 8 ? n - i : 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    snprintf(answer_text(name), sizeof report.answers->text, "\"%016llx\"", (unsigned long long)sum);
}

void report_count(const char *name, uint64_t count) {
    if (report.ncounts == COUNTS_MAX)
        fail("more counts than can be kept");
    report.counts[report.ncounts].name = name;
    report.counts[report.ncounts++].count = count;
}

void report_print(const char *program) {
    version_end();
    printf("{\"program\": \"%s\", \"version\": \"%s\", \"backend\": \"%s\", \"answer\": {", program, version_name(),
           version_backend());
    for (int i = 0; i < report.nanswers; i++)
        printf("%s\"%s\": %s", i ? ", " : "", report.answers[i].name, report.answers[i].text);
    printf("}");
    for (int i = 0; i < report.nlaps; i++)
        printf(", \"%s_ms\": %.4f", report.laps[i].name, report.laps[i].ms);
    for (int i = 0; i < report.ncounts; i++)
        printf(", \"%s\": %llu", report.counts[i].name, (unsigned long long)report.counts[i].count);
    printf("}\n");
}
