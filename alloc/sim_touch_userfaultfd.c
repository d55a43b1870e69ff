/*
 * Notices the host's touches by emptying its page table entries and serving the minor faults that follow. Pages that
 * the memory file has no contents for fault past us, so whatever is guarded is given some. System calls that touch
 * guarded pages are served too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim_machine.h"

static int queue = -1;

static uint64_t address_of(const struct sim_span *span) {
    return (uint64_t)(uintptr_t)sim_span_primary(span);
}

/* Maps what of the span is not mapped yet. A fault's page is in it, so the wake at the end is for whoever waits on one
 * that was. */
static void map_span(struct sim_span span) {
    uint64_t at = address_of(&span), end = at + sim_span_bytes(&span);
    struct uffdio_range all = {at, end - at};
    while (at < end) {
        struct uffdio_continue request = {.range = {at, end - at}};
        if (ioctl(queue, UFFDIO_CONTINUE, &request) == 0)
            break;
        if (request.mapped > 0)
            at += (uint64_t)request.mapped;
        else if (errno == EEXIST)
            at += FERRY_PAGE_BYTES;
        else if (errno != EAGAIN)
            break;
    }
    ioctl(queue, UFFDIO_WAKE, &all);
}

/* From the page on, as far as the block goes and nothing is guarded. */
static struct sim_span open_pages(struct sim_region *region, size_t page) {
    size_t end = (page / SIM_BLOCK_PAGES + 1) * SIM_BLOCK_PAGES, next = page + 1;
    while (next < end && !region->pages[next].guarded)
        next++;
    return (struct sim_span){region, page, next - page};
}

static void serve(uint64_t address) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_region *region = sim_region_find((const void *)(uintptr_t)address);
    if (region) {
        size_t page = (size_t)(address - atomic_load(&region->base)) / FERRY_PAGE_BYTES;
        sim_host_touch(region, page);
        map_span(open_pages(region, page));
    }
    sim_unlock(&saved);
}

static void *serve_faults(void *unused) {
    struct uffd_msg message;
    ssize_t got;
    while ((got = read(queue, &message, sizeof message)) > 0 || errno == EINTR || errno == EAGAIN)
        if (got == (ssize_t)sizeof message && message.event == UFFD_EVENT_PAGEFAULT)
            serve(message.arg.pagefault.address & ~(uint64_t)(FERRY_PAGE_BYTES - 1));
    return unused;
}

/* The thread lives as long as the process and takes nobody's signals. */
static int start_thread(void) {
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, saved;
    sigfillset(&all);
    int error = pthread_attr_init(&detached);
    if (error)
        return error;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    error = pthread_create(&thread, &detached, serve_faults, NULL);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    pthread_attr_destroy(&detached);
    return error;
}

static ferry_status start(void) {
    queue = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (queue < 0)
        return ferry_error(FERRY_UNSUPPORTED, "userfaultfd is not permitted: %s", strerror(errno));
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_MINOR_SHMEM};
    int error = ioctl(queue, UFFDIO_API, &api) == 0 ? start_thread() : errno;
    if (!error)
        return FERRY_OK;
    close(queue);
    queue = -1;
    return ferry_error(FERRY_UNSUPPORTED, "userfaultfd does not serve shared memory: %s", strerror(error));
}

static ferry_status adopt(const struct sim_region *region) {
    struct uffdio_register request = {.range = {atomic_load(&region->base), atomic_load(&region->bytes)},
                                      .mode = UFFDIO_REGISTER_MODE_MINOR};
    if (ioctl(queue, UFFDIO_REGISTER, &request) != 0)
        return ferry_error(FERRY_BACKEND, "userfaultfd does not take a region: %s", strerror(errno));
    return FERRY_OK;
}

static bool take(const struct sim_span *span) {
    off_t offset = (off_t)(span->first * FERRY_PAGE_BYTES), bytes = (off_t)sim_span_bytes(span);
    while (fallocate(span->region->file, 0, offset, bytes) != 0)
        if (errno != EINTR)
            return false;
    return madvise(sim_span_primary(span), (size_t)bytes, MADV_DONTNEED) == 0;
}

/* The next touch faults, finds the page unguarded, and maps it. */
static bool give(const struct sim_span *span) {
    (void)span;
    return true;
}

const struct sim_tracker sim_tracker_userfaultfd = {"userfaultfd", start, adopt, take, give};
