/* On whose behalf a public function works, and by whose policy. */
#ifndef FERRY_ALLOC_CALLER_H
#define FERRY_ALLOC_CALLER_H

#include "ferry/memory.h"
#include "ferry/site.h"

/* What the thread has said of its calls. One record, since in a shared library it takes a call to find it. */
struct caller {
    ferry_site site;     /* 0: none */
    ferry_policy policy; /* of its uses, over those of arrays and heaps; FERRY_POLICY_DEFAULT: none */
};
extern _Thread_local struct caller caller;

/* The site that the thread has named, else the place that the function returns to. */
#define CALLER_SITE() caller_site(&caller, __builtin_return_address(0))

static inline ferry_site caller_site(const struct caller *says, void *return_address) {
    return says->site != 0 ? says->site : (ferry_site)return_address;
}

#endif
