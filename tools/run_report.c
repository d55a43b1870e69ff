/* The report for people; `ferry report`. */
#include "run_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "run_text.h"
#include "tool.h"

enum { SITES_SHOWN = 10, SITE_WIDTH = 70, SINGLE_LINES = 20 };

static const char *const DEVICES[] = {
    [FERRY_RUN_DEVICE_UNUSED] = "not started: there was no large allocation",
    [FERRY_RUN_DEVICE_NO_CUDA] = "not started: CUDA was not loaded at the first large allocation, nor later",
    [FERRY_RUN_DEVICE_NEVER] = "not started: it was not wanted",
    [FERRY_RUN_DEVICE_FAILED] = "not started: ",
    [FERRY_RUN_DEVICE_STARTED] = "started: ",
    [FERRY_RUN_DEVICE_FORKED] = "its parent's, which a forked child cannot use",
};

static void label(FILE *to, const char *text) {
    fprintf(to, "  %-*s ", RUN_LABEL - 2, text);
}

static void print_device(FILE *to, const ferry_run_record *r) {
    label(to, "device");
    fputs(DEVICES[r->device], to);
    if (r->device == FERRY_RUN_DEVICE_FAILED || r->device == FERRY_RUN_DEVICE_STARTED)
        run_print_text(to, r->device_text, RUN_WIDTH);
    fputc('\n', to);
}

static void print_heap_heading(FILE *to) {
    fprintf(to, "  %-*s %12s %12s %11s %11s %11s %11s %11s %11s\n", RUN_LABEL - 2, "", "blocks", "freed", "bytes",
            "live", "peak", "warm", "allocating", "freeing");
}

/* Of small blocks, and of what was not counted, no more is known. */
static void print_heap(FILE *to, const char *name, const ferry_run_heap *h, bool large) {
    char blocks[SIZE_TEXT], freed[SIZE_TEXT], bytes[SIZE_TEXT], live[SIZE_TEXT];
    grouped_text(h->allocations, blocks);
    grouped_text(h->frees, freed);
    size_text((double)h->allocated_bytes, bytes);
    size_text((double)h->live_bytes, live);
    label(to, name);
    fprintf(to, "%12s %12s %11s %11s", blocks, freed, bytes, live);
    if (large) {
        char peak[SIZE_TEXT], warm[SIZE_TEXT], allocating[SIZE_TEXT], freeing[SIZE_TEXT];
        size_text((double)h->peak_bytes, peak);
        snprintf(warm, sizeof warm, "%.1f %%", 100 * (double)h->warm_blocks / (double)h->allocations);
        time_text((double)h->allocation_ns, allocating);
        time_text((double)h->free_ns, freeing);
        fprintf(to, " %11s %11s %11s %11s", peak, warm, allocating, freeing);
    }
    fputc('\n', to);
}

static void print_heaps(FILE *to, const ferry_run_heap *heaps, const ferry_run_heap *small) {
    print_heap_heading(to);
    for (int i = FERRY_RUN_HOMES - 1; i >= 0; i--)
        if (heaps[i].allocations > 0)
            print_heap(to, RUN_HOME_NAMES[i], &heaps[i], true);
    if (small->allocations > 0)
        print_heap(to, "small", small, false);
}

static void print_crossings(FILE *to, const ferry_stats *s, const char *unmeasured) {
    char to_device[SIZE_TEXT], to_host[SIZE_TEXT], redundant[SIZE_TEXT];
    grouped_text(s->bytes_to_device, to_device);
    grouped_text(s->bytes_to_host, to_host);
    grouped_text(s->redundant_bytes, redundant);
    label(to, "crossed");
    fprintf(to, "%s bytes to devices, %s to the host; ", to_device, to_host);
    fprintf(to, "%s of them redundant\n", redundant);
    label(to, "");
    if (s->measured)
        fprintf(to, "measured, with %" PRIu64 " groups of faults by kernels and %" PRIu64 " faults by the host\n",
                s->gpu_faults, s->cpu_faults);
    else
        fputs("by ferry's own account, which kernels of others are not in", to);
    if (!s->measured && *unmeasured) {
        fputs(": ", to);
        run_print_text(to, unmeasured, RUN_WIDTH);
    }
    fputs(s->measured ? "" : "\n", to);
}

static void print_amount(FILE *to, const char *name, uint64_t blocks, uint64_t bytes, const char *what) {
    char size[SIZE_TEXT];
    if (blocks == 0)
        return;
    size_text((double)bytes, size);
    label(to, name);
    fprintf(to, "%" PRIu64 " block%s, %s, %s\n", blocks, blocks == 1 ? "" : "s", size, what);
}

