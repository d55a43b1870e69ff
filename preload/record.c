#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"
#include "registry.h"
#include "sites.h"
#include "storage.h"
#include "timeline.h"

ferry_run_record *record;

/* Whose the record is. It lies in a page that the system empties in a child, in whichever way that is forked. */
enum owner { PARENTS, OWN, BEGINNING };
static _Atomic int owner_without_page;
static _Atomic int *owner = &owner_without_page;

static uint64_t clock_ns_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ns(void) {
    return clock_ns_of(CLOCK_MONOTONIC);
}

static void copy_text(char *to, size_t bytes, const char *from) {
    const size_t length = strnlen(from, bytes - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* The arguments end in zeros each. */
static void read_command(char *text, size_t bytes) {
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, bytes - 1);
    for (ssize_t i = 0; i + 1 < length; i++) {
        if (text[i] == '\0') {
            text[i] = ' ';
        }
    }
    if (file >= 0) {
        close(file);
    }
}

static void read_program(char *text, size_t bytes) {
    if (readlink("/proc/self/exe", text, bytes - 1) < 0) {
        copy_text(text, bytes, program_invocation_name);
    }
}

/* What is the same for a child that was forked. */
typedef struct inherited {
    int32_t forked_from;
    uint64_t threshold_bytes;
    uint32_t device;
    char device_text[sizeof((ferry_run_record *)0)->device_text];
} inherited;

static void begin(ferry_run_record *where, const inherited *from, uint64_t began_ns) {
    ferry_run_record *made = storage_make(where, began_ns);
    if (made != NULL) {
        made->bytes = sizeof *made;
        made->pid = getpid();
        made->parent = getppid();
        made->forked_from = from->forked_from;
        made->began_ns = began_ns;
        read_program(made->program, sizeof made->program);
        read_command(made->command, sizeof made->command);
        made->threshold_bytes = from->threshold_bytes;
        made->device = from->device;
        memcpy(made->device_text, from->device_text, sizeof made->device_text);
        timeline_begin(made);
        /* A reader takes no record for one that is half written. */
        __atomic_store_n(&made->magic, FERRY_RUN_MAGIC, __ATOMIC_RELEASE);
    }
    record = made;
}

static void watch_forks(void) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, page_bytes, MADV_WIPEONFORK) == 0) {
        owner = page;
    }
    atomic_store(owner, OWN);
}

void record_open(const char *folder, size_t threshold_bytes, unsigned sampled_every) {
    const int saved = errno;
    if (storage_configure(folder)) {
        const inherited nothing = {.threshold_bytes = threshold_bytes};
        sites_configure(sampled_every);
        begin(NULL, &nothing, clock_ns());
        if (record != NULL) {
            watch_forks();
        }
    }
    errno = saved;
}

/* When the system began the process, in ticks since its own beginning; 0: not known. */
static unsigned long long start_ticks(void) {
    char text[1024];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = '\0';
    if (file >= 0) {
        close(file);
    }
    /* The name, in parentheses, may have spaces in it; 20 fields behind it is the time. */
    const char *field = strrchr(text, ')');
    for (int i = 0; i < 20 && field != NULL; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field, NULL, 10);
}

/* A child that gets to its record late has been there for a while. The system's clock is coarse. */
static uint64_t child_began_ns(void) {
    const uint64_t now_ns = clock_ns(), up_ns = clock_ns_of(CLOCK_BOOTTIME);
    const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), start_ns = start_ticks() * tick_ns;
    const uint64_t age_ns = start_ns == 0 || start_ns > up_ns ? 0 : up_ns - start_ns;
    return age_ns <= 2 * tick_ns || age_ns > now_ns ? now_ns : now_ns - age_ns;
}

static void begin_in_child(void) {
    inherited parents = {.forked_from = record->pid,
                         .threshold_bytes = record->threshold_bytes,
                         .device =
                             record->device == FERRY_RUN_DEVICE_STARTED ? FERRY_RUN_DEVICE_FORKED : record->device};
    memcpy(parents.device_text, record->device_text, sizeof parents.device_text);
    registry_clear();
    sites_clear();
    begin(record, &parents, child_began_ns());
    atomic_store(owner, OWN);
}

/* Whether there is a record, and this process's: a child that got no word of it begins its own here. */
static bool is_open(void) {
    if (record == NULL) {
        return false;
    }
    int whose = atomic_load_explicit(owner, memory_order_acquire);
    if (whose == PARENTS && atomic_compare_exchange_strong(owner, &whose, BEGINNING)) {
        begin_in_child();
        return record != NULL;
    }
    return whose == OWN;
}

bool record_is_own(void) {
    return record != NULL && (record->pid == getpid() || atomic_load(owner) == PARENTS);
}

void record_after_fork(const ferry_fork_account *account) {
    const int saved = errno;
    if (record != NULL && record->pid != getpid()) {
        atomic_store(owner, PARENTS);
    }
    if (is_open() && account != NULL) {
        record->lost_blocks = account->lost_blocks;
        record->lost_bytes = account->lost_bytes;
        record->kept_bytes = account->kept_bytes;
    }
    errno = saved;
}

uint64_t record_now(void) {
    return is_open() ? clock_ns() : 0;
}

