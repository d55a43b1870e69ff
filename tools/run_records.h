/* The records of a run's processes (ferry/run.h), read from a folder. They are others' files: nothing in them is taken
 * for granted. */
#ifndef FERRY_TOOLS_RUN_RECORDS_H
#define FERRY_TOOLS_RUN_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ferry/run.h"

typedef enum run_end {
    RUN_EXITED,
    RUN_LEFT,
    RUN_REPLACED,
    RUN_LIVES,  /* it still runs */
    RUN_KILLED, /* by `signal` */
    RUN_GONE,   /* without a word */
    RUN_ENDS
} run_end;

typedef struct run_process {
    ferry_run_record *record; /* cut off behind the sites that are in use */
    run_end end;
    int signal;
    uint64_t lasted_ns; /* 0: nobody knows */
} run_process;

typedef struct run_total {
    size_t processes, with_large_blocks;
    ferry_run_heap heaps[FERRY_RUN_HOMES], small; /* peaks: the largest of any process */
    uint64_t beyond_limit_blocks, beyond_limit_bytes, lost_blocks, lost_bytes, kept_bytes;
    uint64_t resident_peak_bytes; /* the largest */
    ferry_stats stats;            /* peaks as well; measured: in all processes with a device */
} run_total;

typedef struct run_records {
    run_process *processes; /* in order of their beginnings */
    size_t count, capacity;
    size_t skipped; /* files that are no records, each with a message */
    run_total total;
} run_records;

/* Reads all there are in the folder. EXIT_DONE, or EXIT_FAILED with a message. */
int run_records_read(const char *folder, run_records *out);
void run_records_free(run_records *records);

/* Deletes the folder's records. */
void run_records_remove(const char *folder);

/* What the process's parent was told of its end, by waitpid. */
void run_records_note_end(run_records *records, pid_t pid, int status);

/* Allocations of all homes. */
uint64_t run_large_blocks(const ferry_run_record *record);

/* Whether the device's counters are there: of a process that was killed they are not. */
bool run_has_stats(const ferry_run_record *record);

/* The program's name without its folder. */
const char *run_program_name(const ferry_run_record *record);

/* Names of enumerators, for reports. */
extern const char *const RUN_HOME_NAMES[FERRY_RUN_HOMES];

#endif
