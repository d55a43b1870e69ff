#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "ferry/memory.h"
#include "record.h"

#define DEFAULT_KEEP_BYTES ((size_t)1 << 30)

static struct sigaction before; /* what the program had for SIGSEGV */
static pid_t parent;

/* "lost", "snapshot" or "snapshot:SIZE". */
void fork_configure(void) {
    static const char snapshot[] = "snapshot";
    const char *mode = getenv("FERRY_FORK");
    if (mode == NULL || strncmp(mode, snapshot, sizeof snapshot - 1) != 0) {
        return;
    }
    const char *rest = mode + sizeof snapshot - 1;
    size_t bytes = DEFAULT_KEEP_BYTES;
    if (rest[0] == '\0' || (rest[0] == ':' && ferry_size_parse(rest + 1, &bytes) == FERRY_OK)) {
        ferry_fork_keep(bytes);
    }
}

/* By what a signal's handler may call. */
static void say_what_was_lost(const void *address) {
    char line[256];
    ferry_fork_account account;
    ferry_fork_account_get(&account);
    const int length =
        snprintf(line, sizeof line,
                 "ferry: process %ld touched managed memory of its parent %ld at %p: a fork does not inherit it "
                 "(%llu bytes in all); run with --fork=snapshot\n",
                 (long)getpid(), (long)parent, address, (unsigned long long)account.lost_bytes);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) {
        return;
    }
}

/* Says what happened, once, and leaves the rest to what the program had: the access is made again. */
static void on_fault(int number, siginfo_t *info, void *context) {
    const int saved = errno;
    if (ferry_owns(info->si_addr)) {
        say_what_was_lost(info->si_addr);
        sigaction(number, &before, NULL);
    } else if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        sigaction(number, &before, NULL);
    }
    errno = saved;
}

static void watch(void) {
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, NULL, &before);
    ours.sa_mask = before.sa_mask;
    sigaction(SIGSEGV, &ours, NULL);
}

static void before_fork(void) {
    parent = getpid();
}

static void after_fork_in_child(void) {
    ferry_fork_account account;
    ferry_fork_account_get(&account);
    device_after_fork();
    record_after_fork(&account);
    if (account.lost_bytes > 0) {
        watch();
    }
}

void fork_handle(void) {
    (void)pthread_atfork(before_fork, NULL, after_fork_in_child);
}