static void count_end(const registry_block *block, uint64_t now_ns) {
    ferry_run_heap *heap = &record->heaps[block->home];
    const uint64_t lifetime_ns = now_ns > block->born_ns ? now_ns - block->born_ns : 0;
    counter_add(&heap->frees, 1);
    counter_take(&heap->live_bytes, block->bytes);
    counter_add(&heap->lifetimes[ferry_run_class_of(lifetime_ns / 1000)], 1);
    sites_count_death(record, block->site, block->bytes);
}

/* What lives is what the registry knows: what it had no room for would be live for ever. */
static void count_life(const void *address, const registry_block *block) {
    ferry_run_heap *heap = &record->heaps[block->home];
    registry_block displaced;
    const registry_place place = registry_add(address, block, &displaced);
    if (place == REGISTRY_OCCUPIED) {
        count_end(&displaced, block->born_ns);
    }
    if (place == REGISTRY_WARM || place == REGISTRY_OCCUPIED) {
        counter_add(&heap->warm_blocks, 1);
        counter_add(&heap->warm_bytes, block->bytes);
    }
    if (place != REGISTRY_NO_ROOM) {
        counter_raise(&heap->peak_bytes, counter_add(&heap->live_bytes, block->bytes));
        sites_count_life(record, block->site, block->bytes);
    }
}

static void count_allocation(ferry_run_heap *heap, size_t bytes, uint64_t taken_ns) {
    ferry_run_class *class = &heap->sizes[ferry_run_class_of(bytes)];
    counter_add(&heap->allocations, 1);
    counter_add(&heap->allocated_bytes, bytes);
    counter_add(&heap->allocation_ns, taken_ns);
    counter_add(&class->allocations, 1);
    counter_add(&class->bytes, bytes);
}

void record_allocation(const void *block, size_t bytes, ferry_run_home home, uint64_t began_ns, void *site) {
    const int saved = errno;
    if (is_open()) {
        const uint64_t taken_ns = clock_ns() - began_ns;
        const unsigned number = sites_number(record, site);
        /* Not before: a new site takes its time, which is none of the block's. */
        const registry_block what = {.bytes = bytes, .born_ns = clock_ns(), .site = number, .home = home};
        count_allocation(&record->heaps[home], bytes, taken_ns);
        sites_count_allocation(record, number, bytes);
        count_life(block, &what);
        timeline_note(record, what.born_ns);
    }
    errno = saved;
}

bool record_take(const void *block, registry_block *out) {
    return is_open() && registry_take(block, out);
}

void record_put_back(const void *block, const registry_block *taken) {
    registry_block displaced;
    if (is_open()) {
        (void)registry_add(block, taken, &displaced);
    }
}

void record_freed(const registry_block *taken) {
    if (is_open()) {
        const int saved = errno;
        const uint64_t now_ns = clock_ns();
        count_end(taken, now_ns);
        timeline_note(record, now_ns);
        errno = saved;
    }
}

bool record_free(const void *block) {
    registry_block was;
    if (!record_take(block, &was)) {
        return false;
    }
    record_freed(&was);
    return true;
}

void record_part_allocation(size_t bytes, uint64_t began_ns) {
    if (is_open()) {
        const int saved = errno;
        ferry_run_heap *heap = &record->heaps[FERRY_RUN_MANAGED];
        const uint64_t now_ns = clock_ns();
        count_allocation(heap, bytes, now_ns - began_ns);
        counter_raise(&heap->peak_bytes, counter_add(&heap->live_bytes, bytes));
        timeline_note(record, now_ns);
        errno = saved;
    }
}

void record_part_free(size_t bytes) {
    if (is_open()) {
        ferry_run_heap *heap = &record->heaps[FERRY_RUN_MANAGED];
        counter_add(&heap->frees, 1);
        counter_take(&heap->live_bytes, bytes);
    }
}

void record_free_end(ferry_run_home home, uint64_t began_ns) {
    if (is_open()) {
        counter_add(&record->heaps[home].free_ns, clock_ns() - began_ns);
    }
}

void record_beyond_limit(size_t bytes) {
    if (is_open()) {
        counter_add(&record->beyond_limit_blocks, 1);
        counter_add(&record->beyond_limit_bytes, bytes);
    }
}

void record_device(ferry_run_device device, const char *text) {
    if (is_open()) {
        record->device = device;
        copy_text(record->device_text, sizeof record->device_text, text);
    }
}

void record_stats(const ferry_stats *stats) {
    if (is_open()) {
        record->stats = *stats;
    }
}

void record_unmeasured(const char *why) {
    if (is_open()) {
        copy_text(record->unmeasured, sizeof record->unmeasured, why);
    }
}

void record_small(const ferry_run_heap *small) {
    if (is_open()) {
        record->small = *small;
    }
}

static uint64_t resident_peak_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static bool had_large_blocks(void) {
    return record->nsamples > 0;
}

void record_end(ferry_run_end end) {
    if (!is_open()) {
        return;
    }
    const int saved = errno;
    const uint64_t now_ns = clock_ns();
    if (had_large_blocks()) {
        timeline_note(record, now_ns);
    }
    record->resident_peak_bytes = resident_peak_bytes();
    counter_set(&record->ended_ns, end == FERRY_RUN_RUNNING ? 0 : now_ns);
    __atomic_store_n(&record->end, (uint32_t)end, __ATOMIC_RELEASE);
    errno = saved;
}
