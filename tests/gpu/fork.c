/* A forked child frees what it inherited, allocates, and ends, in either way; the parent goes on. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"

#define COUNT ((int64_t)(4 * MIB / sizeof(double)))

static ferry_array x, y;

static int child(void) {
    int failures = 0;
    ferry_array_release(&x);
    ferry_array_release(&y);
    for (size_t bytes = 64; bytes <= 8 * MIB; bytes *= 8) {
        char *p = ferry_malloc(bytes);
        failures += !p;
        if (p)
            memset(p, 1, bytes);
        ferry_free(p);
    }
    return failures;
}

/* The child must end by itself: an alarm ends one that hangs. */
static void fork_and_wait(bool tidy) {
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        alarm(30);
        int failures = child();
        if (tidy)
            exit(failures);
        _exit(failures);
    }
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with wait status %d", status);
}

static void children_free_and_end(void) {
    x = gpu_filled(NULL, COUNT, 1.0);
    y = gpu_array(NULL, COUNT);
    REQUIRE_OK(gpu_unary(FERRY_OP_LOG, &x, &y, NULL)); /* in flight while the child is made */
    fork_and_wait(false);
    fork_and_wait(true);
    CHECK_OK(ferry_host_acquire(&y.view, FERRY_READ));
    CHECK_INT(gpu_wrong(&y, 1, log, 1.0), 0);
    ferry_array_release(&x);
    ferry_array_release(&y);
}

int main(void) {
    gpu_start();
    RUN(children_free_and_end);
    return test_finish();
}
