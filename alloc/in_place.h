/* Launches whose operands are where the device wants them, with nothing to wait for and nothing new to be learnt: most
 * launches. What they cost is what the library costs, so they are told apart before anything is planned. */
#ifndef FERRY_ALLOC_IN_PLACE_H
#define FERRY_ALLOC_IN_PLACE_H

#include "operands.h"

/* A launch as an acquire sees it. */
struct launch {
    ferry_stream *stream;
    ferry_site site;
    ferry_policy thread_policy; /* FERRY_POLICY_DEFAULT: none */
};

/* Whether all bytes from `begin` to `end`, of the place's storage, are where `device` wants them, and nothing that is
 * known of their pages changes by such a use. Movement lock. */
bool in_place(const struct storage_place *place, const char *begin, const char *end, int device, ferry_access access);

/*
 * Counts and remembers the launch's use of checked operands when all of them are in place: what planning it and
 * committing the plan would do, where every step is to do nothing. false, and nothing has been done: it takes a plan.
 * Sets the operands' policies. Movement lock.
 */
bool in_place_acquire(const struct operands *operands, const struct launch *launch);

#endif
