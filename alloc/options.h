/* What the environment and ferry_options say. */
#ifndef FERRY_ALLOC_OPTIONS_H
#define FERRY_ALLOC_OPTIONS_H

#include "ferry/memory.h"

/* Fills what `in` (may be NULL) leaves open from FERRY_BACKEND, FERRY_POLICY, FERRY_LIMIT and FERRY_OVERSUBSCRIBE.
 * limit_bytes stays 0 when nobody set it. */
ferry_status options_resolve(const ferry_options *in, ferry_options *out);

/* Bytes of RAM that the process may use: physical memory, or its cgroup's limit where that is smaller. */
size_t options_ram_bytes(void);

static inline bool options_is_policy(ferry_policy policy) {
#define COUNT_ONE(constant, name) +1
    return (size_t)policy <= 0 FERRY_POLICY_LIST(COUNT_ONE);
#undef COUNT_ONE
}

#endif
