/* Allocators that are wrong: their rows are void, and the others' are there. */
#include "benchmarks/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

enum { RIGHT, SHIFTED, EMPTY, KINDS };

static const char *open_any(void) {
    return NULL;
}

static void close_any(void) {}

/* A block that ends where the next has begun. */
static void *take_shifted(size_t bytes) {
    static char memory[(size_t)64 << 20];
    static atomic_size_t calls;
    REQUIRE(bytes + 16 < sizeof memory);
    return memory + 8 * (calls++ % 2);
}

static void *take_none(size_t bytes) {
    (void)bytes;
    return NULL;
}

static void give_nothing(void *block) {
    (void)block;
}

static const struct allocator fakes[KINDS] = {
    [RIGHT] = {.name = "right", .open = open_any, .close = close_any, .take = malloc, .give = free},
    [SHIFTED] = {.name = "shifted", .open = open_any, .close = close_any, .take = take_shifted, .give = give_nothing},
    [EMPTY] = {.name = "empty", .open = open_any, .close = close_any, .take = take_none, .give = give_nothing},
};

const struct allocator *allocator_get(size_t which) {
    return &fakes[which % KINDS];
}

#define FOOTPRINT "\"footprint_over_live\": "

static char text[1 << 16];

static size_t count(const char *words) {
    size_t n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        n++;
    return n;
}

static void run_until(ferry_status (*part)(struct alloc *), struct alloc *alloc, double end) {
    static struct report report;
    static const struct suite_options options = {.quick = true, .sizes = {65536}, .nsizes = 1};
    char path[] = "allocXXXXXX";
    REQUIRE(mkstemp(path) >= 0);
    REQUIRE(report_begin(&report, path, "device", "driver", "13.0"));
    *alloc = (struct alloc){.report = &report, .options = &options, .end = end};
    for (size_t which = KINDS; which < ALLOCATORS; which++)
        alloc->absent[which] = true;
    REQUIRE(part(alloc) == FERRY_OK && report_end(&report));
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static void run(ferry_status (*part)(struct alloc *), struct alloc *alloc) {
    run_until(part, alloc, now_seconds() + 1000);
}

static void replays_void_them(void) {
    struct alloc alloc;
    run(alloc_replays, &alloc);
    CHECK_UINT(alloc.wrong, 2); /* of two traces */
    CHECK_UINT(alloc.failed, 2);
    CHECK_UINT(count("\"strategy\": \"right\""), 4); /* filled, too */
    CHECK_UINT(count("\"strategy\": \"shifted\"") + count("\"strategy\": \"empty\""), 0);
}

static void cells_void_them(void) {
    struct alloc alloc;
    run(alloc_threads, &alloc);
    size_t right = count("\"strategy\": \"right\"");
    CHECK(right >= 2 && count("\"case\": \"batches, 1 thread\"") == 1);
    CHECK_UINT(alloc.failed, right); /* in every cell */
    /* One thread's pairs have one live block at a time, which overlaps nothing. */
    CHECK_UINT(count("\"strategy\": \"shifted\""), 1);
    CHECK_UINT(alloc.wrong, right - 1);
}

/* Memory that the process has had before is not the replay's: what is held is no less than what lives. */
static void freed_memory_counts(void) {
    enum { BLOCKS = 16384, BYTES = 1024 };
    static void *blocks[BLOCKS];
    struct alloc alloc;
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = memset(malloc(BYTES), 1, BYTES);
    for (size_t i = 0; i + 1 < BLOCKS; i++) /* the last one keeps the heap from becoming smaller by itself */
        free(blocks[i]);
    run(alloc_replays, &alloc);
    free(blocks[BLOCKS - 1]);
    size_t found = 0;
    for (const char *at = strstr(text, FOOTPRINT); at; at = strstr(at + 1, FOOTPRINT), found++)
        CHECK(strtod(at + strlen(FOOTPRINT), NULL) >= 1);
    CHECK(found >= 2);
}

static void what_is_left_out_is_counted(void) {
    struct alloc alloc;
    run_until(alloc_replays, &alloc, 0);
    CHECK_UINT(alloc.left_out, 2 * KINDS); /* of two traces */
    CHECK_UINT(count("\"strategy\""), 0);
}

int main(void) {
    RUN(freed_memory_counts);
    RUN(what_is_left_out_is_counted);
    RUN(replays_void_them);
    RUN(cells_void_them);
    return test_finish();
}
