/*
 * write_records FOLDER STORY: leaves a record there, for tests of who reads it.
 *
 * Stories: large, small, gone, forked, prelude; sites, samples, end, unterminated, disordered, odd_text, many_sites: of
 * a record that is not as it should be, or more than a report shows.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_story.h"

static const char *folder;

static void *site_of(size_t number) {
    return (void *)(uintptr_t)(0x1000 + number);
}

static void large(void) {
    const ferry_stats stats = {
        .bytes_to_device = 1234567, .bytes_to_host = 7654321, .redundant_bytes = 4096, .measured = 1, .gpu_faults = 5};
    const ferry_run_heap small = {
        .allocations = 1000, .frees = 900, .allocated_bytes = 64000, .live_bytes = 6400, .sizes[6] = {1000, 64000}};
    const ferry_fork_account account = {.lost_blocks = 2, .lost_bytes = 3 * MIB, .kept_bytes = 4096};
    record_device(FERRY_RUN_DEVICE_STARTED, "sim");
    for (size_t i = 0; i < 3; i++)
        record_allocation(page(1000 * i), 4 * MIB, FERRY_RUN_MANAGED, record_now(), site_of(1));
    allocate(5000, MIB, site_of(2));
    CHECK(release(1000));
    allocate(1000, 3 * MIB, site_of(2));
    record_beyond_limit(3 * MIB);
    record_stats(&stats);
    record_small(&small);
    record_after_fork(&account);
    record_end(FERRY_RUN_EXITED);
}

static void small(void) {
    const ferry_run_heap counts = {.allocations = 10, .frees = 7, .allocated_bytes = 640};
    record_small(&counts);
    record_end(FERRY_RUN_LEFT);
}

static void gone(void) {
    allocate(0, 2 * MIB, site_of(1));
    raise(SIGKILL);
}

static void forked(void) {
    allocate(0, 2 * MIB, site_of(1));
    const pid_t child = fork();
    if (child == 0) {
        record_after_fork(NULL);
        allocate(0, MIB, site_of(1));
        record_end(FERRY_RUN_LEFT);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    record_end(FERRY_RUN_EXITED);
}

/* A child that becomes another program, as a shell's. */
static void prelude(void) {
    const pid_t child = fork();
    if (child == 0) {
        record_after_fork(NULL);
        execl("/proc/self/exe", "write_records", folder, "small", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    record_end(FERRY_RUN_EXITED);
}

static void sites(void) {
    large();
    record->nsites = FERRY_RUN_SITES + 1;
}

static void samples(void) {
    large();
    record->nsamples = UINT32_MAX;
}

static void end(void) {
    large();
    record->end = 77;
}

static void unterminated(void) {
    large();
    memset(record->program, 'p', sizeof record->program);
    memset(record->command, 'c', sizeof record->command);
    memset(record->device_text, 'd', sizeof record->device_text);
    memset(record->unmeasured, 'u', sizeof record->unmeasured);
    memset(record->sites[0].text, 's', sizeof record->sites[0].text);
}

static void disordered(void) {
    record->nsamples = 3;
    for (int i = 0; i < 3; i++)
        record->samples[i] = (ferry_run_sample){.time_ns = (const uint64_t[]){10, 30, 20}[i]};
    large();
}

static void odd_text(void) {
    large();
    strcpy(record->command, "one \"two\" \\three\n\033[31m \xff\xc3\xa9");
    strcpy(record->sites[0].text, "operator new[]\t\"\x80");
}

static void many_sites(void) {
    for (size_t i = 0; i < FERRY_RUN_SITES + 5; i++)
        allocate(i, MIB + i, site_of(i));
    record_end(FERRY_RUN_EXITED);
}

#define STORY(name)                                                                                                    \
    { #name, name }
static const struct {
    const char *name;
    void (*tell)(void);
} STORIES[] = {STORY(large),        STORY(small),      STORY(gone),     STORY(forked),
               STORY(prelude),      STORY(sites),      STORY(samples),  STORY(end),
               STORY(unterminated), STORY(disordered), STORY(odd_text), STORY(many_sites)};

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    folder = argv[1];
    record_open(folder, MIB, 0);
    REQUIRE(record != NULL);
    for (size_t i = 0; i < sizeof STORIES / sizeof *STORIES; i++)
        if (strcmp(argv[2], STORIES[i].name) == 0) {
            STORIES[i].tell();
            return test_finish();
        }
    return 2;
}
