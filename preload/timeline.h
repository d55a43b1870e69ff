/* Live bytes over the life of a process. */
#ifndef FERRY_PRELOAD_TIMELINE_H
#define FERRY_PRELOAD_TIMELINE_H

#include "ferry/run.h"

/*
 * What lives has changed. Changes within sample_every_ns share a sample, and that interval grows as the process gets
 * older, so that the samples always cover its whole life. Threads never wait here for one another: who finds another at
 * it leaves the change to that.
 */
void timeline_note(ferry_run_record *of, uint64_t now_ns);

/* For a record that has no samples yet. */
void timeline_begin(ferry_run_record *of);

#endif
