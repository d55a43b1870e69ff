#include "registry.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* A tree of three levels over the pages of a 47-bit address space, which grows as blocks come and is never pruned. */
enum { PAGE_BITS = 12, LEAF_BITS = 14, MIDDLE_BITS = 11, ROOT_BITS = 10 };
#define SIZE(bits) ((size_t)1 << (bits))

/*
 * `what` says it all but the time: it is written last and taken first. Bits 0 to 47 are the bytes, 48 to 58 the site;
 * 0: nothing has begun there yet.
 */
struct entry {
    _Atomic uint64_t what;
    _Atomic uint64_t born_ns;
};
struct leaf {
    struct entry entries[SIZE(LEAF_BITS)];
};
struct middle {
    _Atomic(struct leaf *) leaves[SIZE(MIDDLE_BITS)];
};
static _Atomic(struct middle *) root[SIZE(ROOT_BITS)];

enum { SITE_SHIFT = 48, HOME_SHIFT = 60 };
#define BYTES_MASK (SIZE(SITE_SHIFT) - 1)
#define SITE_MASK (SIZE(11) - 1)
#define HOME_MASK SIZE(0)
#define LIVE (UINT64_C(1) << 62)
#define TAKEN (UINT64_C(1) << 63)

_Static_assert(FERRY_RUN_SITES <= SITE_MASK && FERRY_RUN_HOMES <= HOME_MASK + 1, "an entry has room for them");

static uint64_t pack(const registry_block *block) {
    return LIVE | (block->bytes & BYTES_MASK) | ((uint64_t)block->site << SITE_SHIFT) |
           ((uint64_t)block->home << HOME_SHIFT);
}

static registry_block unpack(uint64_t what, uint64_t born_ns) {
    return (registry_block){.bytes = what & BYTES_MASK,
                            .born_ns = born_ns,
                            .site = (unsigned)((what >> SITE_SHIFT) & SITE_MASK),
                            .home = (ferry_run_home)((what >> HOME_SHIFT) & HOME_MASK)};
}

static void *map_zeros(size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static struct middle *make_middle(_Atomic(struct middle *) *slot) {
    struct middle *made = map_zeros(sizeof *made), *first = NULL;
    if (made != NULL && !atomic_compare_exchange_strong(slot, &first, made)) {
        munmap(made, sizeof *made);
    }
    return first != NULL ? first : made;
}

static struct leaf *make_leaf(_Atomic(struct leaf *) *slot) {
    struct leaf *made = map_zeros(sizeof *made), *first = NULL;
    if (made != NULL && !atomic_compare_exchange_strong(slot, &first, made)) {
        munmap(made, sizeof *made);
    }
    return first != NULL ? first : made;
}

/* NULL: there is none, or none could be made. */
static struct entry *entry_of(const void *address, bool make) {
    const uintptr_t page = (uintptr_t)address >> PAGE_BITS;
    if (page >> (LEAF_BITS + MIDDLE_BITS + ROOT_BITS) != 0) {
        return NULL;
    }
    _Atomic(struct middle *) *middle_slot = &root[page >> (LEAF_BITS + MIDDLE_BITS)];
    struct middle *middle = atomic_load_explicit(middle_slot, memory_order_acquire);
    middle = middle == NULL && make ? make_middle(middle_slot) : middle;
    if (middle == NULL) {
        return NULL;
    }
    _Atomic(struct leaf *) *leaf_slot = &middle->leaves[(page >> LEAF_BITS) % SIZE(MIDDLE_BITS)];
    struct leaf *leaf = atomic_load_explicit(leaf_slot, memory_order_acquire);
    leaf = leaf == NULL && make ? make_leaf(leaf_slot) : leaf;
    return leaf == NULL ? NULL : &leaf->entries[page % SIZE(LEAF_BITS)];
}

registry_place registry_add(const void *address, const registry_block *block, registry_block *displaced) {
    struct entry *entry = entry_of(address, true);
    if (entry == NULL) {
        return REGISTRY_NO_ROOM;
    }
    const uint64_t old_ns = atomic_exchange_explicit(&entry->born_ns, block->born_ns, memory_order_relaxed);
    const uint64_t old = atomic_exchange_explicit(&entry->what, pack(block), memory_order_acq_rel);
    if ((old & LIVE) != 0) {
        *displaced = unpack(old, old_ns);
        return REGISTRY_OCCUPIED;
    }
    return old == 0 ? REGISTRY_FRESH : REGISTRY_WARM;
}

bool registry_take(const void *address, registry_block *out) {
    struct entry *entry = entry_of(address, false);
    if (entry == NULL) {
        return false;
    }
    const uint64_t what = atomic_load_explicit(&entry->what, memory_order_acquire);
    if ((what & LIVE) == 0) {
        return false;
    }
    const uint64_t born_ns = atomic_load_explicit(&entry->born_ns, memory_order_relaxed);
    /* Freed twice at once, it was there once. */
    const uint64_t taken = atomic_exchange_explicit(&entry->what, TAKEN, memory_order_acq_rel);
    *out = unpack(taken, born_ns);
    return (taken & LIVE) != 0;
}

static void clear_middle(struct middle *middle) {
    for (size_t i = 0; i < SIZE(MIDDLE_BITS); i++) {
        struct leaf *leaf = atomic_load_explicit(&middle->leaves[i], memory_order_relaxed);
        if (leaf != NULL) {
            munmap(leaf, sizeof *leaf);
        }
    }
    munmap(middle, sizeof *middle);
}

void registry_clear(void) {
    for (size_t i = 0; i < SIZE(ROOT_BITS); i++) {
        struct middle *middle = atomic_load_explicit(&root[i], memory_order_relaxed);
        if (middle != NULL) {
            atomic_store_explicit(&root[i], NULL, memory_order_relaxed);
            clear_middle(middle);
        }
    }
}
