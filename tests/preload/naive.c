/*
 * What a preloaded malloc would be that somebody writes in an afternoon, over the shared library: large blocks from
 * ferry_malloc, the others from the C library. As it stands it passes the tests that tests/preload/CMakeLists.txt names
 * for it; built without one of its cares, LACKS_…, it must fail the one that is about that care.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ferry/memory.h"

#define EXPORT __attribute__((visibility("default")))
#define LARGE_BYTES ((size_t)1 << 20)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

static __thread bool inside;
static bool begun, forked;
static volatile bool ended; /* a compiler takes what is stored before the process ends for lost */

#if defined LACKS_FORK || defined LACKS_HANDLER
/* A lock around everything, of which forks and signals' handlers know nothing. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void enter(void) {
    pthread_mutex_lock(&lock);
    inside = true;
}
static void leave(void) {
    inside = false;
    pthread_mutex_unlock(&lock);
}
#else
static void enter(void) {
    inside = true;
}
static void leave(void) {
    inside = false;
}
#endif

static bool is_refused(const void *caller) {
#ifdef LACKS_CALLERS
    (void)caller;
    return false;
#else
    Dl_info info;
    const char *name = dladdr(caller, &info) != 0 && info.dli_fname != NULL ? strrchr(info.dli_fname, '/') : NULL;
    return name != NULL && (strncmp(name, "/libcuda", 8) == 0 || strncmp(name, "/libc.so", 8) == 0 ||
                            strncmp(name, "/ld-linux", 9) == 0 || strncmp(name, "/libferry", 9) == 0);
#endif
}

static void *managed(size_t alignment, size_t bytes, bool zeros) {
    const int saved = errno;
    enter();
#ifdef LACKS_ZEROS
    zeros = false;
#endif
    void *block = zeros ? ferry_calloc(1, bytes) : ferry_aligned_alloc(alignment, bytes);
    leave();
    errno = saved;
    return block;
}

static bool is_wanted(size_t alignment, size_t bytes, const void *caller) {
    return begun && !ended && !forked && !inside && bytes >= LARGE_BYTES && bytes <= PTRDIFF_MAX &&
           alignment <= LARGE_BYTES * 2 && !is_refused(caller);
}

static void *allocate(size_t alignment, size_t bytes, bool zeros, const void *caller) {
    void *block = is_wanted(alignment, bytes, caller) ? managed(alignment, bytes, zeros) : NULL;
#ifdef LACKS_FALLBACK
    if (is_wanted(alignment, bytes, caller)) {
        return block;
    }
#endif
    if (block != NULL) {
        return block;
    }
    return zeros ? __libc_calloc(1, bytes) : alignment > 16 ? __libc_memalign(alignment, bytes) : __libc_malloc(bytes);
}

static bool is_managed(const void *block) {
#if defined LACKS_END
    return !ended && ferry_owns(block);
#elif defined LACKS_PARENTS
    /* A child has no managed memory. */
    return !forked && ferry_owns(block);
#else
    return ferry_owns(block);
#endif
}

EXPORT void *malloc(size_t bytes) {
#ifdef LACKS_GUARD
    if (!begun) {
        (void)ferry_init(NULL);
        begun = true;
    }
#endif
    return allocate(16, bytes, false, __builtin_return_address(0));
}

EXPORT void *calloc(size_t count, size_t bytes) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate(16, total, true, __builtin_return_address(0));
}

EXPORT void free(void *block) {
    if (!is_managed(block)) {
        __libc_free(block);
        return;
    }
    enter();
    ferry_free(block);
    leave();
}

EXPORT size_t malloc_usable_size(void *block) {
    static size_t (*next)(void *);
    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    }
    return is_managed(block) ? ferry_usable_size(block) : next(block);
}

static void *reallocate(void *block, size_t bytes, const void *caller) {
    if (block == NULL) {
        return allocate(16, bytes, false, caller);
    }
    if (bytes > 0 && (is_managed(block) || is_wanted(16, bytes, caller))) {
#ifdef LACKS_MOVE
        return is_managed(block) ? ferry_realloc(block, bytes) : managed(16, bytes, false);
#else
        const size_t old_bytes = malloc_usable_size(block);
        void *moved = allocate(16, bytes, false, caller);
        if (moved != NULL) {
            memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
            free(block);
        }
        return moved;
#endif
    }
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    return __libc_realloc(block, bytes);
}

EXPORT void *realloc(void *block, size_t bytes) {
    return reallocate(block, bytes, __builtin_return_address(0));
}

static struct sigaction before;
static pid_t parent;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    if (ferry_owns(info->si_addr)) {
        char line[200];
        const int length = snprintf(line, sizeof line, "ferry: process %ld touched %ld's; run with --fork=snapshot\n",
                                    (long)getpid(), (long)parent);
        (void)!write(STDERR_FILENO, line, (size_t)length);
    }
    sigaction(number, &before, NULL);
    if (info->si_code <= 0) {
        raise(number);
    }
}

static void note_parent(void) {
    parent = forked ? parent : getpid();
}

static void after_fork(void) {
    const struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    if (!forked) {
        sigaction(SIGSEGV, &ours, &before);
    }
    forked = true;
}

EXPORT void _exit(int status) {
#if defined LACKS_VFORK
    /* What must not be done in a parent's memory. */
    ended = true;
#elif defined LACKS_HANDLER
    enter();
    ended = true;
#endif
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

#ifdef LACKS_EXEC
/* Nothing of this program is left behind an exec that succeeds, in the process that it belongs to. */
EXPORT int execv(const char *path, char *const *arguments) {
    ended = true;
    return execve(path, arguments, environ);
}
#endif

#ifdef LACKS_SIGNALS
static void leave_with(int number) {
    _exit(128 + number);
}
#endif

#ifdef LACKS_THREADS
/* There is always something to do behind a program's back. */
static void *work(void *unused) {
    pause();
    return unused;
}
#endif

/* What a shim does to its process, lacking consideration. */
static void behave(void) {
#if defined LACKS_HERITAGE
    /* It is this program that the variable was set for. */
    (void)unsetenv("LD_PRELOAD");
#elif defined LACKS_SIGNALS
    (void)signal(SIGTERM, leave_with);
    (void)signal(SIGABRT, leave_with);
#elif defined LACKS_THREADS
    pthread_t thread;
    (void)pthread_create(&thread, NULL, work, NULL);
#endif
}

__attribute__((constructor)) static void begin(void) {
    const char *mode = getenv("FERRY_FORK");
    enter();
    (void)ferry_init(NULL);
#ifndef LACKS_SNAPSHOT
    if (mode != NULL && strcmp(mode, "snapshot") == 0) {
        ferry_fork_keep((size_t)1 << 30);
    }
#endif
#ifndef LACKS_LINE
    if (mode == NULL) {
        (void)pthread_atfork(note_parent, NULL, after_fork);
    }
#else
    (void)note_parent, (void)after_fork, (void)mode;
#endif
    behave();
    leave();
    begun = true;
}

__attribute__((destructor)) static void end(void) {
#ifdef LACKS_SILENCE
    (void)puts("some blocks were managed");
#endif
    ended = true;
}
