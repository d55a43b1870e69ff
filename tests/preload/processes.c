/* What processes do to one another: they start programs, become others, end, are ended. It is the program's affair. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>

#include "ferry/run.h"
#include "preloaded.h"

extern char **environ;
static const char *self;
static unsigned char *large;

/* The program again, to do one thing. */
static char *const *arguments(const char *what) {
    static char *list[4];
    list[0] = (char *)self;
    list[1] = (char *)what;
    return list;
}

static void allocate_and_check(void) {
    unsigned char *block = opaque(malloc(3 * MIB));
    REQUIRE(block != NULL);
    CHECK(is_managed(block) == expect_managed(3 * MIB));
    fill(block, 3 * MIB, 2);
    CHECK(is_filled(block, 3 * MIB, 2));
    free(block);
}

static bool large_is_well(void) {
    return is_managed(large) == expect_managed(2 * MIB) && is_filled(large, 2 * MIB, 1);
}

static void vfork_and_exec(void) {
    for (int i = 0; i < 20; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            execv(self, arguments("-allocate"));
            _exit(9);
        }
        exited_well(child);
        CHECK(large_is_well());
        allocate_and_check();
    }
}

/* In its parent's memory: what ends there is the child alone. */
static void vfork_and_exit(void) {
    for (int i = 0; i < 20; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            _exit(11);
        }
        const int status = status_of(child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 11);
        CHECK(large_is_well());
        allocate_and_check();
    }
}

static void vfork_and_failing_exec(void) {
    const pid_t child = vfork();
    if (child == 0) {
        execv("/nowhere/at/all", arguments("-allocate"));
        _exit(7);
    }
    const int status = status_of(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    allocate_and_check();
}

static void spawn_with_actions(void) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char path[] = "/tmp/ferry-spawn-XXXXXX", text[16] = "";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, STDIN_FILENO);
    pid_t child;
    CHECK_INT(posix_spawn(&child, self, &actions, &attributes, (char **)arguments("-say"), environ), 0);
    exited_well(child);
    CHECK(pread(file, text, sizeof text - 1, 0) == 5);
    CHECK_STRING(text, "said\n");
    CHECK_INT(posix_spawn(&child, "/nowhere/at/all", &actions, &attributes, (char **)arguments("-say"), environ),
              ENOENT);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(file);
    unlink(path);
    CHECK(large_is_well());
}

static void command(char *text, size_t room, const char *what) {
    snprintf(text, room, "'%s' %s", self, what);
}

static void shells(void) {
    char line[4096];
    command(line, sizeof line, "-allocate");
    CHECK_INT(system(line), 0);
    command(line, sizeof line, "-exit-5");
    CHECK_INT(system(line), 5 << 8);
    CHECK_INT(system("kill -9 $$"), SIGKILL);
    CHECK(large_is_well());
}

static void shells_behind_pipes(void) {
    char line[4096], answer[64] = "";
    command(line, sizeof line, "-say; echo more");
    FILE *pipe = popen(line, "r");
    REQUIRE(pipe != NULL);
    CHECK(fread(answer, 1, sizeof answer - 1, pipe) == 10);
    CHECK_STRING(answer, "said\nmore\n");
    CHECK_INT(pclose(pipe), 0);
    CHECK(large_is_well());
}

static void exec_in_place(void) {
    execve(self, (char **)arguments("-allocate"), environ);
}

static void exec_by_search(void) {
    char folder[4096], *name = strrchr(strncpy(folder, self, sizeof folder - 1), '/');
    *name = '\0';
    setenv("PATH", folder, 1);
    char *list[] = {name + 1, "-allocate", NULL};
    execvp(name + 1, list);
}

/* From a thread that is not the first, with others about. */
static void *exec_from_here(void *argument) {
    exec_in_place();
    return argument;
}

static void *allocate_for_ever(void *argument) {
    for (;;) {
        free(opaque(malloc(2 * MIB)));
    }
    return argument;
}

static void exec_from_thread(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, i == 2 ? exec_from_here : allocate_for_ever, NULL) == 0);
    }
    pthread_join(threads[2], NULL);
}

static void exec_that_fails(void) {
    char *list[] = {"nothing", NULL};
    CHECK(execv("/nowhere/at/all", list) == -1);
    free(opaque(malloc(3 * MIB)));
}

static void become_others(void) {
    in_child(exec_in_place);
    in_child(exec_by_search);
    in_child(exec_from_thread);
    in_child(exec_that_fails);
}

static int report; /* the end that a daemon writes to */

static void be_a_daemon(void) {
    if (daemon(1, 1) != 0) {
        _exit(1);
    }
    for (int i = 0; i < 5; i++) {
        unsigned char *block = opaque(malloc(2 * MIB));
        fill(block, 2 * MIB, 1);
        if (!is_filled(block, 2 * MIB, 1)) {
            _exit(1);
        }
        free(block);
    }
    free(large);
    (void)!write(report, "d", 1);
}

/* Tells when its parent has gone, and what it could allocate then. */
static void outlive_the_parent(void) {
    const pid_t parent = getpid();
    if (fork() == 0) {
        for (int i = 0; i < 2000 && getppid() == parent; i++) {
            poll(NULL, 0, 5);
        }
        be_a_daemon();
        exit(0);
    }
}

static void daemons(void) {
    int ends[2];
    char byte = 0;
    REQUIRE(pipe(ends) == 0);
    report = ends[1];
    in_child(be_a_daemon);
    in_child(outlive_the_parent);
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'd');
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'd');
    close(ends[0]);
}

static void *exit_there(void *argument) {
    exit(*(int *)argument);
}

static void *leave_late(void *argument) {
    pthread_detach(pthread_self());
    poll(NULL, 0, 50);
    allocate_and_check();
    return argument;
}

