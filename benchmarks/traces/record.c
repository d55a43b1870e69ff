/*
 * A library to preload that writes down what a program allocates: for make.py. Every event is three words in the file
 * that FERRY_TRACE_FILE names: what happened, the address, the bytes asked for. glibc's own functions serve.
 *
 * Threads are written in the order in which they came to the lock. A reallocation is one event of each kind, so that
 * the two blocks are alive together, as where it has to be moved. A forked child writes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define EVENTS 4096 /* that wait to be written */

/* glibc's functions by their other names. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

enum { ALLOCATED, FREED };
struct event {
    uint64_t what, address, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event events[EVENTS]; /* under the lock, as are the next two */
static size_t waiting;
static int file = -1;

static void write_out(void) {
    const char *at = (const char *)events;
    size_t left = waiting * sizeof *events;
    while (left) {
        ssize_t written = write(file, at, left);
        if (written <= 0)
            break;
        at += written;
        left -= (size_t)written;
    }
    waiting = 0;
}

static void note(uint64_t what, const void *block, size_t bytes) {
    int error = errno;
    if (!block)
        return;
    pthread_mutex_lock(&lock);
    if (file >= 0) {
        events[waiting++] = (struct event){what, (uintptr_t)block, bytes};
        if (waiting == EVENTS)
            write_out();
    }
    pthread_mutex_unlock(&lock);
    errno = error;
}

static void *noted(void *block, size_t bytes) {
    note(ALLOCATED, block, bytes);
    return block;
}

static void stop_in_child(void) {
    pthread_mutex_init(&lock, NULL);
    file = -1;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FERRY_TRACE_FILE");
    pthread_atfork(NULL, NULL, stop_in_child);
    if (path)
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&lock);
    if (file >= 0)
        write_out();
    pthread_mutex_unlock(&lock);
}

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *malloc(size_t bytes) {
    return noted(__libc_malloc(bytes), bytes);
}

VISIBLE void *calloc(size_t count, size_t bytes) {
    return noted(__libc_calloc(count, bytes), count * bytes);
}

VISIBLE void *memalign(size_t alignment, size_t bytes) {
    return noted(__libc_memalign(alignment, bytes), bytes);
}

VISIBLE void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

VISIBLE int posix_memalign(void **out, size_t alignment, size_t bytes) {
    void *block = memalign(alignment, bytes);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

/* Before glibc frees: another thread may be given the address at once. */
VISIBLE void free(void *block) {
    note(FREED, block, 0);
    __libc_free(block);
}

VISIBLE void *realloc(void *block, size_t bytes) {
    if (!block)
        return malloc(bytes);
    if (!bytes) {
        free(block);
        return NULL;
    }
    void *moved = __libc_malloc(bytes);
    if (!moved)
        return NULL;
    size_t had = malloc_usable_size(block);
    __builtin_memcpy(moved, block, had < bytes ? had : bytes);
    note(ALLOCATED, moved, bytes);
    free(block);
    return moved;
}
