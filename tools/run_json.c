/* The report as one JSON object, docs/run.md. */
#include <inttypes.h>

#include "json.h"
#include "run_report.h"

static const char *const DEVICES[] = {
    [FERRY_RUN_DEVICE_UNUSED] = "unused", [FERRY_RUN_DEVICE_NO_CUDA] = "no_cuda", [FERRY_RUN_DEVICE_NEVER] = "never",
    [FERRY_RUN_DEVICE_FAILED] = "failed", [FERRY_RUN_DEVICE_STARTED] = "started", [FERRY_RUN_DEVICE_FORKED] = "forked",
};

static const char *const ENDS[RUN_ENDS] = {
    [RUN_EXITED] = "exited", [RUN_LEFT] = "left",     [RUN_REPLACED] = "replaced",
    [RUN_LIVES] = "running", [RUN_KILLED] = "killed", [RUN_GONE] = "gone",
};

static void print_number(FILE *to, const char *name, uint64_t value) {
    fprintf(to, "\"%s\": %" PRIu64 ", ", name, value);
}

static void print_string(FILE *to, const char *name, const char *value) {
    fprintf(to, "\"%s\": ", name);
    json_string(to, value);
    fputs(", ", to);
}

/* Of a class that the last may be beyond its bound; only those in use. */
static void print_sizes(FILE *to, const ferry_run_class *sizes) {
    const char *separator = "";
    fputs("\"sizes\": [", to);
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        if (sizes[i].allocations == 0)
            continue;
        fprintf(to, "%s{\"up_to_bytes\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", separator,
                UINT64_C(1) << i, sizes[i].allocations, sizes[i].bytes);
        separator = ", ";
    }
    fputs("]", to);
}

static void print_lifetimes(FILE *to, const uint64_t *lifetimes) {
    const char *separator = "";
    fputs("\"lifetimes\": [", to);
    for (int i = 0; i < FERRY_RUN_CLASSES; i++) {
        if (lifetimes[i] == 0)
            continue;
        fprintf(to, "%s{\"up_to_us\": %" PRIu64 ", \"frees\": %" PRIu64 "}", separator, UINT64_C(1) << i, lifetimes[i]);
        separator = ", ";
    }
    fputs("]", to);
}

static void print_heap(FILE *to, const char *name, const ferry_run_heap *h, bool large) {
    fprintf(to, "      \"%s\": {", name);
    print_number(to, "allocations", h->allocations);
    print_number(to, "frees", h->frees);
    print_number(to, "allocated_bytes", h->allocated_bytes);
    print_number(to, "live_bytes", h->live_bytes);
    if (large) {
        print_number(to, "peak_bytes", h->peak_bytes);
        print_number(to, "warm_blocks", h->warm_blocks);
        print_number(to, "warm_bytes", h->warm_bytes);
        print_number(to, "allocation_ns", h->allocation_ns);
        print_number(to, "free_ns", h->free_ns);
    }
    print_sizes(to, h->sizes);
    if (large) {
        fputs(", ", to);
        print_lifetimes(to, h->lifetimes);
    }
    fputs("},\n", to);
}

static void print_heaps(FILE *to, const ferry_run_heap *heaps, const ferry_run_heap *small) {
    for (int i = 0; i < FERRY_RUN_HOMES; i++)
        print_heap(to, RUN_HOME_NAMES[i], &heaps[i], true);
    print_heap(to, "small", small, false);
}

