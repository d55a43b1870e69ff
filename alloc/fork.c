#include "fork.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer.h"
#include "core.h"
#include "counters.h"
#include "heap.h"
#include "region.h"
#include "thread.h"

/* Blocks this near to one another are copied as one, with what lies between: a process has only so many mappings. */
#define GAP_PAGES 16

/* A stretch of a region, and where its copy begins. */
struct stretch {
    char *address;
    size_t bytes, copy_offset;
};

/* Between the handlers of one fork; heaps' lock. */
static struct {
    struct region_list **lists; /* locked */
    size_t nlists, lists_room;
    struct stretch *stretches;
    size_t n, room, bytes;
    char *copy;
    bool failed;
} kept;

static _Atomic size_t keep_most_bytes;
static ferry_fork_account account;

void ferry_fork_keep(size_t most_bytes) {
    atomic_store(&keep_most_bytes, most_bytes);
}

void ferry_fork_account_get(ferry_fork_account *out) {
    *out = account;
}

static void add_stretch(char *address, size_t bytes) {
    struct stretch *last = kept.n == 0 ? NULL : &kept.stretches[kept.n - 1];
    if (last != NULL && address >= last->address &&
        address <= last->address + last->bytes + GAP_PAGES * FERRY_PAGE_BYTES &&
        region_find(address) == region_find(last->address)) {
        kept.bytes += (size_t)(address + bytes - (last->address + last->bytes));
        last->bytes = (size_t)(address + bytes - last->address);
        return;
    }
    if (!buffer_reserve((void **)&kept.stretches, sizeof *kept.stretches, kept.n, &kept.room)) {
        kept.failed = true;
        return;
    }
    kept.stretches[kept.n++] = (struct stretch){address, bytes, 0};
    kept.bytes += bytes;
}

static void add_region(const struct region *region) {
    if (region->tiny) {
        if (region->top_page > 0) {
            add_stretch(region->base, region->top_page * FERRY_PAGE_BYTES);
        }
        return;
    }
    const size_t end = atomic_load_explicit(&region->touched_page, memory_order_relaxed);
    for (size_t page = 0; page < end; page++) {
        if (atomic_load_explicit(&region->starts[page], memory_order_acquire) == START_LIVE) {
            const size_t pages = region->storages[page].pages;
            add_stretch(region->base + page * FERRY_PAGE_BYTES, pages * FERRY_PAGE_BYTES);
            page += pages > 0 ? pages - 1 : 0;
        }
    }
}

/*
 * Regions are not released while their list is locked. The thread that forks may hold a list's lock itself, in a driver
 * that starts a program of its own: then there is no copy.
 */
static void lock_list(struct region_list *list) {
    enum { TRIES = 1000 };
    int tries = 0;
    if (kept.failed ||
        !buffer_reserve((void **)&kept.lists, sizeof(struct region_list *), kept.nlists, &kept.lists_room)) {
        kept.failed = true;
        return;
    }
    while (pthread_mutex_trylock(&list->lock) != 0) {
        if (++tries == TRIES) {
            kept.failed = true;
            return;
        }
        sched_yield();
    }
    kept.lists[kept.nlists++] = list;
}

static void unlock_lists(void) {
    while (kept.nlists > 0) {
        pthread_mutex_unlock(&kept.lists[--kept.nlists]->lock);
    }
}

static void add_list(struct region_list *list) {
    for (const struct region *region = list->first; region != NULL && !kept.failed; region = region->next) {
        add_region(region);
    }
}

static void copy_stretches(void) {
    size_t offset = 0;
    void *copy = mmap(NULL, kept.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) {
        return;
    }
    kept.copy = copy;
    for (size_t i = 0; i < kept.n; i++) {
        struct stretch *stretch = &kept.stretches[i];
        stretch->copy_offset = offset;
        memcpy(kept.copy + offset, stretch->address, stretch->bytes);
        offset += stretch->bytes;
    }
}

static void count_lost(void) {
    uint64_t allocations, frees, live_bytes;
    thread_counts_sum(&allocations, &frees, &live_bytes);
    account = (ferry_fork_account){.lost_blocks = allocations - frees, .lost_bytes = count_live_bytes()};
}

void fork_copy(void) {
    count_lost();
    const size_t most_bytes = atomic_load(&keep_most_bytes);
    kept.n = kept.bytes = 0;
    kept.copy = NULL;
    kept.failed = false;
    if (account.lost_bytes == 0 || account.lost_bytes > most_bytes) {
        return;
    }
    heap_visit_lists(lock_list);
    for (size_t i = 0; i < kept.nlists; i++) {
        add_list(kept.lists[i]);
    }
    if (!kept.failed) {
        copy_stretches();
    }
    unlock_lists();
}

/* What cannot be placed is lost after all. */
static bool place(const struct stretch *stretch) {
    char *copy = kept.copy + stretch->copy_offset;
    return mremap(copy, stretch->bytes, stretch->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, stretch->address) != MAP_FAILED;
}

void fork_place_copy(void) {
    bool placed = kept.copy != NULL;
    for (size_t i = 0; i < kept.n && placed; i++) {
        placed = place(&kept.stretches[i]);
    }
    if (placed) {
        account = (ferry_fork_account){.kept_bytes = account.lost_bytes};
    }
}

void fork_drop_copy(void) {
    account = (ferry_fork_account){0};
    if (kept.copy != NULL) {
        munmap(kept.copy, kept.bytes);
    }
}
