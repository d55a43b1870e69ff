/* .npy files on disk: what is left behind when things fail, symbolic links, modes, pipes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/ferry.h"
#include "tests/test.h"

static char folder[64];

static int count_entries(void) {
    DIR *dir = opendir(".");
    REQUIRE(dir);
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void empty_folder(void) {
    DIR *dir = opendir(".");
    REQUIRE(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static ferry_array counted(int64_t n) {
    ferry_array array;
    REQUIRE_OK(ferry_array_create(NULL, FERRY_INT32, 1, &n, &array));
    REQUIRE_OK(ferry_host_acquire(&array.view, FERRY_WRITE));
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)array.view.data)[i] = (int32_t)i;
    return array;
}

static void check_counted(const char *path, int64_t n) {
    ferry_array array;
    REQUIRE_OK(ferry_npy_load(NULL, path, &array));
    CHECK_INT(array.view.dtype, FERRY_INT32);
    CHECK_INT(array.view.ndim, 1);
    CHECK_INT(array.view.shape[0], n);
    bool same = true;
    for (int64_t i = 0; i < n; i++)
        same = same && ((const int32_t *)array.view.data)[i] == (int32_t)i;
    CHECK(same);
    ferry_array_release(&array);
}

static uint64_t live_bytes(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.live_bytes;
}

static void round_trip(void) {
    ferry_array array = counted(1000);
    CHECK_OK(ferry_npy_save("x.npy", &array.view));
    check_counted("x.npy", 1000);
    CHECK_INT(count_entries(), 1);
    ferry_array_release(&array);
}

static void modes_and_links(void) {
    ferry_array array = counted(10);
    struct stat st;
    umask(027);
    CHECK_OK(ferry_npy_save("new.npy", &array.view));
    REQUIRE(stat("new.npy", &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    REQUIRE(chmod("new.npy", 0604) == 0);
    REQUIRE(symlink("new.npy", "near.npy") == 0 && symlink("near.npy", "far.npy") == 0);
    REQUIRE(symlink("absent.npy", "dangling.npy") == 0);
    CHECK_OK(ferry_npy_save("far.npy", &array.view));
    REQUIRE(lstat("far.npy", &st) == 0);
    CHECK(S_ISLNK(st.st_mode));
    REQUIRE(lstat("new.npy", &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0604);
    CHECK_OK(ferry_npy_save("dangling.npy", &array.view));
    check_counted("absent.npy", 10);
    CHECK_INT(count_entries(), 5);
    REQUIRE(symlink("loop.npy", "loop.npy") == 0);
    CHECK_STATUS(ferry_npy_save("loop.npy", &array.view), FERRY_IO);
    umask(022);
    ferry_array_release(&array);
}

/* The old file stays as it was, and nothing else remains, when the new one does not fit. */
static void no_space(void) {
    ferry_array small = counted(10), large = counted(100000);
    struct rlimit old, limit;
    CHECK_OK(ferry_npy_save("x.npy", &small.view));
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_STATUS(ferry_npy_save("x.npy", &large.view), FERRY_IO);
    CHECK_STATUS(ferry_npy_save("y.npy", &large.view), FERRY_IO);
    CHECK(strstr(ferry_error_detail(), "y.npy: ") == ferry_error_detail());
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    CHECK_INT(count_entries(), 1);
    check_counted("x.npy", 10);
    CHECK_STATUS(ferry_npy_save("/dev/full", &small.view), FERRY_IO);
    CHECK(strstr(ferry_error_detail(), strerror(ENOSPC)));
    ferry_array_release(&large);
    ferry_array_release(&small);
}

/* As a shell's >> leaves it: what stands there stays, under every name that the descriptor has. */
static void open_files_are_written_on(void) {
    static const char *const names[] = {"/proc/self/fd/%d", "/dev/fd/%d", "link"};
    ferry_array array = counted(10);
    int fd = open("log", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    int standard_output = dup(STDOUT_FILENO);
    REQUIRE(fd >= 0 && write(fd, "before", 6) == 6);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[32];
        snprintf(path, sizeof path, names[i], fd);
        if (i == 2)
            REQUIRE(symlink("/dev/stdout", "link") == 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
        CHECK_OK(ferry_npy_save(path, &array.view));
        CHECK_INT(lseek(fd, 0, SEEK_END), 6 + (int64_t)(i + 1) * (128 + 40));
    }
    char text[7] = "";
    int reader = open("log", O_RDONLY | O_CLOEXEC);
    CHECK(read(reader, text, 6) == 6 && strcmp(text, "before") == 0);
    close(reader);
    close(fd);
    CHECK(standard_output >= 0 && dup2(standard_output, STDOUT_FILENO) == STDOUT_FILENO);
    close(standard_output);
    CHECK_INT(count_entries(), 2);
    ferry_array_release(&array);
}

static void bad_targets(void) {
    ferry_array array = counted(10);
    CHECK_STATUS(ferry_npy_save(".", &array.view), FERRY_IO);
    CHECK_STATUS(ferry_npy_save("absent/x.npy", &array.view), FERRY_IO);
    CHECK_STATUS(ferry_npy_save("", &array.view), FERRY_IO);
    CHECK_STATUS(ferry_npy_save("x.npy/", &array.view), FERRY_IO);
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_STATUS(ferry_npy_save(longest, &array.view), FERRY_IO);
    CHECK_INT(count_entries(), 0);
    longest[255] = '\0';
    CHECK_OK(ferry_npy_save(longest, &array.view));
    CHECK_INT(count_entries(), 1);
    ferry_array_release(&array);
}

static void bad_sources(void) {
    ferry_array array = counted(1000), out = {.owner = NULL};
    CHECK_STATUS(ferry_npy_load(NULL, "absent.npy", &out), FERRY_IO);
    CHECK_STATUS(ferry_npy_load(NULL, ".", &out), FERRY_IO);
    CHECK_OK(ferry_npy_save("x.npy", &array.view));
    REQUIRE(truncate("x.npy", 4127) == 0);
    uint64_t before = live_bytes();
    CHECK_STATUS(ferry_npy_load(NULL, "x.npy", &out), FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), "4000") && strstr(ferry_error_detail(), "3999"));
    CHECK(!out.owner);
    CHECK_UINT(live_bytes(), before);
    ferry_array_release(&array);
}

