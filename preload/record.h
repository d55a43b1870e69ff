/*
 * The process's record (ferry/run.h): opened by the constructor where FERRY_REPORT names a folder, written as large
 * blocks come and go, ended once.
 *
 *     record.c      the counters
 *     storage.h     the file
 *     registry.h    which blocks live
 *     sites.h       where they were allocated
 *     timeline.h    what lived when
 *
 * Everything may be called from any thread, at any time of the process's life, also before and after, and in a signal's
 * handler. There are no locks, which a fork could leave held, and no allocations but those of a new site's description,
 * inside shim_enter.
 */
#ifndef FERRY_PRELOAD_RECORD_H
#define FERRY_PRELOAD_RECORD_H

#include <stdbool.h>

#include "registry.h"

/* NULL while there is none. */
extern ferry_run_record *record;

/*
 * Makes the record in the folder. `sampled_every`: of as many allocations of a thread one has its call stack taken; 0:
 * none, and a site is where the allocating function returns to. Without a folder that can be written to there is no
 * record. Once, before there are other threads.
 */
void record_open(const char *folder, size_t threshold_bytes, unsigned sampled_every);

/*
 * In a forked child: a record of its own, in which its parent's live blocks are not counted, nor their frees. `account`
 * may be NULL. A child in which this is not called begins its record with the first of the other calls.
 */
void record_after_fork(const ferry_fork_account *account);

/* Whether there is a record, and this process's, if only once it is needed: in a vfork's child it is its parent's. */
bool record_is_own(void);

/* CLOCK_MONOTONIC; 0 where there is no record, so that nobody pays for it. */
uint64_t record_now(void);

/* A large block of `bytes`, which begins a page, allocated since `began_ns` for whoever `site` is in. It is warm when a
 * recorded one has begun there before. */
void record_allocation(const void *block, size_t bytes, ferry_run_home home, uint64_t began_ns, void *site);

/* Of a block that is about to be freed, of which the record knows bytes and home; false: it is none that was recorded.
 * Paired with record_free_end, which counts the time. */
bool record_free(const void *block);
void record_free_end(ferry_run_home home, uint64_t began_ns);

/* The same in steps, of a block that is about to be resized: before that it is taken from those that live, so that
 * whoever gets its address next is told from it; then it was freed, or it is put back. */
bool record_take(const void *block, registry_block *out);
void record_freed(const registry_block *taken);
void record_put_back(const void *block, const registry_block *taken);

/* Managed blocks that share a page with others, which are counted and not told apart. */
void record_part_allocation(size_t bytes, uint64_t began_ns);
void record_part_free(size_t bytes);

/* What managed memory had no room for. */
void record_beyond_limit(size_t bytes);

void record_device(ferry_run_device device, const char *text);

/* The device's counters, as of the end, and why they are not measured ("": they are). */
void record_stats(const ferry_stats *stats);
void record_unmeasured(const char *why);

/* The ordinary heap's blocks under the threshold, as of the end. */
void record_small(const ferry_run_heap *small);

/* The last entries. */
void record_end(ferry_run_end end);

#endif
