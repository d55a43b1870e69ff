#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_child.h"
#include "tool.h"

static const int PASSED_ON[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* What the program finds as the command found it. */
typedef struct dispositions {
    struct sigaction interrupt, quit, child;
    sigset_t mask;
} dispositions;

static int become_failed(const char *name, int reason) {
    fail("%s: %s", name, strerror(reason));
    return reason == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* The reason of a failure. */
static int become(char **argv) {
    restore_xfsz();
    execvp(argv[0], argv);
    return errno;
}

int run_become(char **argv) {
    return become_failed(argv[0], become(argv));
}

/* As a shell that waits for the program in the foreground. What is to be passed on is blocked, and waited for. */
static void take_signals(dispositions *before, sigset_t *waited_for) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGINT, &ignored, &before->interrupt);
    sigaction(SIGQUIT, &ignored, &before->quit);
    /* Ignored, it would take the program's status with it. */
    sigaction(SIGCHLD, &standard, &before->child);
    sigemptyset(waited_for);
    sigaddset(waited_for, SIGCHLD);
    for (size_t i = 0; i < sizeof PASSED_ON / sizeof *PASSED_ON; i++)
        sigaddset(waited_for, PASSED_ON[i]);
    sigprocmask(SIG_BLOCK, waited_for, &before->mask);
}

static void restore_signals(const dispositions *before) {
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGQUIT, &before->quit, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Returns at the child's end. */
static void wait_for(run_child *child, const sigset_t *waited_for) {
    for (;;) {
        int number = sigwaitinfo(waited_for, NULL);
        if (number == SIGCHLD && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
            return;
        if (number > 0 && number != SIGCHLD)
            kill(child->pid, number);
    }
}

/* The reason comes through a pipe that a program which does run closes. */
static void run_in_child(char **argv, int report) {
    int reason = become(argv);
    if (write(report, &reason, sizeof reason) == sizeof reason)
        _exit(RUN_NOT_EXECUTABLE);
    _exit(RUN_FAILED);
}

static int read_reason(int from) {
    int reason = 0;
    ssize_t got;
    do
        got = read(from, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    return got == sizeof reason ? reason : 0;
}

int run_and_wait(char **argv, run_child *out) {
    dispositions before;
    sigset_t waited_for;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail("a pipe: %s", strerror(errno));
        return RUN_FAILED;
    }
    take_signals(&before, &waited_for);
    out->pid = fork();
    if (out->pid == 0) {
        restore_signals(&before);
        run_in_child(argv, ends[1]);
    }
    int fork_reason = errno;
    close(ends[1]);
    int reason = out->pid > 0 ? read_reason(ends[0]) : 0;
    close(ends[0]);
    if (out->pid > 0)
        wait_for(out, &waited_for);
    restore_signals(&before);
    if (out->pid < 0) {
        fail("a new process: %s", strerror(fork_reason));
        return RUN_FAILED;
    }
    return reason == 0 ? EXIT_DONE : become_failed(argv[0], reason);
}

int run_exit_status(const run_child *child) {
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}