static void say_goodbye(void) {
    free(opaque(malloc(2 * MIB)));
}

static void leave_from_handler(int number) {
    (void)number;
    _exit(3);
}

static void *volatile churned[16];

/* Of sizes that jemalloc takes locks for, and some that are large. */
static void be_ended_by_a_handler(void) {
    const struct itimerval soon = {.it_value.tv_usec = 1000 + getpid() % 64 * 50};
    allocate_and_check();
    signal(SIGALRM, leave_from_handler);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (size_t i = 0;; i++) {
        free(churned[i % 16]);
        churned[i % 16] = malloc(i % 4 == 0 ? 2 * MIB : 200000 + i % 16 * 4096);
    }
}

/* One program per way to end. */
static int end_as(const char *what) {
    static int eight = 8;
    pthread_t thread;
    allocate_and_check();
    if (strcmp(what, "say") == 0) {
        puts("said");
    }
    if (strcmp(what, "say") == 0 || strcmp(what, "allocate") == 0) {
        return atomic_load(&test_failures) == 0 ? 0 : 1;
    }
    if (strcmp(what, "exit-5") == 0) {
        atexit(say_goodbye);
        exit(5);
    }
    if (strcmp(what, "_exit-6") == 0) {
        _exit(6);
    }
    if (strcmp(what, "quick_exit-7") == 0) {
        at_quick_exit(say_goodbye);
        quick_exit(7);
    }
    if (strcmp(what, "thread-8") == 0) {
        REQUIRE(pthread_create(&thread, NULL, exit_there, &eight) == 0);
        pthread_join(thread, NULL);
    }
    if (strcmp(what, "last-thread-0") == 0) {
        REQUIRE(pthread_create(&thread, NULL, leave_late, NULL) == 0);
        pthread_exit(NULL);
    }
    if (strcmp(what, "handler") == 0) {
        be_ended_by_a_handler();
    }
    if (strcmp(what, "abort") == 0) {
        abort();
    }
    if (strcmp(what, "kill") == 0) {
        kill(getpid(), SIGKILL);
    }
    if (strcmp(what, "terminate") == 0) {
        raise(SIGTERM);
    }
    if (strcmp(what, "fault") == 0) {
        volatile char *volatile nowhere = NULL;
        *nowhere = 1;
    }
    return 99;
}

static void ends_with(const char *what, int wanted) {
    pid_t child;
    REQUIRE(posix_spawn(&child, self, NULL, NULL, (char **)arguments(what), environ) == 0);
    const int status = status_of(child);
    CHECK_THAT((status & ~0x80) == wanted, "%s: status 0x%x, not 0x%x", what, (unsigned)status, (unsigned)wanted);
}

static void ends(void) {
    ends_with("-exit-5", 5 << 8);
    ends_with("-_exit-6", 6 << 8);
    ends_with("-quick_exit-7", 7 << 8);
    ends_with("-thread-8", 8 << 8);
    ends_with("-abort", SIGABRT);
    ends_with("-kill", SIGKILL);
    ends_with("-terminate", SIGTERM);
    ends_with("-fault", SIGSEGV);
}

/* The process ends with the last of its own threads, whatever else runs in it. */
static void a_thread_outlives_main(void) {
    ends_with("-last-thread-0", 0);
}

/* Reads what a process has left, and removes it. */
static void has_left(int folder, const char *name) {
    static ferry_run_record seen;
    const int file = openat(folder, name, O_RDONLY);
    REQUIRE(file >= 0);
    CHECK(read(file, &seen, offsetof(ferry_run_record, samples)) > 0);
    CHECK_INT(seen.end, FERRY_RUN_LEFT);
    close(file);
    unlinkat(folder, name, 0);
}

enum { CHILDREN = 24 };

/* _exit may be called in a handler, whatever the thread is at. */
static void ends_by_handlers(void) {
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        REQUIRE(posix_spawn(&children[i], self, NULL, NULL, (char **)arguments("-handler"), environ) == 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK_INT(status_of(children[i]), 3 << 8);
    }
}

/* Also where a record is to be ended. */
static void recorded_ends_by_handlers(void) {
    char path[] = "/tmp/ferry-records-XXXXXX";
    int records = 0;
    REQUIRE(mkdtemp(path) != NULL);
    setenv("FERRY_REPORT", path, 1);
    ends_by_handlers();
    unsetenv("FERRY_REPORT");
    DIR *folder = opendir(path);
    REQUIRE(folder != NULL);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            has_left(dirfd(folder), entry->d_name);
            records++;
        }
    }
    closedir(folder);
    rmdir(path);
    CHECK_INT(records, preloaded("ferry_owns") == NULL ? 0 : CHILDREN);
}

int main(int argc, char **argv) {
    static char path[4096];
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    self = path;
    if (argc > 1 && argv[1][0] == '-') {
        return end_as(argv[1] + 1);
    }
    alarm(250);
    large = opaque(malloc(2 * MIB));
    fill(large, 2 * MIB, 1);
    RUN_CHOSEN(vfork_and_exec);
    RUN_CHOSEN(vfork_and_exit);
    RUN_CHOSEN(vfork_and_failing_exec);
    RUN_CHOSEN(spawn_with_actions);
    RUN_CHOSEN(shells);
    RUN_CHOSEN(shells_behind_pipes);
    RUN_CHOSEN(become_others);
    RUN_CHOSEN(daemons);
    RUN_CHOSEN(ends);
    RUN_CHOSEN(a_thread_outlives_main);
    RUN_CHOSEN(ends_by_handlers);
    RUN_CHOSEN(recorded_ends_by_handlers);
    CHECK(large_is_well());
    return test_finish();
}
