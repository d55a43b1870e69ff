/* The suite `alloc`: what allocators cost, and how much memory they hold. */
#include "alloc.h"

#include <string.h>

#include "pool.h"
#include "suite_report.h"

#define SECONDS 100
#define SECONDS_QUICK 10

/* Opened once to see; what is not there is said, on the terminal and in the file. */
static void find_allocators(struct alloc *alloc) {
    char text[1024] = "";
    for (size_t which = 0; which < ALLOCATORS; which++) {
        const struct allocator *allocator = allocator_get(which);
        const char *why = allocator->open();
        size_t used = strlen(text);
        alloc->absent[which] = why;
        if (!why) {
            allocator->close();
            continue;
        }
        printf("%s is left out: %s\n", allocator->name, why);
        snprintf(text + used, sizeof text - used, "%s%s: %s", used ? "; " : "", allocator->name, why);
    }
    report_fact(alloc->report, "left_out", text);
}

static ferry_status run_parts(struct alloc *alloc) {
    ferry_status (*const parts[])(struct alloc *) = {alloc_replays, alloc_touches, alloc_threads};
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
        status = parts[i](alloc);
        fflush(stdout);
        pool_close();
        if (!status)
            status = ferry_trim();
    }
    return status;
}

static enum suite_end conclude(const struct alloc *alloc, char message[SUITE_MESSAGE]) {
    report_check(alloc->report, alloc->wrong == 0, "allocators whose blocks overlap or lose what was written",
                 (double)alloc->wrong);
    report_check(alloc->report, alloc->failed == 0, "allocators without memory", (double)alloc->failed);
    report_check(alloc->report, alloc->left_out == 0, "cells left out", (double)alloc->left_out);
    if (alloc->wrong)
        snprintf(message, SUITE_MESSAGE, "wrong blocks: of %zu allocators, and those rows are void", alloc->wrong);
    return alloc->wrong ? SUITE_FAILED : SUITE_DONE;
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static struct report report;
    if (!suite_report_begin(&report, &suite_alloc, options, message))
        return SUITE_FAILED;
    double seconds = options->seconds > 0 ? options->seconds : options->quick ? SECONDS_QUICK : SECONDS;
    struct alloc alloc = {.report = &report, .options = options, .end = now_seconds() + seconds};
    enum suite_end end = SUITE_FAILED;
    find_allocators(&alloc);
    if (run_parts(&alloc))
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", ferry_error_detail());
    else
        end = conclude(&alloc, message);
    return suite_report_end(&report, options, end, message);
}

const struct suite suite_alloc = {
    .name = "alloc",
    .text = "What an allocation and its free cost by size and number of threads, one at a time and in batches that are "
            "freed in random order: ferry's heap beside a bare arena of its jemalloc, jemalloc as it comes, glibc, "
            "mimalloc, cudaMalloc, cudaMallocManaged, and the driver's pools. How much memory they hold when recorded "
            "programs are replayed. What writing fresh blocks costs, and recycled ones.",
    .limit = "8G",
    .machine_clock = true,
    .run = run,
};
