/*
 * What the record says of a process that does this or that: the program again, with a folder for records, which its
 * parent reads.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>

#include "ferry/run.h"
#include "preloaded.h"

extern char **environ;
static const char *self;
static ferry_run_record seen[4];
static int nseen;

static void *volatile kept;

static void read_and_remove(int folder, const char *name) {
    const int file = openat(folder, name, O_RDONLY);
    REQUIRE(file >= 0 && nseen < 4);
    CHECK(read(file, &seen[nseen], sizeof seen[nseen]) == (ssize_t)sizeof seen[nseen]);
    nseen++;
    close(file);
    unlinkat(folder, name, 0);
}

/* The records of it all, the first process's first. */
static void record_of(const char *what) {
    char path[] = "/tmp/ferry-recorded-XXXXXX";
    char *arguments[] = {(char *)self, (char *)what, NULL};
    pid_t child;
    REQUIRE(mkdtemp(path) != NULL);
    setenv("FERRY_REPORT", path, 1);
    REQUIRE(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    exited_well(child);
    unsetenv("FERRY_REPORT");
    DIR *folder = opendir(path);
    REQUIRE(folder != NULL);
    nseen = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            read_and_remove(dirfd(folder), entry->d_name);
        }
    }
    closedir(folder);
    rmdir(path);
    if (nseen == 2 && seen[0].pid != child) {
        const ferry_run_record first = seen[1];
        seen[1] = seen[0];
        seen[0] = first;
    }
}

/* Beyond the limit on managed memory, and on memory at all. */
static void fail_to_resize(void) {
    struct rlimit limit = {.rlim_max = RLIM_INFINITY};
    unsigned char *block = opaque(malloc(8 * MIB));
    REQUIRE(block != NULL);
    fill(block, 8 * MIB, 1);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)1 << 20;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(opaque(realloc(block, 512 * MIB)) == NULL);
    limit.rlim_cur = limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(is_filled(block, 8 * MIB, 1));
    kept = block;
}

static void a_resize_that_fails_changes_nothing(void) {
    record_of("-fail");
    REQUIRE(nseen == 1);
    const ferry_run_heap *heap = &seen[0].heaps[expect_managed(8 * MIB) ? FERRY_RUN_MANAGED : FERRY_RUN_PLAIN];
    CHECK_UINT(heap->allocations, 1);
    CHECK_UINT(heap->frees, 0);
    CHECK_UINT(heap->live_bytes, 8 * MIB);
    CHECK_UINT(seen[0].sites[0].live_bytes, 8 * MIB);
}

enum { PARTS = 100, PART_BYTES = 512 };

static void allocate_parts(void) {
    static void *volatile parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        parts[i] = malloc(PART_BYTES);
        CHECK(is_managed(parts[i]));
    }
    for (int i = 0; i < PARTS / 2; i++) {
        parts[i] = realloc(parts[i], (size_t)2 * PART_BYTES);
    }
    for (int i = 0; i < PARTS; i += 2) {
        free(parts[i]);
    }
    const pid_t child = fork();
    if (child == 0) {
        free(parts[1]);
        exit(atomic_load(&test_failures) == 0 ? 0 : 1);
    }
    exited_well(child);
}

/* Blocks that share pages are counted too; a child that frees its parent's has had none itself. */
static void parts_of_pages_are_counted(void) {
    record_of("-parts");
    REQUIRE(nseen == 2);
    const ferry_run_heap *heap = &seen[0].heaps[FERRY_RUN_MANAGED];
    /* And what the C library allocates. */
    CHECK_THAT(heap->sizes[9].allocations >= PARTS, "%llu", (unsigned long long)heap->sizes[9].allocations);
    CHECK_THAT(heap->sizes[10].allocations >= PARTS / 2, "%llu", (unsigned long long)heap->sizes[10].allocations);
    CHECK(heap->frees >= PARTS / 2 + PARTS / 2);
    CHECK(heap->live_bytes >= (size_t)PARTS / 2 * PART_BYTES && heap->live_bytes <= heap->peak_bytes);
    CHECK(heap->peak_bytes >= (size_t)PARTS * PART_BYTES && heap->peak_bytes < MIB);
    CHECK_UINT(seen[1].heaps[FERRY_RUN_MANAGED].frees, 0);
    CHECK_UINT(seen[1].heaps[FERRY_RUN_MANAGED].live_bytes, 0);
}

static void fork_one_without_large_blocks(void) {
    const pid_t child = fork();
    if (child == 0) {
        poll(NULL, 0, 200);
        _exit(0);
    }
    exited_well(child);
}

static void a_child_without_large_blocks_is_there(void) {
    record_of("-fork");
    REQUIRE(nseen == 2);
    CHECK_INT(seen[1].forked_from, seen[0].pid);
    CHECK_INT(seen[1].end, FERRY_RUN_LEFT);
    /* It was there before it said so. */
    CHECK_THAT(seen[1].ended_ns - seen[1].began_ns >= 150000000, "%llu ns",
               (unsigned long long)(seen[1].ended_ns - seen[1].began_ns));
    CHECK(seen[1].began_ns >= seen[0].began_ns - 50000000);
}

int main(int argc, char **argv) {
    static char path[4096];
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    self = path;
    if (argc > 1 && argv[1][0] == '-') {
        strcmp(argv[1], "-fail") == 0    ? fail_to_resize()
        : strcmp(argv[1], "-parts") == 0 ? allocate_parts()
                                         : fork_one_without_large_blocks();
        return atomic_load(&test_failures) == 0 ? 0 : 1;
    }
    RUN_CHOSEN(a_resize_that_fails_changes_nothing);
    if (expect_managed(PART_BYTES)) {
        RUN_CHOSEN(parts_of_pages_are_counted);
    }
    RUN_CHOSEN(a_child_without_large_blocks_is_there);
    return test_finish();
}
