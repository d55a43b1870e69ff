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
#include "ordinary.h"
#include "record.h"
#include "shim.h"

#define DEFAULT_KEEP_BYTES ((size_t)1 << 30)

static struct sigaction before; /* what the program had for SIGSEGV */
static size_t keep_bytes;       /* 0: no snapshots */
static pid_t forking;           /* the process that forks */
static pid_t lost_by;           /* the one whose memory is lost; 0: none is */

static __thread bool entered; /* the library, for the time of a fork */
/* Blocks that the thread has freed meanwhile. */
static __thread struct postponed {
    struct postponed *next;
    void *block;
} * postponed;

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
        keep_bytes = bytes;
        ferry_fork_keep(bytes);
    }
}

/* What would have helped, as `ferry run` is told it. */
static void advise(char *text, size_t room, unsigned long long lost_bytes) {
    if (lost_bytes > (keep_bytes == 0 ? DEFAULT_KEEP_BYTES : keep_bytes)) {
        snprintf(text, room, "run with --fork=snapshot:%lluM", (lost_bytes >> 20) + 1);
    } else {
        snprintf(text, room, keep_bytes == 0 ? "run with --fork=snapshot" : "there was no memory for a snapshot");
    }
}

/* By what a signal's handler may call. */
static void say_what_was_lost(const void *address) {
    char line[256], advice[64];
    ferry_fork_account account;
    ferry_fork_account_get(&account);
    advise(advice, sizeof advice, account.lost_bytes);
    const int length = snprintf(line, sizeof line,
                                "ferry: process %ld touched managed memory of process %ld at %p: a forked child does "
                                "not inherit it (%llu bytes in all); %s\n",
                                (long)getpid(), (long)lost_by, address, (unsigned long long)account.lost_bytes, advice);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) {
        return;
    }
}

/* Leaves the signal to what the program had: a faulting access is made again, and what was sent is sent once more. */
static void give_back(int number, bool sent) {
    sigaction(number, &before, NULL);
    if (sent) {
        (void)raise(number);
    }
}

static bool is_ignored(void) {
    return (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN;
}

/* A handler that is called here and not by the system, so that later faults are noticed. */
static bool can_call_before(void) {
    return (before.sa_flags & (int)SA_RESETHAND) == 0 &&
           ((before.sa_flags & SA_SIGINFO) != 0 || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN));
}

/* Says what happened, once, and leaves the rest to what the program had. */
static void on_fault(int number, siginfo_t *info, void *context) {
    const int saved = errno;
    const bool sent = info->si_code <= 0; /* by a process, and no fault */
    if (!sent && ferry_owns(info->si_addr)) {
        say_what_was_lost(info->si_addr);
        give_back(number, sent);
    } else if (!can_call_before()) {
        if (!sent || !is_ignored()) {
            give_back(number, sent);
        }
    } else if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else {
        before.sa_handler(number);
    }
    errno = saved;
}

/* A child's child has its parent's. */
static void watch(void) {
    struct sigaction ours = {.sa_sigaction = on_fault}, now;
    sigaction(SIGSEGV, NULL, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) {
        return;
    }
    before = now;
    ours.sa_mask = now.sa_mask;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_NODEFER | SA_RESTART));
    sigaction(SIGSEGV, &ours, NULL);
}

/*
 * Handlers that the program registered before the device was started run while the managed heap is locked, and those of
 * the child before it knows that it is one: what they allocate is ordinary memory, and managed blocks that they free
 * are freed afterwards.
 */
static void before_fork(void) {
    forking = getpid();
    entered = shim_enter();
}

bool fork_postpone_free(void *block) {
    struct postponed *one = entered ? ferry_plain_malloc(sizeof *one) : NULL;
    if (one == NULL) {
        return false;
    }
    *one = (struct postponed){postponed, block};
    postponed = one;
    return true;
}

static void free_postponed(void) {
    while (postponed != NULL) {
        struct postponed *one = postponed;
        postponed = one->next;
        ferry_free(one->block);
        ferry_plain_free(one);
    }
}

static void after_fork(void) {
    free_postponed();
    if (entered) {
        entered = false;
        shim_leave();
    }
}

static void after_fork_in_child(void) {
    ferry_fork_account account;
    ferry_fork_account_get(&account);
    device_after_fork();
    record_after_fork(&account);
    if (account.lost_bytes > 0) {
        /* A grandchild's are lost by the process that had them. */
        lost_by = lost_by == 0 ? forking : lost_by;
        watch();
    }
    after_fork();
}

void fork_handle(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
