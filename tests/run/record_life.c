/* The record's file: its beginning, its end, forks, and what is in the way of it. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "record_story.h"

static void open_record(void) {
    record_open(story_folder, MIB, 0);
    REQUIRE(record != NULL);
}

/* The file of the process, as a reader sees it; blocks: of 512 bytes, on the disk. */
static void read_record(pid_t pid, ferry_run_record *out, long *blocks) {
    char path[2 * SCRATCH_BYTES] = "", ending[64];
    snprintf(ending, sizeof ending, "-%ld" FERRY_RUN_SUFFIX, (long)pid);
    DIR *folder = opendir(story_folder);
    REQUIRE(folder != NULL);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (strstr(entry->d_name, ending) != NULL)
            snprintf(path, sizeof path, "%s/%.200s", story_folder, entry->d_name);
    closedir(folder);
    struct stat status;
    REQUIRE(path[0] != '\0' && stat(path, &status) == 0);
    CHECK_UINT(status.st_mode & 0777, 0600);
    *blocks = (long)status.st_blocks;
    CHECK_UINT(scratch_read(path, (char *)out, sizeof *out), sizeof *out);
}

static ferry_run_record seen;
static long seen_blocks;

static void it_says_who_it_is(void) {
    open_record();
    record_device(FERRY_RUN_DEVICE_FAILED, "no such device");
    record_end(FERRY_RUN_EXITED);
    read_record(getpid(), &seen, &seen_blocks);
    CHECK(seen.magic == FERRY_RUN_MAGIC);
    CHECK_UINT(seen.bytes, sizeof seen);
    CHECK_INT(seen.pid, getpid());
    CHECK_INT(seen.parent, getppid());
    CHECK_INT(seen.forked_from, 0);
    CHECK(strstr(seen.program, "/test_run_record_life") != NULL);
    CHECK_THAT(strstr(seen.command, "test_run_record_life told") != NULL, "%s", seen.command);
    CHECK_UINT(seen.threshold_bytes, MIB);
    CHECK_UINT(seen.device, FERRY_RUN_DEVICE_FAILED);
    CHECK_STRING(seen.device_text, "no such device");
    CHECK_UINT(seen.end, FERRY_RUN_EXITED);
    CHECK(seen.began_ns < seen.ended_ns);
    CHECK(seen.resident_peak_bytes > MIB / 4);
    CHECK_UINT(seen.nsamples, 0);
}

static void without_large_blocks_it_is_two_pages(void) {
    open_record();
    record_end(FERRY_RUN_LEFT);
    read_record(getpid(), &seen, &seen_blocks);
    CHECK_THAT(seen_blocks * 512 <= 8192, "%ld blocks", seen_blocks);
    allocate(0, MIB, site(0));
    read_record(getpid(), &seen, &seen_blocks);
    CHECK_THAT(seen_blocks * 512 <= 64 * 1024, "%ld blocks", seen_blocks);
}

static void child_ends(pid_t child) {
    int status = -1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

/* In the child, after its own record has begun: the parent's blocks are none of its. */
static void live_on(pid_t parent) {
    CHECK_INT(record->pid, getpid());
    CHECK_INT(record->forked_from, parent);
    CHECK_UINT(record->device, FERRY_RUN_DEVICE_FORKED);
    CHECK(!release(0));
    allocate(0, 2 * MIB, site(0));
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].warm_blocks, 0);
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].live_bytes, 2 * MIB);
    CHECK_UINT(record->nsites, 1);
    CHECK_UINT(record->samples[0].live_bytes[FERRY_RUN_PLAIN], 2 * MIB);
    record_end(FERRY_RUN_LEFT);
    _exit(atomic_load(&test_failures) == 0 ? 0 : 1);
}

static void fork_with(bool told, const ferry_fork_account *account) {
    const pid_t parent = getpid();
    fflush(stderr);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (told)
            record_after_fork(account);
        else
            record_now();
        live_on(parent);
    }
    child_ends(child);
    read_record(child, &seen, &seen_blocks);
    CHECK_INT(seen.parent, parent);
    CHECK_UINT(seen.end, FERRY_RUN_LEFT);
}

