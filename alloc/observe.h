/*
 * What the host touched without saying so. A page that a device held, and that is in the host's page tables again, has
 * been brought home by the host's own faults. Asking costs a system call, so a storage is asked about only when the
 * host can have come by, one page at a time, and the more seldom the longer nothing is found.
 */
#ifndef FERRY_ALLOC_OBSERVE_H
#define FERRY_ALLOC_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/memory.h"

struct storage_place;

/* When a storage is asked about. All zeros: at the next chance. Movement lock. */
struct observer {
    uint64_t round;   /* in which it was last considered */
    uint32_t asked;   /* how often it has been */
    uint8_t wait;     /* rounds passed over between two questions */
    uint8_t left;     /* of them */
    uint8_t launches; /* since the last question, within a round */
};

/* Most rounds between two questions, and launches within one round. */
#define OBSERVE_ROUNDS_MAX 7
#define OBSERVE_LAUNCHES_MAX 64

/* Whether pages under the policy are asked about at all: those that the library itself places. */
static inline bool observe_wanted(ferry_policy policy) {
    return policy == FERRY_POLICY_AUTO || policy == FERRY_POLICY_PREFETCH;
}

extern uint64_t observe_round; /* movement lock */

/* Whether observe_storage, for a storage that has no exports, would count one launch more and no more. */
static inline bool observe_has_time(const struct observer *observer) {
    return observer->round == observe_round && observer->launches + 1 < OBSERVE_LAUNCHES_MAX;
}

/* The host has waited for kernels, or has been given memory: it may touch what devices hold. Movement lock. */
void observe_begin_round(void);

/* Asks, when it is time to, and if a page has come home corrects the whole storage's residency. Movement lock. */
void observe_storage(const struct storage_place *place);

/* Asks about a few pages whatever the time, for a storage that is about to end. Movement lock. */
void observe_last(const struct storage_place *place);

/* Of `n` pages from `page` of a region on, which are in the host's page tables? All of them when it cannot be told. One
 * question, and counted. Movement lock. */
struct region;
void observe_pages(const struct region *region, size_t page, size_t n, unsigned char *present);

#endif
