/*
 * What became of blocks, by the place in the program that allocates them: a program that repeats itself is known after
 * its first round.
 *
 * The memory is keyed by site, size class and ordinal. The ordinal of a block is the number of blocks of its size class
 * born at the site, on the thread, since the host last read a block of the site: in a loop that allocates nine
 * temporaries and a result at one line and reads the result, ordinals 0 to 9 repeat every round, and so the tenth is
 * told from the nine.
 *
 * No function locks, waits or allocates; all may be called by any thread at any time, in a forked child too. What
 * races lose is an observation, what they cost is a wrong prediction.
 */
#ifndef FERRY_ALLOC_SITE_TABLE_H
#define FERRY_ALLOC_SITE_TABLE_H

#include <stddef.h>

#include "ferry/site.h"
#include "outlook.h"

#define SITE_LAST_ORDINAL 63u /* shared by all later ones */

/* Where a block's outcome is to be noted. All zeros: nowhere, which every function accepts. */
struct site_key {
    uint32_t memory, any, head;
};

/* A block of `bytes` is born at `site`; *out is what became of its predecessors, and where there was none of its
 * ordinal, what two of the site's last blocks agreed on. No key and nothing known when the site is 0 or the table has
 * no room. A few nanoseconds. */
struct site_key site_born(ferry_site site, size_t bytes, struct site_outlook *out);

/* The host has read a block of the site: on the thread that the block was born on, the next birth has ordinal 0. */
void site_host_read(struct site_key key);

/*
 * What became of a block when its life, or a run of device passes, ended. ENDING_UNKNOWN teaches about passes only;
 * seen->known is not looked at. After several `blind` outcomes, of blocks that the host may have read at home, one is
 * predicted to be left alone, so that it is born where a touch is seen.
 */
void site_learn(struct site_key key, const struct site_outlook *seen);

/*
 * A prediction and how far to trust it. The latest outcome wins, except that one which contradicts a prediction made
 * twice or more is forgiven once. For the table and its tests.
 */
struct site_prediction {
    uint16_t value;
    uint8_t trust; /* 0: nothing seen yet, 1: seen once, 2: confirmed */
};
struct site_prediction site_predict(struct site_prediction before, uint16_t seen);

/* Size class: quarters of a power of two, so that 1.00 and 1.01 GiB are one. At most 255. */
unsigned site_size_class(size_t bytes);

/* Forgets everything, for tests and benchmarks that begin anew; keys from before do no harm. */
void site_table_clear(void);

#endif
