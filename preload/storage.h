/*
 * The record's file. It is mapped whole and is mostly holes; a part is written to only once the file system has given
 * its room, as a full disk would end the process otherwise.
 */
#ifndef FERRY_PRELOAD_STORAGE_H
#define FERRY_PRELOAD_STORAGE_H

#include <stdbool.h>

#include "ferry/run.h"

/* Where files are made from now on; false: the path is too long. */
bool storage_configure(const char *folder);

/*
 * Makes a file for a process that began then and maps it, with room for what is in front of the samples. `where`: the
 * record that it takes the place of, NULL for none. NULL: it cannot be made; in the old one's place is then memory that
 * nobody reads.
 */
ferry_run_record *storage_make(ferry_run_record *where, uint64_t began_ns);

/* Whether the record's first bytes, up to there, may be written to. */
bool storage_reserve(size_t end_bytes);

#endif
