/*
 * One table of words serves three kinds of facts, each found by a hash of its key:
 *
 *     head      (site, thread)               how many times the host has read blocks of the site, modulo 2^16
 *     births    (site, thread, size class)   the next ordinal, and the head's count for which it holds
 *     memory    (site, size class, ordinal)  the predictions; beside every ordinal's there is one for any
 *
 * Ordinals are the thread's own, so that threads that run the same loop do not disturb each other's; what became of the
 * blocks is common knowledge.
 *
 * The table is a set-associative cache: the hash chooses one cache line of eight words, and any of them may hold the
 * fact. A word is the hash's tag and 32 bits of fact, read and written whole, so that a fact is never taken for
 * another's (but for equal tags, one in four thousand million). When a line is full, facts not used since the last time
 * it was give way.
 */
#include "site_table.h"

#include <stdatomic.h>

enum { WAYS = 8, SETS = 1024 };

#define ANY_ORDINAL (SITE_LAST_ORDINAL + 1)

#define USED UINT32_C(0x80000000) /* in every fact: used since its line was last full */
#define TAG(word) ((uint32_t)((word) >> 32))
#define FACT(word) ((uint32_t)(word))

static _Alignas(64) _Atomic uint64_t table[SETS][WAYS]; /* 0: free */

/* One round of the finaliser of SplitMix64 (Steele, Lea, Flood 2014), with its first factor: a bijection. */
static uint64_t scramble(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 27;
}