static void print_stats(FILE *to, const ferry_stats *stats) {
    const char *separator = "";
    fputs("      \"stats\": {", to);
#define COUNTER(name, text)                                                                                            \
    fprintf(to, "%s\"" #name "\": %" PRIu64, separator, stats->name);                                                  \
    separator = ", ";
    FERRY_STATS_LIST(COUNTER)
#undef COUNTER
    fputs("}", to);
}

static void print_site(FILE *to, const ferry_run_site *s) {
    const char *separator = "";
    fputc('{', to);
    print_number(to, "allocations", s->allocations);
    print_number(to, "bytes", s->bytes);
    print_number(to, "live_bytes", s->live_bytes);
    print_number(to, "peak_bytes", s->peak_bytes);
    print_string(to, "text", s->text);
    fputs("\"frames\": [", to);
    for (int i = 0; i < FERRY_RUN_FRAMES && s->frames[i] != 0; i++, separator = ", ")
        fprintf(to, "%s\"0x%" PRIx64 "\"", separator, s->frames[i]);
    fputs("]}", to);
}

static void print_sites(FILE *to, const ferry_run_record *r) {
    const char *separator = "\n        ";
    fputs("      \"sites\": [", to);
    for (uint32_t i = 0; i < r->nsites; i++) {
        if (r->sites[i].allocations == 0)
            continue;
        fputs(separator, to);
        print_site(to, &r->sites[i]);
        separator = ",\n        ";
    }
    fprintf(to, "],\n      \"unsited\": %" PRIu64 ",\n", r->unsited);
}

static void print_samples(FILE *to, const ferry_run_record *r) {
    fprintf(to, "      \"sample_every_ns\": %" PRIu64 ",\n      \"samples\": [", r->sample_every_ns);
    for (uint32_t i = 0; i < r->nsamples; i++) {
        const ferry_run_sample *s = &r->samples[i];
        fprintf(to, "%s{\"time_ns\": %" PRIu64 ", ", i ? ", " : "", s->time_ns);
        for (int home = 0; home < FERRY_RUN_HOMES; home++)
            fprintf(to, "\"%s_bytes\": %" PRIu64 ", ", RUN_HOME_NAMES[home], s->live_bytes[home]);
        fprintf(to, "\"peak_bytes\": %" PRIu64 "}", s->peak_bytes);
    }
    fputs("]", to);
}

static void print_identity(FILE *to, const run_process *p) {
    const ferry_run_record *r = p->record;
    fprintf(to, "\"pid\": %d, \"parent\": %d, \"forked_from\": %d, ", r->pid, r->parent, r->forked_from);
    print_string(to, "program", r->program);
    print_string(to, "command", r->command);
    print_string(to, "end", ENDS[p->end]);
    print_number(to, "signal", (uint64_t)p->signal);
    print_number(to, "began_ns", r->began_ns);
    print_number(to, "lasted_ns", p->lasted_ns);
    fputs("\n      ", to);
    print_number(to, "threshold_bytes", r->threshold_bytes);
    print_string(to, "device", DEVICES[r->device]);
    print_string(to, "device_text", r->device_text);
    print_number(to, "resident_peak_bytes", r->resident_peak_bytes);
}

static void print_crossings(FILE *to, const ferry_run_record *r) {
    fputs("      ", to);
    print_string(to, "unmeasured", r->unmeasured);
    fputc('\n', to);
    if (run_has_stats(r))
        print_stats(to, &r->stats);
    else
        fputs("      \"stats\": null", to);
}

static void print_process(FILE *to, const run_process *p) {
    const ferry_run_record *r = p->record;
    fputs("    {", to);
    print_identity(to, p);
    print_number(to, "beyond_limit_blocks", r->beyond_limit_blocks);
    print_number(to, "beyond_limit_bytes", r->beyond_limit_bytes);
    print_number(to, "lost_blocks", r->lost_blocks);
    print_number(to, "lost_bytes", r->lost_bytes);
    print_number(to, "kept_bytes", r->kept_bytes);
    fputc('\n', to);
    print_heaps(to, r->heaps, &r->small);
    print_sites(to, r);
    print_crossings(to, r);
    fputs(",\n", to);
    print_samples(to, r);
    fputs("}", to);
}

static void print_total(FILE *to, const run_total *t) {
    fputs("    ", to);
    print_number(to, "processes", t->processes);
    print_number(to, "with_large_blocks", t->with_large_blocks);
    print_number(to, "resident_peak_bytes", t->resident_peak_bytes);
    print_number(to, "beyond_limit_blocks", t->beyond_limit_blocks);
    print_number(to, "beyond_limit_bytes", t->beyond_limit_bytes);
    print_number(to, "lost_blocks", t->lost_blocks);
    print_number(to, "lost_bytes", t->lost_bytes);
    print_number(to, "kept_bytes", t->kept_bytes);
    fputc('\n', to);
    print_heaps(to, t->heaps, &t->small);
    print_stats(to, &t->stats);
}

void run_report_json(FILE *to, const run_records *records) {
    fputs("{\n  \"processes\": [", to);
    for (size_t i = 0; i < records->count; i++) {
        fputs(i ? ",\n" : "\n", to);
        print_process(to, &records->processes[i]);
    }
    fputs("],\n  \"total\": {\n", to);
    print_total(to, &records->total);
    fputs("}\n}\n", to);
}
