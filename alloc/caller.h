/* On whose behalf a public function works: the site that the thread has named, else the place that it returns to. */
#ifndef FERRY_ALLOC_CALLER_H
#define FERRY_ALLOC_CALLER_H

#include "ferry/site.h"

#define CALLER_SITE() caller_site(__builtin_return_address(0))

static inline ferry_site caller_site(void *return_address) {
    const ferry_site named = ferry_site_get();
    return named != 0 ? named : (ferry_site)return_address;
}

#endif