static void a_child_has_a_record_of_its_own(void) {
    const ferry_fork_account account = {.lost_blocks = 1, .lost_bytes = MIB, .kept_bytes = 17};
    /* The child's goes where the parent's is, whatever the folder it works in. */
    REQUIRE(chdir(story_folder) == 0);
    record_open(".", MIB, 0);
    REQUIRE(record != NULL && chdir("/") == 0);
    record_device(FERRY_RUN_DEVICE_STARTED, "sim");
    allocate(0, MIB, site(0));
    allocate(1, MIB, site(0));
    fork_with(true, &account);
    CHECK_UINT(seen.lost_bytes, MIB);
    CHECK_UINT(seen.kept_bytes, 17);
    fork_with(true, NULL);
    CHECK_UINT(seen.lost_blocks, 0);
    fork_with(false, NULL);
    CHECK_INT(record->pid, getpid());
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].live_bytes, 2 * MIB);
    CHECK(release(0));
    CHECK_INT(count_files(), 4);
}

/* It is in its parent's memory, and its blocks are the parent's. */
__attribute__((unused)) static void a_vforked_child_counts_as_its_parent(void) {
    open_record();
    const pid_t child = vfork();
    if (child == 0) {
        allocate(3, MIB, site(0));
        _exit(0);
    }
    child_ends(child);
    CHECK_INT(record->pid, getpid());
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].live_bytes, MIB);
    CHECK_INT(count_files(), 1);
}

static void nothing_is_recorded_and_nothing_fails(void) {
    const ferry_stats stats = {0};
    const ferry_run_heap small = {0};
    CHECK(record == NULL);
    CHECK_UINT(record_now(), 0);
    allocate(0, MIB, site(0));
    CHECK(!release(0));
    record_beyond_limit(MIB);
    record_device(FERRY_RUN_DEVICE_STARTED, "sim");
    record_stats(&stats);
    record_unmeasured("");
    record_small(&small);
    record_after_fork(NULL);
    record_end(FERRY_RUN_EXITED);
}

static void a_folder_that_is_not_there(void) {
    char absent[2 * SCRATCH_BYTES];
    snprintf(absent, sizeof absent, "%s/absent", story_folder);
    record_open(absent, MIB, 0);
    nothing_is_recorded_and_nothing_fails();
}

static void a_path_that_is_too_long(void) {
    static char path[8192];
    memset(path, 'a', sizeof path - 1);
    record_open(path, MIB, 0);
    nothing_is_recorded_and_nothing_fails();
    CHECK_INT(count_files(), 0);
}

static void a_limit_on_files(void) {
    const struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    record_open(story_folder, MIB, 0);
    nothing_is_recorded_and_nothing_fails();
    CHECK_INT(count_files(), 0);
}

/* No room can be had for what is beyond the counters: they go on. */
static void no_room_for_samples_and_sites(void) {
    open_record();
    scratch_remove(story_folder);
    for (size_t i = 0; i < 100; i++)
        allocate(i, MIB, site(i));
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].live_bytes, 100 * MIB);
    CHECK_UINT(record->nsamples, 0);
    CHECK(record->nsites <= 8); /* as many as the first piece has room for: none, here */
    CHECK_UINT(record->unsited + record->nsites, 100);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        record_after_fork(NULL);
        nothing_is_recorded_and_nothing_fails();
        _exit(atomic_load(&test_failures) == 0 ? 0 : 1);
    }
    child_ends(child);
}

int main(int argc, char **argv) {
    /* With an argument, to be found again in the record. */
    if (argc == 1) {
        char *const again[] = {argv[0], "told", NULL};
        execv("/proc/self/exe", again);
        return 1;
    }
    TELL(it_says_who_it_is);
    TELL(without_large_blocks_it_is_two_pages);
    TELL(a_child_has_a_record_of_its_own);
#ifndef __SANITIZE_THREAD__ /* which forks instead */
    TELL(a_vforked_child_counts_as_its_parent);
#endif
    TELL(a_folder_that_is_not_there);
    TELL(a_path_that_is_too_long);
    TELL(a_limit_on_files);
    TELL(no_room_for_samples_and_sites);
    return test_finish();
}