static void print_fork(FILE *to, uint64_t blocks, uint64_t lost_bytes, uint64_t kept_bytes) {
    char kept[SIZE_TEXT];
    print_amount(to, "fork", blocks, lost_bytes, "of managed memory were the parent's: their contents are lost");
    if (kept_bytes == 0)
        return;
    size_text((double)kept_bytes, kept);
    label(to, "fork");
    fprintf(to, "%s of the parent's managed memory were copied\n", kept);
}

static int by_bytes(const void *a, const void *b) {
    const ferry_run_site *first = *(const ferry_run_site *const *)a, *second = *(const ferry_run_site *const *)b;
    return (first->bytes < second->bytes) - (first->bytes > second->bytes);
}

static void print_site(FILE *to, const ferry_run_site *s) {
    char bytes[SIZE_TEXT], peak[SIZE_TEXT], blocks[SIZE_TEXT];
    size_text((double)s->bytes, bytes);
    size_text((double)s->peak_bytes, peak);
    grouped_text(s->allocations, blocks);
    fprintf(to, "  %*s %12s %11s %11s", RUN_LABEL - 2, "", blocks, bytes, peak);
    if (s->text[0] == '\0') {
        fprintf(to, "  0x%" PRIx64 "\n", s->frames[0]);
    } else if (strlen(s->text) <= SITE_WIDTH) {
        fputs("  ", to);
        run_print_text(to, s->text, SITE_WIDTH);
        fputc('\n', to);
    } else {
        fputc('\n', to);
        run_print_stack(to, s->text);
    }
}

static void print_sites(FILE *to, const ferry_run_record *r) {
    const ferry_run_site *sorted[FERRY_RUN_SITES];
    size_t n = 0;
    for (uint32_t i = 0; i < r->nsites; i++)
        if (r->sites[i].allocations > 0)
            sorted[n++] = &r->sites[i];
    if (n == 0)
        return;
    qsort(sorted, n, sizeof *sorted, by_bytes);
    fprintf(to, "  %-*s %12s %11s %11s", RUN_LABEL - 2, "places", "blocks", "bytes", "peak");
    if (n > SITES_SHOWN)
        fprintf(to, "  the %d largest of %zu", SITES_SHOWN, n);
    fputc('\n', to);
    for (size_t i = 0; i < n && i < SITES_SHOWN; i++)
        print_site(to, sorted[i]);
    if (r->unsited > 0)
        fprintf(to, "  %*s %12" PRIu64 " of places beyond the %d that are told apart\n", RUN_LABEL - 2, "", r->unsited,
                FERRY_RUN_SITES);
}

static void print_title(FILE *to, const run_process *p) {
    const ferry_run_record *r = p->record;
    run_print_text(to, r->command[0] != '\0' ? r->command : r->program, RUN_WIDTH);
    fprintf(to, "\n  %-*s %d%s, ", RUN_LABEL - 2, "process", r->pid, r->forked_from ? ", forked" : "");
    run_print_end(to, p);
    fputc('\n', to);
}

static void print_memory(FILE *to, const ferry_run_record *r) {
    char threshold[SIZE_TEXT], resident[SIZE_TEXT];
    size_text((double)r->threshold_bytes, threshold);
    size_text((double)r->resident_peak_bytes, resident);
    label(to, "memory");
    fprintf(to, "large from %s on; ", threshold);
    fprintf(to, r->resident_peak_bytes > 0 ? "at most %s resident\n" : "how much was resident is not known\n",
            resident);
}

static void print_process(FILE *to, const run_process *p, bool histogram) {
    const ferry_run_record *r = p->record;
    print_title(to, p);
    print_device(to, r);
    print_memory(to, r);
    print_heaps(to, r->heaps, &r->small);
    run_print_sizes(to, r->heaps, histogram);
    run_print_lifetimes(to, r->heaps, histogram);
    if (run_has_stats(r))
        print_crossings(to, &r->stats, r->unmeasured);
    print_amount(to, "beyond limit", r->beyond_limit_blocks, r->beyond_limit_bytes,
                 "had no room in managed memory and lie in the plain heap");
    print_fork(to, r->lost_blocks, r->lost_bytes, r->kept_bytes);
    print_sites(to, r);
    run_print_plot(to, p);
    fputc('\n', to);
}

/* A line for a process that is of no further interest. */
static void print_line(FILE *to, const run_process *p) {
    char blocks[SIZE_TEXT];
    grouped_text(p->record->small.allocations, blocks);
    run_print_text(to, run_program_name(p->record), RUN_WIDTH);
    fprintf(to, " (%d) ", p->record->pid);
    run_print_end(to, p);
    if (p->record->ended_ns != 0)
        fprintf(to, "; no large blocks, %s small ones\n", blocks);
    else
        fputs("; no large blocks\n", to);
}