/* Of the scrambled first part of a key and the next part. */
static uint64_t mix(uint64_t scrambled, uint64_t part) {
    const uint64_t hash = (scrambled ^ part) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* Never 0, so that a word in use is not free and a key not empty. */
static uint32_t tag_of(uint64_t hash) {
    return (uint32_t)(hash >> 32) | 1;
}

static uint64_t word(uint32_t tag, uint32_t fact) {
    return (uint64_t)tag << 32 | fact;
}

static uint64_t load(const _Atomic uint64_t *slot) {
    return atomic_load_explicit(slot, memory_order_relaxed);
}

static void store(_Atomic uint64_t *slot, uint32_t tag, uint32_t fact) {
    atomic_store_explicit(slot, word(tag, fact | USED), memory_order_relaxed);
}

/* A word of the line that may be taken. NULL: all were used since the last time, and have been warned. */
static _Atomic uint64_t *idle(_Atomic uint64_t *line) {
    for (unsigned way = 0; way < WAYS; way++) {
        if ((FACT(load(&line[way])) & USED) == 0) {
            return &line[way];
        }
    }
    for (unsigned way = 0; way < WAYS; way++) {
        const uint64_t old = load(&line[way]);
        atomic_store_explicit(&line[way], old & ~(uint64_t)USED, memory_order_relaxed);
    }
    return NULL;
}

/* The word of a hash, a newly taken one if need be, and its fact (0 in a new one). NULL: no room. */
static inline _Atomic uint64_t *find(uint64_t hash, uint32_t *fact) {
    _Atomic uint64_t *line = table[hash % SETS];
    const uint32_t tag = tag_of(hash);
    for (unsigned way = 0; way < WAYS; way++) {
        _Atomic uint64_t *slot = &line[way];
        const uint64_t found = load(slot);
        if (TAG(found) == tag) {
            if ((FACT(found) & USED) == 0) {
                store(slot, tag, FACT(found));
            }
            *fact = FACT(found) & ~USED;
            return slot;
        }
    }
    _Atomic uint64_t *slot = idle(line);
    if (slot != NULL) {
        store(slot, tag, 0);
    }
    *fact = 0;
    return slot;
}

/* Keys name a word and 19 bits of its tag, by which one that belongs to somebody else by now is noticed. */
enum { SLOT_BITS = 13 };
_Static_assert(SETS *WAYS == 1 << SLOT_BITS, "a key has room for the number of every word");

static uint32_t handle(const _Atomic uint64_t *slot, uint64_t hash) {
    return slot == NULL ? 0 : (uint32_t)(slot - &table[0][0]) | tag_of(hash) << SLOT_BITS;
}

/* The word that a handle was made for and its content; NULL when there was none or it has been taken by another. */
static _Atomic uint64_t *held(uint32_t named, uint64_t *content) {
    _Atomic uint64_t *slot = &table[0][0] + named % (1 << SLOT_BITS);
    *content = load(slot);
    return named != 0 && TAG(*content) << SLOT_BITS == named >> SLOT_BITS << SLOT_BITS ? slot : NULL;
}

unsigned site_size_class(size_t bytes) {
    if (bytes < 4) {
        return (unsigned)bytes;
    }
    const unsigned log = 63 - (unsigned)__builtin_clzll(bytes);
    return 4 * log + (unsigned)(bytes >> (log - 2) & 3);
}

/* The address stands for the thread; that of a thread which has ended serves again. */
static uint64_t thread_number(void) {
    static _Thread_local char here;
    return (uint64_t)(uintptr_t)&here;
}

/* The facts of births: count of reads << 8 | ordinal. */
static unsigned next_ordinal(uint64_t site_and_thread, unsigned size_class, uint32_t reads) {
    const uint64_t hash = mix(site_and_thread, size_class + 1);
    uint32_t fact;
    _Atomic uint64_t *births = find(hash, &fact);
    const unsigned ordinal = fact >> 8 == reads ? fact & 0xff : 0;
    if (births != NULL) {
        store(births, tag_of(hash), reads << 8 | (ordinal < SITE_LAST_ORDINAL ? ordinal + 1 : SITE_LAST_ORDINAL));
    }
    return ordinal;
}

/* The facts of memory: patience, blind outcomes, trust in next, next, trust in passes, passes. */
struct memory {
    struct site_prediction passes, next;
    unsigned blind;    /* outcomes since the host was last seen, or seen not to come */
    unsigned patience; /* how often looking has shown what was expected */
};

enum { BLIND_MOST = 127, PATIENCE_MOST = 3 };

static uint32_t pack(struct memory memory) {
    return (uint32_t)memory.patience << 29 | (uint32_t)memory.blind << 22 | (uint32_t)memory.next.trust << 20 |
           (uint32_t)memory.next.value << 18 | (uint32_t)memory.passes.trust << 16 | memory.passes.value;
}

static struct memory unpack(uint32_t fact) {
    return (struct memory){.passes = {.value = (uint16_t)fact, .trust = fact >> 16 & 3},
                           .next = {.value = fact >> 18 & 3, .trust = fact >> 20 & 3},
                           .blind = fact >> 22 & BLIND_MOST,
                           .patience = fact >> 29 & PATIENCE_MOST};
}

/* Whether it is time to look: a block is born where a touch by the host would be seen. Every 16th at first, at last
 * every 128th, since a host that still reads pays for it. */
static bool is_due(struct memory memory) {
    return memory.blind + 1 >= 16u << memory.patience;
}

/* Of a block's own ordinal, and of any: where nothing has been seen of the former, what two of the latter agreed on. */
static struct site_outlook outlook_of(struct memory own, struct memory any) {
    const bool own_passes = own.passes.trust > 0, own_next = own.next.trust > 0;
    if (!own_passes && any.passes.trust < 2) {
        return (struct site_outlook){0};
    }
    const uint16_t next = own_next ? own.next.value : any.next.trust > 1 ? any.next.value : ENDING_UNKNOWN;
    const bool looks = next == ENDING_READ && is_due(any);
    return (struct site_outlook){.passes = own_passes ? own.passes.value : any.passes.value,
                                 .next = looks ? ENDING_NOTHING : (uint8_t)next,
                                 .known = true};
}

struct site_key site_born(ferry_site site, size_t bytes, struct site_outlook *out) {
    *out = (struct site_outlook){0};
    if (site == 0) {
        return (struct site_key){0};
    }
    const unsigned size_class = site_size_class(bytes);
    const uint64_t scrambled = scramble(site), site_and_thread = mix(scrambled, thread_number());
    uint32_t reads, fact, any_fact;
    const _Atomic uint64_t *head = find(site_and_thread, &reads);
    const unsigned ordinal = next_ordinal(site_and_thread, size_class, reads);
    const uint64_t base = mix(scrambled, size_class);
    const uint64_t hash = base + ordinal * UINT64_C(0x9e3779b97f4a7c15); /* soon after ordinal */
    const uint64_t any_hash = base + ANY_ORDINAL * UINT64_C(0x9e3779b97f4a7c15);
    const _Atomic uint64_t *memory = find(hash, &fact), *any = find(any_hash, &any_fact);
    *out = outlook_of(unpack(fact), unpack(any_fact));
    return (struct site_key){
        .memory = handle(memory, hash), .any = handle(any, any_hash), .head = handle(head, site_and_thread)};
}

void site_host_read(struct site_key key) {
    uint64_t content;
    _Atomic uint64_t *head = held(key.head, &content);
    if (head != NULL) {
        store(head, TAG(content), (FACT(content) + 1) & UINT16_MAX);
    }
}

struct site_prediction site_predict(struct site_prediction before, uint16_t seen) {
    if (before.trust > 0 && before.value == seen) {
        return (struct site_prediction){.value = seen, .trust = 2};
    }
    if (before.trust > 1) {
        return (struct site_prediction){.value = before.value, .trust = 1};
    }
    return (struct site_prediction){.value = seen, .trust = 1};
}

/* A host that came when it was looked for is looked for less often; one that did not is looked for again, until that is
 * what is expected. */
static struct memory note_next(struct memory memory, enum ending next) {
    const bool looked = is_due(memory);
    memory.next = site_predict(memory.next, (uint16_t)next);
    if (next != ENDING_NOTHING) {
        memory.patience += looked && memory.patience < PATIENCE_MOST;
        memory.blind = 0;
    } else if (memory.next.value == ENDING_NOTHING) {
        memory.patience = memory.blind = 0;
    }
    return memory;
}

static void learn(uint32_t named, const struct site_outlook *seen) {
    uint64_t content;
    _Atomic uint64_t *slot = held(named, &content);
    if (slot == NULL) {
        return;
    }
    struct memory memory = unpack(FACT(content));
    memory.passes = site_predict(memory.passes, seen->passes);
    if (seen->blind) {
        memory.blind += memory.blind < BLIND_MOST;
    } else if (seen->next != ENDING_UNKNOWN) {
        memory = note_next(memory, (enum ending)seen->next);
    }
    store(slot, TAG(content), pack(memory));
}

void site_learn(struct site_key key, const struct site_outlook *seen) {
    learn(key.memory, seen);
    learn(key.any, seen);
}

void site_table_clear(void) {
    for (size_t slot = 0; slot < (size_t)SETS * WAYS; slot++) {
        atomic_store_explicit(&table[0][0] + slot, 0, memory_order_relaxed);
    }
}