typedef struct feed {
    int fd;
    const char *path;
    off_t bytes; /* then the end */
} feed;

static void *feed_pipe(void *context) {
    const feed *f = context;
    int source = open(f->path, O_RDONLY);
    char buffer[3000]; /* never a whole number of pages */
    off_t left = f->bytes;
    for (ssize_t got; left > 0 && (got = read(source, buffer, left < 3000 ? (size_t)left : 3000)) > 0; left -= got)
        if (write(f->fd, buffer, (size_t)got) != got)
            break;
    close(source);
    close(f->fd);
    return NULL;
}

static ferry_status load_piped(const char *path, off_t bytes, ferry_array *out) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    feed f = {ends[1], path, bytes};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, feed_pipe, &f) == 0);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    ferry_status status = ferry_npy_load(NULL, name, out);
    close(ends[0]);
    pthread_join(thread, NULL);
    return status;
}

static void pipes(void) {
    ferry_array array = counted(100000), out = {.owner = NULL};
    CHECK_OK(ferry_npy_save("x.npy", &array.view));
    CHECK_OK(load_piped("x.npy", 400128, &out));
    CHECK_MEMORY(out.view.data, array.view.data, 400000);
    ferry_array_release(&out);
    uint64_t before = live_bytes();
    CHECK_STATUS(load_piped("x.npy", 400127, &out), FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), "399999"));
    CHECK_UINT(live_bytes(), before);
    ferry_array_release(&array);
}

typedef struct seen {
    int64_t done, total;
    int calls;
} seen;

static void note(void *context, int64_t done, int64_t total) {
    seen *s = context;
    CHECK(done > s->done && done <= total);
    *s = (seen){done, total, s->calls + 1};
}

static void progress(void) {
    ferry_array array = counted(10000000), out;
    seen written = {0}, read = {0};
    CHECK_OK(ferry_npy_save_progress("x.npy", &array.view, note, &written));
    CHECK_OK(ferry_npy_load_progress(NULL, "x.npy", note, &read, &out));
    CHECK_INT(written.done, 40000000);
    CHECK_INT(written.total, 40000000);
    CHECK_INT(read.done, 40000000);
    CHECK(written.calls > 1 && read.calls >= 1); /* how many reads this thread did is chance */
    ferry_array_release(&out);
    ferry_array_release(&array);
}

static void limit(void) {
    char header[128];
    int length = snprintf(header + 10, sizeof header - 10,
                          "{'descr': '<f8', 'fortran_order': True, 'shape': (70000000, %d)}", 8192); /* 4 TiB */
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)length;
    header[9] = 0;
    int fd = open("x.npy", O_CREAT | O_WRONLY, 0600);
    REQUIRE(fd >= 0 && write(fd, header, (size_t)length + 10) == length + 10);
    bool sparse = ftruncate(fd, 10 + length + INT64_C(70000000) * 8192 * 8) == 0;
    close(fd);
    ferry_array out = {.owner = NULL};
    /* Whether the file system lets the file claim its 4 TiB decides which check meets it. */
    CHECK_STATUS(ferry_npy_load(NULL, "x.npy", &out), sparse ? FERRY_LIMIT : FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), "x.npy: ") == ferry_error_detail());
}

static void run(void (*test)(void), const char *name) {
    test_run(test, name);
    empty_folder();
}

int main(void) {
    snprintf(folder, sizeof folder, "npy-files-%ld", (long)getpid());
    REQUIRE(mkdir(folder, 0700) == 0 && chdir(folder) == 0);
    umask(022);
    run(round_trip, "round_trip");
    run(modes_and_links, "modes_and_links");
    run(no_space, "no_space");
    run(open_files_are_written_on, "open_files_are_written_on");
    run(bad_targets, "bad_targets");
    run(bad_sources, "bad_sources");
    run(pipes, "pipes");
    run(progress, "progress");
    run(limit, "limit");
    CHECK(chdir("..") == 0 && rmdir(folder) == 0);
    return test_finish();
}
