/* Where large blocks are allocated. Lock-free; the table is the record's. */
#ifndef FERRY_PRELOAD_SITES_H
#define FERRY_PRELOAD_SITES_H

#include "ferry/run.h"

/* Of as many allocations of a thread one has its call stack taken; 0: none. */
void sites_configure(unsigned sampled_every);

/* In a forked child, before it has other threads: for a record that has no sites yet. */
void sites_clear(void);

/*
 * The number, from 1 on, of the place that the allocating function returns to, or that and those further out. A new one
 * gets its text here, which may take milliseconds. 0: the table is full.
 */
unsigned sites_number(ferry_run_record *of, void *return_address);

void sites_count_allocation(ferry_run_record *of, unsigned number, uint64_t bytes);
void sites_count_life(ferry_run_record *of, unsigned number, uint64_t bytes);
void sites_count_death(ferry_run_record *of, unsigned number, uint64_t bytes);

#endif