/* Processes of one program without large blocks. */
typedef struct group {
    const char *name;
    size_t processes;
    uint64_t lasted_ns, blocks;
} group;

static int by_name(const void *a, const void *b) {
    return strcmp(((const group *)a)->name, ((const group *)b)->name);
}

static int by_processes(const void *a, const void *b) {
    const group *first = a, *second = b;
    if (first->processes != second->processes)
        return first->processes < second->processes ? 1 : -1;
    return by_name(a, b);
}

static size_t make_groups(const run_records *records, group *groups) {
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        const run_process *p = &records->processes[i];
        if (run_large_blocks(p->record) == 0)
            groups[n++] = (group){run_program_name(p->record), 1, p->lasted_ns, p->record->small.allocations};
    }
    qsort(groups, n, sizeof *groups, by_name);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(groups[i].name, groups[kept].name) != 0) {
            groups[++kept] = groups[i];
            continue;
        }
        groups[kept].processes++;
        groups[kept].lasted_ns += groups[i].lasted_ns;
        groups[kept].blocks += groups[i].blocks;
    }
    return n == 0 ? 0 : kept + 1;
}

static void print_groups(FILE *to, const run_records *records) {
    group *groups = calloc(records->count, sizeof *groups);
    if (!groups) {
        fail("out of memory");
        return;
    }
    size_t n = make_groups(records, groups);
    qsort(groups, n, sizeof *groups, by_processes);
    fputs("Without large blocks:\n", to);
    for (size_t i = 0; i < n; i++) {
        char lasted[SIZE_TEXT], blocks[SIZE_TEXT];
        time_text((double)groups[i].lasted_ns, lasted);
        grouped_text(groups[i].blocks, blocks);
        fprintf(to, "%8zu of ", groups[i].processes);
        run_print_text(to, groups[i].name, RUN_WIDTH);
        fprintf(to, ", %s in all, %s small blocks\n", lasted, blocks);
    }
    fputc('\n', to);
    free(groups);
}

static void print_total(FILE *to, const run_total *t) {
    char resident[SIZE_TEXT];
    size_text((double)t->resident_peak_bytes, resident);
    fprintf(to, "In all\n  %-*s %zu, %zu with large blocks; the largest had %s resident\n", RUN_LABEL - 2, "processes",
            t->processes, t->with_large_blocks, resident);
    print_heaps(to, t->heaps, &t->small);
    if (t->stats.allocations > 0)
        print_crossings(to, &t->stats, "");
    print_amount(to, "beyond limit", t->beyond_limit_blocks, t->beyond_limit_bytes,
                 "had no room in managed memory and lie in the plain heap");
    print_fork(to, t->lost_blocks, t->lost_bytes, t->kept_bytes);
}

void run_report_text(FILE *to, const run_records *records, bool histogram) {
    bool grouped = records->count - records->total.with_large_blocks > SINGLE_LINES;
    if (records->count == 0)
        fputs("ferry: no process has left a record\n", to);
    for (size_t i = 0; i < records->count; i++) {
        const run_process *p = &records->processes[i];
        if (run_large_blocks(p->record) > 0)
            print_process(to, p, histogram);
        else if (!grouped)
            print_line(to, p);
    }
    if (grouped)
        print_groups(to, records);
    if (records->count > 1)
        print_total(to, &records->total);
}

static int help(const option *options, size_t noptions) {
    puts("Usage: ferry report FOLDER [OPTION...]\n\n"
         "Prints what programs have left in the folder that FERRY_REPORT named when they ran with libferry-preload.so: "
         "what\n"
         "'ferry run --report' prints, for those who set LD_PRELOAD themselves.\n");
    args_help(options, noptions);
    return finish_output();
}

int command_report(int argc, char **argv) {
    enum { OPTION_JSON, OPTION_HISTOGRAM, OPTION_HELP, OPTION_COUNT };
    option options[OPTION_COUNT] = {
        [OPTION_JSON] = {"--json", NULL, OPTION_FLAG, "", "one JSON object", false, NULL},
        [OPTION_HISTOGRAM] = {"--size-histogram", NULL, OPTION_FLAG, "", "all sizes and lifetimes", false, NULL},
        [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
    };
    run_records records;
    int rest, status = args_parse("report", argc, argv, options, OPTION_COUNT, &rest);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help(options, OPTION_COUNT);
    if (rest != 1)
        return rest == 0 ? fail_usage("report", "a folder is missing")
                         : fail_usage("report", "unexpected argument '%s'", argv[1]);
    if (run_records_read(argv[0], &records) != EXIT_DONE)
        return EXIT_FAILED;
    if (options[OPTION_JSON].given)
        run_report_json(stdout, &records);
    else
        run_report_text(stdout, &records, options[OPTION_HISTOGRAM].given);
    run_records_free(&records);
    return finish_output();
}
