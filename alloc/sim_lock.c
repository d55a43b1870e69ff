#include <pthread.h>
#include <sched.h>

#include "sim_machine.h"

static atomic_flag held = ATOMIC_FLAG_INIT;

void sim_lock(sigset_t *saved) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, saved);
    for (int turns = 0; atomic_flag_test_and_set_explicit(&held, memory_order_acquire); turns++)
        if (turns > 64)
            sched_yield();
}

void sim_unlock(const sigset_t *saved) {
    atomic_flag_clear_explicit(&held, memory_order_release);
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}
