/* The process's end, as far as it can be seen; a process that is killed, or that execs, leaves its record as it was. */
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "ordinary.h"
#include "record.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

/* A vfork's child is in its parent's memory: the record is not its own. A signal's handler that ends the process while
 * its thread is inside the library waits for none of the library's locks. */
static void end(ferry_run_end how) {
    if (record == NULL || record->pid != getpid() || !shim_enter()) {
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
    end(FERRY_RUN_EXITED);
}

static _Noreturn void leave(int status) {
    end(FERRY_RUN_LEFT);
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

EXPORT _Noreturn void _exit(int status) {
    leave(status);
}

EXPORT _Noreturn void _Exit(int status) {
    leave(status);
}
