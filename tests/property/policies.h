/* The policies of a program's scopes, and the one that a use follows. */
#ifndef FERRY_TESTS_PROPERTY_POLICIES_H
#define FERRY_TESTS_PROPERTY_POLICIES_H

#include "world.h"

enum scope { SCOPE_HEAP, SCOPE_ARRAY, SCOPE_THREAD, SCOPE_OPERAND };

/* A policy for a scope of that kind, from a random number; FERRY_POLICY_DEFAULT leaves it to the next wider one. */
ferry_policy policy_draw(const struct rules *rules, enum scope scope, uint64_t random);

/* What a use of the slot follows; `operand` DEFAULT is that of a use which says nothing itself. */
ferry_policy policy_of_use(const struct world *world, const struct slot *slot, ferry_policy operand);

/* The options of a heap, whose policy is then known. */
ferry_heap_options policy_heap_options(struct world *world, int heap, uint64_t random);

void step_advise(struct world *world, const struct step *step);
void step_thread(struct world *world, const struct step *step);

#endif
