/* Recorded allocations: what a text says, what is no trace, and what is carried. And the pages that blocks are in. */
#include "benchmarks/traces/trace.h"

#include <errno.h>
#include <unistd.h>

#include "benchmarks/footprint.h"
#include "tests/test.h"

static bool reads(const char *text) {
    struct trace trace = {0};
    bool whole = trace_read(text, strlen(text), &trace);
    trace_free(&trace);
    return whole;
}

static void events_are_in_order(void) {
    static const char text[] = "# a program\n+100\n+50\n-2\n+7\n-1\n+8";
    static const struct trace_event expected[] = {{0, 100}, {1, 50}, {0, 0}, {2, 7}, {2, 0}, {3, 8}, {1, 0}, {3, 0}};
    struct trace trace;
    REQUIRE(trace_read(text, strlen(text), &trace));
    CHECK_UINT(trace.blocks, 4);
    REQUIRE(trace.count == sizeof expected / sizeof *expected);
    for (size_t i = 0; i < trace.count; i++) {
        CHECK_UINT(trace.events[i].block, expected[i].block);
        CHECK_UINT(trace.events[i].bytes, expected[i].bytes);
    }
    CHECK_UINT(trace.sizes[1], 50);
    CHECK_UINT(trace.peak_bytes, 150);
    trace_free(&trace);
}

static void what_is_no_trace_is_refused(void) {
    CHECK(reads("+1\n"));
    CHECK(!reads(""));
    CHECK(!reads("# nothing\n"));
    CHECK(!reads("+0\n"));
    CHECK(!reads("+\n"));
    CHECK(!reads("+1x\n"));
    CHECK(!reads("*1\n"));
    CHECK(!reads("+1\n-2\n"));     /* before the first */
    CHECK(!reads("+1\n-1\n-1\n")); /* twice */
    CHECK(!reads("+99999999999999999999999\n"));
}

static void files_are_read(void) {
    char path[] = "traceXXXXXX";
    struct trace trace;
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    CHECK(!trace_load(path, &trace) && errno == EINVAL); /* it is empty */
    REQUIRE(write(file, "+5\n-1\n", 6) == 6);
    REQUIRE(trace_load(path, &trace));
    CHECK_UINT(trace.count, 2);
    trace_free(&trace);
    close(file);
    unlink(path);
    CHECK(!trace_load(path, &trace) && errno == ENOENT);
}

static void carried_traces_free_what_they_allocate(void) {
    for (size_t i = 0; i < TRACES; i++) {
        const struct trace_text *text = trace_text(i);
        struct trace trace;
        REQUIRE(trace_read(text->begin, (size_t)(text->end - text->begin), &trace));
        CHECK_UINT(trace.count, 2 * trace.blocks);
        CHECK(trace.blocks > 1000 && trace.peak_bytes < (size_t)1 << 30);
        trace_free(&trace);
    }
}

static void pages_count_once(void) {
    struct footprint_pages *pages = footprint_pages_create();
    REQUIRE(pages);
    CHECK_UINT(footprint_pages_bytes(pages), 0);
    CHECK(footprint_pages_add(pages, (void *)0x7f0000000ff0, 32)); /* across the end of a page */
    CHECK_UINT(footprint_pages_bytes(pages), 8192);
    CHECK(footprint_pages_add(pages, (void *)0x7f0000000000, 4096));
    CHECK_UINT(footprint_pages_bytes(pages), 8192);
    CHECK(footprint_pages_add(pages, (void *)0x7f0000000000, (size_t)4 << 20)); /* two chunks */
    CHECK_UINT(footprint_pages_bytes(pages), 4 << 20);
    size_t added = 0;
    while (added < 20000 && footprint_pages_add(pages, (void *)(uintptr_t)((added + 1) << 21), 1))
        added++;
    CHECK(added > 4096 && added < 20000); /* full, and said so */
    footprint_pages_destroy(pages);
}

static void anonymous_memory_grows_by_what_is_written(void) {
    const size_t bytes = (size_t)8 << 20;
    size_t before = footprint_anonymous();
    if (before == SIZE_MAX)
        return; /* the system does not say */
    char *block = malloc(bytes);
    REQUIRE(block);
    memset(block, 1, bytes);
    __asm__ volatile("" : : "r"(block) : "memory");
    size_t grown = footprint_anonymous() - before;
    CHECK(grown >= bytes);
#ifndef __SANITIZE_THREAD__ /* which keeps some times as much about it, anonymous as well */
    CHECK(grown < bytes + ((size_t)4 << 20));
#endif
    free(block);
}

int main(void) {
    RUN(events_are_in_order);
    RUN(what_is_no_trace_is_refused);
    RUN(files_are_read);
    RUN(carried_traces_free_what_they_allocate);
    RUN(pages_count_once);
    RUN(anonymous_memory_grows_by_what_is_written);
    return test_finish();
}
