/* The report as one JSON object, docs/command.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "report.h"

typedef struct counter {
    const char *name;
    size_t offset;
} counter;

static const counter COUNTERS[] = {
#define COUNTER(name, text) {#name, offsetof(ferry_stats, name)},
    FERRY_STATS_LIST(COUNTER)
#undef COUNTER
};

static const char *const STEP_NAMES[] = {
#define STEP_NAME(constant, name, text) name,
    STEP_LIST(STEP_NAME)
#undef STEP_NAME
};

static void print_string(const char *key, const char *value) {
    printf("  \"%s\": ", key);
    json_string(stdout, value);
    fputs(",\n", stdout);
}

static void print_file(const report_file *file) {
    fputs("{\"path\": ", stdout);
    json_string(stdout, file->path);
    printf(", \"dtype\": \"%s\", \"shape\": [", ferry_dtype_name(file->dtype));
    for (int i = 0; i < file->ndim; i++)
        printf(i ? ", %" PRId64 : "%" PRId64, file->shape[i]);
    printf("], \"bytes\": %zu}", file->bytes);
}

static void print_files(const report *r) {
    fputs("  \"inputs\": [", stdout);
    for (int i = 0; i < r->ninputs; i++) {
        fputs(i ? ", " : "", stdout);
        print_file(&r->inputs[i]);
    }
    fputs("],\n  \"output\": ", stdout);
    print_file(&r->output);
    fputs(",\n", stdout);
}

static void print_steps(const report *r) {
    fputs("  \"steps\": {", stdout);
    for (int i = 0; i < STEP_COUNT; i++)
        printf("%s\"%s\": %.9f", i ? ", " : "", STEP_NAMES[i], (double)r->step_ns[i] / 1e9);
    fputs("},\n", stdout);
    fputs("  \"modelled_steps\": ", stdout);
    for (int i = 0; i < STEP_COUNT && r->modelled; i++)
        printf("%s\"%s\": %.9f", i ? ", " : "{", STEP_NAMES[i], (double)r->modelled_ns[i] / 1e9);
    fputs(r->modelled ? "},\n" : "null,\n", stdout);
}

static void print_counter(const ferry_stats *stats, const counter *c, bool last) {
    uint64_t value;
    memcpy(&value, (const char *)stats + c->offset, sizeof value);
    printf("  \"%s\": ", c->name);
    if (strcmp(c->name, "measured") == 0)
        fputs(value ? "true" : "false", stdout);
    else
        printf("%" PRIu64, value);
    fputs(last ? "\n" : ",\n", stdout);
}

void report_print_json(const report *r) {
    const size_t n = sizeof COUNTERS / sizeof *COUNTERS;
    puts("{");
    print_string("operation", ferry_op_name(r->op));
    print_string("backend", r->backend);
    print_string("device", r->device.name);
    print_string("policy", r->policy);
    print_files(r);
    printf("  \"seconds\": %.9f,\n", (double)r->wall_ns / 1e9);
    print_steps(r);
    printf("  \"input_bytes\": %zu,\n  \"output_bytes\": %zu,\n", report_input_bytes(r), r->output.bytes);
    if (r->unmeasured[0] != '\0')
        print_string("unmeasured_because", r->unmeasured);
    for (size_t i = 0; i < n; i++)
        print_counter(&r->stats, &COUNTERS[i], i + 1 == n);
    puts("}");
}
