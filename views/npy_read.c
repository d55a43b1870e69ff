/*
 * The data of a .npy file. Several threads read a large one: the first touch of fresh managed memory costs more than
 * the copy out of the page cache, and it scales with threads (2 GB/s with one, 7 with four on the machine that was
 * measured).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"

#define PIECE_BYTES ((size_t)16 << 20)
#define SWAPPED_PIECE_BYTES ((size_t)256 << 10) /* still in a core's cache when its bytes are reversed */
#define MOST_THREADS 4

#define ENDED (-1) /* a failure that has no errno: the file ends early */

/* Shared by the threads. */
typedef struct pieces {
    const npy_source *source;
    char *data;
    size_t total_bytes, piece_bytes;
    atomic_size_t next_bytes; /* where the first piece begins that nobody has taken */
    atomic_size_t done_bytes;
    atomic_int failure; /* 0, an errno or ENDED: the first thread that fails sets it, and all stop */
} pieces;

void npy_touch(const void *data, size_t bytes) {
    enum { PAGE_BYTES = 4096 };
    const volatile char *byte = data;
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        (void)byte[at];
    if (bytes > 0)
        (void)byte[bytes - 1];
}

int64_t npy_read_fully(int fd, void *data, size_t bytes, int64_t offset) {
    size_t done = 0;
    bool touched = false;
    while (done < bytes) {
        char *to = (char *)data + done;
        ssize_t got = offset < 0 ? read(fd, to, bytes - done) : pread(fd, to, bytes - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EFAULT && !touched) {
            npy_touch(to, bytes - done);
            touched = true;
            continue;
        }
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

ferry_status npy_read_failed(const char *path, int reason) {
    return ferry_error(FERRY_IO, "%s: cannot be read: %s", path, strerror(reason));
}

static void note_failure(pieces *p, int reason) {
    int none = 0;
    atomic_compare_exchange_strong(&p->failure, &none, reason);
}

static void read_piece(pieces *p, size_t at, size_t bytes) {
    const npy_source *s = p->source;
    int64_t got = npy_read_fully(s->fd, p->data + at, bytes, s->stream ? -1 : s->info.data_offset + (int64_t)at);
    if (got < 0)
        note_failure(p, errno);
    else if ((size_t)got < bytes)
        note_failure(p, ENDED);
    else if (s->info.swapped)
        npy_swap(p->data + at, npy_number_bytes(s->info.dtype), bytes / npy_number_bytes(s->info.dtype));
    atomic_fetch_add(&p->done_bytes, got < 0 ? 0 : (size_t)got);
}

/* False when all pieces are taken or one has failed. */
static bool take_piece(pieces *p) {
    if (atomic_load(&p->failure) != 0)
        return false;
    size_t at = atomic_fetch_add(&p->next_bytes, p->piece_bytes);
    if (at >= p->total_bytes)
        return false;
    size_t left = p->total_bytes - at;
    read_piece(p, at, left < p->piece_bytes ? left : p->piece_bytes);
    return atomic_load(&p->failure) == 0;
}

static void *help_read(void *context) {
    while (take_piece(context))
        ;
    return NULL;
}

static int helper_count(const pieces *p) {
    cpu_set_t cpus;
    size_t threads = p->total_bytes / PIECE_BYTES; /* less is over before a thread has started */
    if (p->source->stream || sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 0;
    if (threads > (size_t)CPU_COUNT(&cpus))
        threads = (size_t)CPU_COUNT(&cpus);
    return (int)(threads > MOST_THREADS ? MOST_THREADS : threads ? threads : 1) - 1;
}

/* The program's signal handlers run on the program's threads; faults must find theirs on any. */
static void block_signals(sigset_t *old) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, old);
}

/* As many as can be had: each is a help, none is needed. */
static int start_helpers(pieces *p, pthread_t *threads) {
    int wanted = helper_count(p), started = 0;
    sigset_t old;
    if (wanted == 0)
        return 0;
    block_signals(&old);
    while (started < wanted && pthread_create(&threads[started], NULL, help_read, p) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

/* This thread's share, and the reports for all. */
static void read_and_report(pieces *p) {
    const npy_source *s = p->source;
    while (take_piece(p))
        if (s->progress && atomic_load(&p->done_bytes) < p->total_bytes)
            s->progress(s->context, (int64_t)atomic_load(&p->done_bytes), (int64_t)p->total_bytes);
}

static ferry_status outcome(const pieces *p) {
    const npy_source *s = p->source;
    int failure = atomic_load(&p->failure);
    if (failure > 0)
        return npy_read_failed(s->path, failure);
    if (failure == ENDED && !s->stream)
        return ferry_error(FERRY_FORMAT, "%s: the data is truncated: the file shrank while it was read", s->path);
    if (failure == ENDED)
        return ferry_error(FERRY_FORMAT, "%s: the data is truncated: %zu bytes promised, %zu there", s->path,
                           p->total_bytes, atomic_load(&p->done_bytes));
    if (s->progress && p->total_bytes > 0)
        s->progress(s->context, (int64_t)p->total_bytes, (int64_t)p->total_bytes);
    return FERRY_OK;
}

ferry_status npy_data_read(const npy_source *source, char *data) {
    pieces p = {.source = source, .data = data, .total_bytes = (size_t)source->info.data_bytes};
    pthread_t helpers[MOST_THREADS];
    p.piece_bytes = source->info.swapped ? SWAPPED_PIECE_BYTES : PIECE_BYTES;
    int started = start_helpers(&p, helpers);
    read_and_report(&p);
    for (int i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
    return outcome(&p);
}
