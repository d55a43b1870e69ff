/* Strict mode: findings become sentences, go to the program's handler, and fail the call. */
#ifndef FERRY_ALLOC_STRICT_H
#define FERRY_ALLOC_STRICT_H

#include <stdatomic.h>

#include "ferry/strict.h"

/* What ferry_finding tells, but for its kind and text. */
struct strict_crossing {
    const void *address;
    size_t storage_bytes, bytes; /* storage_bytes 0: the storage is gone */
    ferry_place to;
    ferry_site born, before, now; /* 0: not known */
};

/* Whether findings are to be looked for at all. A load; any thread. */
extern _Atomic bool strict_wanted;
static inline bool strict_on(void) {
    return atomic_load_explicit(&strict_wanted, memory_order_relaxed);
}
void strict_set(bool on);

/*
 * Tell the handler, and return FERRY_REDUNDANT or FERRY_UNSYNCHRONISED with the sentence as the thread's detail. Call
 * them with no lock held: the handler may call the library. What it finds in doing so fails its calls, but is not told
 * to it again.
 */
ferry_status strict_redundant(const struct strict_crossing *what);
ferry_status strict_unsynchronised(const struct strict_crossing *what);

/* The sentence by itself, cut to `bytes`. */
void strict_sentence(ferry_finding_kind kind, const struct strict_crossing *what, char *text, size_t bytes);

#endif
