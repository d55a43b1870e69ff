/*
 * Notices the host's touches by emptying its page table entries and serving the minor faults that follow. Pages that
 * the memory file has no contents for fault past us, so whatever is guarded is given some. Stores alone are noticed by
 * protecting entries from them, which shared memory allows since Linux 6.4. System calls that touch guarded pages are
 * served too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "sim_machine.h"

/* Of Linux 6.4; older headers lack them. */
#define FEATURE_WP_UNPOPULATED ((uint64_t)1 << 13)
#define CONTINUE_MODE_WP ((uint64_t)1 << 1)

static int queue = -1;
static int process_state = -1; /* /proc/self/stat, kept open: a program counts on which descriptors are free */

static uint64_t address_of(const struct sim_span *span) {
    return (uint64_t)(uintptr_t)sim_span_primary(span);
}

/* Maps what of the span is not mapped yet. A fault's page is in it, so the wake at the end is for whoever waits on one
 * that was. */
static void map_span(struct sim_span span, uint64_t mode) {
    uint64_t at = address_of(&span), end = at + sim_span_bytes(&span);
    struct uffdio_range all = {at, end - at};
    while (at < end) {
        struct uffdio_continue request = {.range = {at, end - at}, .mode = mode};
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

static bool protect(const struct sim_span *span, uint64_t mode) {
    struct uffdio_writeprotect request = {.range = {address_of(span), sim_span_bytes(span)}, .mode = mode};
    while (ioctl(queue, UFFDIO_WRITEPROTECT, &request) != 0)
        if (errno != EAGAIN)
            return false;
    return true;
}

/* From the page on, as far as the block goes and pages are guarded alike. */
static struct sim_span equal_pages(struct sim_region *region, size_t page) {
    size_t end = (page / SIM_BLOCK_PAGES + 1) * SIM_BLOCK_PAGES, next = page + 1;
    while (next < end && region->pages[next].guard == region->pages[page].guard)
        next++;
    return (struct sim_span){region, page, next - page, false};
}

/* Of a page whose entry is missing, which is no news where only stores are noticed. */
static void serve_missing(struct sim_region *region, uintptr_t address) {
    size_t page = sim_region_page(region, address);
    if (region->pages[page].guard == SIM_TOUCHES)
        sim_host_touch(region, address);
    map_span(equal_pages(region, page), region->pages[page].guard == SIM_STORES ? CONTINUE_MODE_WP : 0);
}

/* Of a page that is protected. Opening it lets the store pass; if somebody else has taken the page meanwhile, it faults
 * again. */
static void serve_store(struct sim_region *region, uintptr_t address) {
    struct sim_span page = {region, sim_region_page(region, address), 1, false};
    struct uffdio_range range = {address_of(&page), FERRY_PAGE_BYTES};
    sim_host_touch(region, address);
    if (region->pages[page.first].guard == SIM_NOTHING)
        protect(&page, 0);
    ioctl(queue, UFFDIO_WAKE, &range);
}

static void serve(const struct uffd_msg *message) {
    uintptr_t address = (uintptr_t)message->arg.pagefault.address;
    sigset_t saved;
    sim_lock(&saved);
    struct sim_region *region = sim_region_find((const void *)address);
    if (region && message->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP)
        serve_store(region, address);
    else if (region)
        serve_missing(region, address);
    sim_unlock(&saved);
}

/* Whether the first thread has ended, and this one is the only other. */
static bool is_alone(void) {
    char text[1024], state = 0;
    long threads = 0;
    ssize_t length = pread(process_state, text, sizeof text - 1, 0);
    text[length < 0 ? 0 : length] = '\0';
    const char *after_name = strrchr(text, ')');
    return after_name &&
           sscanf(after_name, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
                  &threads) == 2 &&
           state == 'Z' && threads == 2;
}

static void *end_process(void *unused) {
    (void)unused;
    exit(0);
}

/* A process ends with status 0 when the last of its threads does, which would be the one that serves. That goes on:
 * what runs at the end may touch guarded pages. */
static bool end_if_alone(void) {
    pthread_t thread;
    return is_alone() && pthread_create(&thread, NULL, end_process, NULL) == 0;
}

/* Until there is something to read. */
static void await_faults(void) {
    enum { LOOK_EVERY_MS = 300 };
    static bool ending;
    struct pollfd faults = {.fd = queue, .events = POLLIN};
    if (poll(&faults, 1, ending ? -1 : LOOK_EVERY_MS) == 0)
        ending = end_if_alone();
}

static void *serve_faults(void *unused) {
    struct uffd_msg message;
    ssize_t got;
    while ((got = read(queue, &message, sizeof message)) > 0 || errno == EINTR || errno == EAGAIN)
        if (got == (ssize_t)sizeof message && message.event == UFFD_EVENT_PAGEFAULT)
            serve(&message);
        else if (got < 0 && errno == EAGAIN)
            await_faults();
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

static bool ask_for(uint64_t features) {
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    return ioctl(queue, UFFDIO_API, &api) == 0;
}

/* Exact addresses make better reports. */
static bool agree_on_features(void) {
    const uint64_t least = UFFD_FEATURE_MINOR_SHMEM;
    sim.tells_stores =
        ask_for(least | UFFD_FEATURE_EXACT_ADDRESS | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | FEATURE_WP_UNPOPULATED);
    return sim.tells_stores || ask_for(least);
}

static ferry_status start(void) {
    queue = descriptor_out_of_the_way((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    if (queue < 0)
        return ferry_error(FERRY_UNSUPPORTED, "userfaultfd is not permitted: %s", strerror(errno));
    process_state = descriptor_out_of_the_way(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    int error = agree_on_features() ? start_thread() : errno;
    if (!error)
        return FERRY_OK;
    close(process_state);
    close(queue);
    process_state = queue = -1;
    return ferry_error(FERRY_UNSUPPORTED, "userfaultfd does not serve shared memory: %s", strerror(error));
}

static ferry_status adopt(const struct sim_region *region) {
    struct uffdio_register request = {.range = {atomic_load(&region->base), atomic_load(&region->bytes)},
                                      .mode = UFFDIO_REGISTER_MODE_MINOR};
    if (sim.tells_stores)
        request.mode |= UFFDIO_REGISTER_MODE_WP;
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

static bool take_stores(const struct sim_span *span) {
    return protect(span, UFFDIO_WRITEPROTECT_MODE_WP);
}

/* Where the entry is missing, the next touch faults, finds the page unguarded, and maps it. */
static bool give(const struct sim_span *span) {
    if (sim.tells_stores)
        protect(span, 0);
    return true;
}

const struct sim_tracker sim_tracker_userfaultfd = {"userfaultfd", start, adopt, take, take_stores, give};
