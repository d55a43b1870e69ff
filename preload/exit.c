/* The process's end, as far as it can be seen; a process that is killed, or that execs, leaves its record as it was. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "device.h"
#include "ordinary.h"
#include "record.h"
#include "shim.h"

/* A signal's handler that ends the process while its thread is inside the library waits for none of the library's
 * locks. */
static void end(ferry_run_end how) {
    if (!shim_enter()) {
        record_end(how);
        return;
    }
    ferry_run_heap small;
    ordinary_count(&small);
    record_small(&small);
    device_end();
    record_end(how);
    shim_leave();
}

__attribute__((destructor)) static void end_exited(void) {
    if (record_is_own()) {
        end(FERRY_RUN_EXITED);
    }
}

static _Noreturn void leave_at_once(int status) {
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

static _Atomic int left_with;

static void stop_counting(int number) {
    (void)number;
    record_end(FERRY_RUN_LEFT);
    leave_at_once(atomic_load(&left_with));
}

/*
 * A signal's handler may call _exit while its thread is in the ordinary heap or in CUDA: their locks, which the counts
 * need, are never released then, and their data may be half changed. Nothing else of the program's thread runs any
 * more, so its signals can be taken over.
 */
static void count_no_longer_than(time_t seconds) {
    static const int ending[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT};
    const struct sigaction stop = {.sa_handler = stop_counting};
    const struct itimerval limit = {.it_value.tv_sec = seconds};
    sigset_t unblocked;
    sigemptyset(&unblocked);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        sigaction(ending[i], &stop, NULL);
        sigaddset(&unblocked, ending[i]);
    }
    setitimer(ITIMER_REAL, &limit, NULL);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
}

static _Noreturn void leave(int status) {
    enum { SECONDS = 2 };
    if (record_is_own()) {
        atomic_store(&left_with, status);
        count_no_longer_than(SECONDS);
        end(FERRY_RUN_LEFT);
    }
    leave_at_once(status);
}

EXPORT _Noreturn void _exit(int status) {
    leave(status);
}

EXPORT _Noreturn void _Exit(int status) {
    leave(status);
}
