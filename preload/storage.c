#include "storage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Room is asked for in pieces of this size. */
#define PIECE_BYTES ((size_t)8 << 10)

static char folder[PATH_MAX], path[PATH_MAX + 64];
static _Atomic size_t reserved_bytes;

_Static_assert(offsetof(ferry_run_record, samples) <= PIECE_BYTES, "a process without large blocks needs one piece");

/* The program may change its working folder before a child makes a record of its own. */
bool storage_configure(const char *wanted) {
    size_t used = 0;
    if (wanted[0] != '/') {
        if (getcwd(folder, sizeof folder - 1) == NULL) {
            return false;
        }
        used = strlen(folder);
        folder[used++] = '/';
    }
    const size_t length = strlen(wanted);
    if (length >= sizeof folder - used) {
        return false;
    }
    memcpy(folder + used, wanted, length + 1);
    return true;
}

static bool reserve(int file, size_t first, size_t end) {
    int error;
    do {
        error = posix_fallocate(file, (off_t)first, (off_t)(end - first));
    } while (error == EINTR);
    return error == 0;
}

/* What is written has room, and is in memory when the record is mapped: a first touch of it would cost more than all
 * the rest. Only of a new file, which nobody writes to yet. */
static bool write_first_piece(int file) {
    static const char zeros[PIECE_BYTES];
    return pwrite(file, zeros, sizeof zeros, 0) == sizeof zeros;
}

/* Growing a file past the process's limit would end it by a signal. */
static bool is_permitted(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(ferry_run_record);
}

static void *map(void *where, int file) {
    const int flags = (where == NULL ? 0 : MAP_FIXED) | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void *mapped = mmap(where, sizeof(ferry_run_record), PROT_READ | PROT_WRITE, flags, file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void *map_new(void *where) {
    const int file = is_permitted() ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (file < 0) {
        return NULL;
    }
    void *mapped = NULL;
    if (ftruncate(file, sizeof(ferry_run_record)) == 0 && write_first_piece(file)) {
        mapped = map(where, file);
    }
    if (mapped == NULL) {
        unlink(path);
    }
    close(file);
    return mapped;
}

ferry_run_record *storage_make(ferry_run_record *where, uint64_t began_ns) {
    snprintf(path, sizeof path, "%s/%" PRIu64 "-%ld" FERRY_RUN_SUFFIX, folder, began_ns, (long)getpid());
    atomic_store(&reserved_bytes, PIECE_BYTES);
    void *mapped = map_new(where);
    if (mapped == NULL && where != NULL) {
        (void)map(where, -1);
    }
    return mapped;
}

bool storage_reserve(size_t end_bytes) {
    size_t reserved = atomic_load_explicit(&reserved_bytes, memory_order_relaxed);
    if (end_bytes <= reserved) {
        return true;
    }
    const size_t whole = (end_bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
    const size_t end = whole < sizeof(ferry_run_record) ? whole : sizeof(ferry_run_record);
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return false;
    }
    const bool done = reserve(file, reserved, end);
    while (done && reserved < end && !atomic_compare_exchange_weak(&reserved_bytes, &reserved, end)) {
    }
    close(file);
    return done;
}
