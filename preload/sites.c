#include "sites.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "counters.h"
#include "ferry/site.h"
#include "shim.h"
#include "storage.h"

/* This library's own functions around an allocation; more of them, and the caller has not been found. */
enum { OWN_FRAMES = 24 };

/*
 * From stacks to sites: a hash table with open addressing, more than half empty however many sites there are. A slot
 * is the upper bits of a stack's hash and the number of its site, and is written once.
 */
#define SLOTS 4096
#define NUMBER_MASK UINT64_C(2047)
static _Atomic uint64_t slots[SLOTS];
_Static_assert(FERRY_RUN_SITES <= NUMBER_MASK && 2 * FERRY_RUN_SITES < SLOTS, "numbers fit, and searches end");

static unsigned every;

typedef struct stack {
    int depth;
    uint64_t frames[FERRY_RUN_FRAMES];
} stack;

void sites_configure(unsigned sampled_every) {
    every = sampled_every;
}

void sites_clear(void) {
    for (size_t i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&slots[i], 0, memory_order_relaxed);
    }
}

struct walk {
    uint64_t from; /* the first frame that counts */
    int skipped;
    stack *stack;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument) {
    struct walk *walk = argument;
    stack *s = walk->stack;
    const uint64_t address = _Unwind_GetIP(context);
    if (s->depth == 0 && address != walk->from) {
        return ++walk->skipped > OWN_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    if (address == 0) {
        return _URC_END_OF_STACK;
    }
    s->frames[s->depth++] = address;
    return s->depth == FERRY_RUN_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static bool is_sampled(void) {
    static __thread unsigned since;
    if (every == 0 || ++since < every) {
        return false;
    }
    since = 0;
    return true;
}

/* The caller alone where there is no way from here to it, as in code without unwinding tables. */
static stack stack_from(void *return_address) {
    stack s = {0};
    struct walk walk = {.from = (uintptr_t)return_address, .stack = &s};
    if (is_sampled()) {
        _Unwind_Backtrace(on_frame, &walk);
    }
    if (s.depth == 0) {
        s.frames[s.depth++] = walk.from;
    }
    return s;
}

/* The finaliser of SplitMix64 (Steele, Lea, Flood), over the frames in turn; never one whose upper bits are all 0. */
static uint64_t hash_of(const stack *s) {
    uint64_t hash = 0;
    for (int i = 0; i < s->depth; i++) {
        hash = (hash ^ s->frames[i]) + UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
        hash ^= hash >> 31;
    }
    return hash > NUMBER_MASK ? hash : hash + NUMBER_MASK + 1;
}

/* The next unused site; 0: there is none. */
static unsigned take_number(ferry_run_record *of) {
    uint32_t used = __atomic_load_n(&of->nsites, __ATOMIC_RELAXED);
    do {
        if (used == FERRY_RUN_SITES || !storage_reserve(offsetof(ferry_run_record, sites[used + 1]))) {
            return 0;
        }
    } while (!__atomic_compare_exchange_n(&of->nsites, &used, used + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return used + 1;
}

/* "f+0x1f in file": where " in file" begins, NULL for an address without a function. */
static char *file_part(char *text) {
    char *found = NULL;
    for (char *at = strstr(text, " in "); at != NULL; at = strstr(at + 1, " in ")) {
        found = at;
    }
    return found;
}

/* Neighbours in one file name it once, behind the last of them. */
static void write_text(const stack *s, char text[FERRY_RUN_SITE_TEXT]) {
    char frame[FERRY_RUN_SITE_TEXT], file[FERRY_RUN_SITE_TEXT] = "";
    size_t used = 0;
    for (int i = 0; i < s->depth && used < FERRY_RUN_SITE_TEXT - 1; i++) {
        ferry_site_describe((ferry_site)s->frames[i], frame, sizeof frame);
        const char *in = file_part(frame);
        if (in != NULL && used > 0 && strcmp(in, file) == 0) {
            used -= strlen(file);
        }
        const int length = snprintf(text + used, FERRY_RUN_SITE_TEXT - used, "%s%s", used > 0 ? " < " : "", frame);
        used += length < 0 ? 0 : (size_t)length;
        snprintf(file, sizeof file, "%s", in == NULL ? "" : in);
    }
}

static void describe(ferry_run_site *site, const stack *s) {
    char text[FERRY_RUN_SITE_TEXT] = "";
    const bool entered = shim_enter();
    memcpy(site->frames, s->frames, sizeof site->frames);
    write_text(s, text);
    memcpy(site->text, text, sizeof site->text);
    if (entered) {
        shim_leave();
    }
}

static unsigned find_or_add(ferry_run_record *of, const stack *s) {
    const uint64_t hash = hash_of(s), key = hash & ~NUMBER_MASK;
    unsigned mine = 0;
    for (size_t i = hash >> 32;; i++) {
        _Atomic uint64_t *slot = &slots[i % SLOTS];
        uint64_t found = atomic_load_explicit(slot, memory_order_acquire);
        /* Should another thread's be first, the number taken for this one is left unused, or serves another slot. */
        mine = found == 0 && mine == 0 ? take_number(of) : mine;
        if (found == 0 && (mine == 0 || atomic_compare_exchange_strong(slot, &found, key | mine))) {
            if (mine != 0) {
                describe(&of->sites[mine - 1], s);
            }
            return mine;
        }
        if ((found & ~NUMBER_MASK) == key) {
            return (unsigned)(found & NUMBER_MASK);
        }
    }
}

unsigned sites_number(ferry_run_record *of, void *return_address) {
    const stack s = stack_from(return_address);
    return find_or_add(of, &s);
}

void sites_count_allocation(ferry_run_record *of, unsigned number, uint64_t bytes) {
    if (number == 0) {
        counter_add(&of->unsited, 1);
        return;
    }
    ferry_run_site *site = &of->sites[number - 1];
    counter_add(&site->allocations, 1);
    counter_add(&site->bytes, bytes);
}

void sites_count_life(ferry_run_record *of, unsigned number, uint64_t bytes) {
    if (number != 0) {
        ferry_run_site *site = &of->sites[number - 1];
        counter_raise(&site->peak_bytes, counter_add(&site->live_bytes, bytes));
    }
}

void sites_count_death(ferry_run_record *of, unsigned number, uint64_t bytes) {
    if (number != 0) {
        counter_take(&of->sites[number - 1].live_bytes, bytes);
    }
}
