/* Notices the host's touches by taking its access away and catching SIGSEGV. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim_machine.h"

static struct sigaction previous;
static pid_t owner; /* regions are not inherited: in a forked child a touch is a stray one */

/* As if the previous handler had been called by the kernel: with its own mask, and gone afterwards if it asked for
 * that. */
static void call_previous(int number, siginfo_t *info, void *context) {
    struct sigaction called = previous;
    sigset_t mask;
    sigorset(&mask, &((ucontext_t *)context)->uc_sigmask, &called.sa_mask);
    if (!(called.sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    if (called.sa_flags & (int)SA_RESETHAND)
        previous = (struct sigaction){.sa_handler = SIG_DFL};
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (called.sa_flags & SA_SIGINFO)
        called.sa_sigaction(number, info, context);
    else
        called.sa_handler(number);
}

static bool has_handler(void) {
    return (previous.sa_flags & SA_SIGINFO) || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
}

static void pass_on(int number, siginfo_t *info, void *context) {
    if (has_handler()) {
        call_previous(number, info, context);
        return;
    }
    bool sent = info->si_code <= 0;
    if (sent && previous.sa_handler == SIG_IGN)
        return;
    /* The access is repeated after the return and kills the process; a signal that somebody sent has to be sent again.
     */
    signal(number, SIG_DFL);
    if (sent)
        raise(number);
}

static bool serve(const void *address) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_region *region = sim_region_find(address);
    if (region)
        sim_host_touch(region, (uintptr_t)address);
    sim_unlock(&saved);
    return region != NULL;
}

static void handle(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool ours = info->si_code == SEGV_ACCERR && sim_region_find(info->si_addr) && getpid() == owner;
    if (!ours || !serve(info->si_addr))
        pass_on(number, info, context);
    errno = error;
}

static ferry_status start(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask);
    owner = getpid();
    sim.tells_stores = true;
    if (sigaction(SIGSEGV, &action, &previous) != 0)
        return ferry_error(FERRY_BACKEND, "no handler for SIGSEGV: %s", strerror(errno));
    return FERRY_OK;
}

static ferry_status adopt(const struct sim_region *region) {
    (void)region;
    return FERRY_OK;
}

static bool take(const struct sim_span *span) {
    return mprotect(sim_span_primary(span), sim_span_bytes(span), PROT_NONE) == 0;
}

static bool take_stores(const struct sim_span *span) {
    return mprotect(sim_span_primary(span), sim_span_bytes(span), PROT_READ) == 0;
}

static bool give(const struct sim_span *span) {
    return mprotect(sim_span_primary(span), sim_span_bytes(span), PROT_READ | PROT_WRITE) == 0;
}

const struct sim_tracker sim_tracker_mprotect = {"mprotect", start, adopt, take, take_stores, give};

static ferry_status start_nothing(void) {
    return FERRY_OK;
}

static bool nothing(const struct sim_span *span) {
    (void)span;
    return true;
}

const struct sim_tracker sim_tracker_off = {"off", start_nothing, adopt, nothing, nothing, nothing};
