/* One line on standard error while work goes on. */
#ifndef FERRY_TOOLS_PROGRESS_H
#define FERRY_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is drawn unless standard error is a terminal and a second has passed since progress_init. */
typedef struct progress {
    const char *verb, *path; /* the step in hand */
    uint64_t start_ns, drawn_ns;
    bool terminal, drawn;
} progress;

void progress_init(progress *p);
void progress_step(progress *p, const char *verb, const char *path);
/* A ferry_progress_function; `context` is the progress. */
void progress_update(void *context, int64_t done_bytes, int64_t total_bytes);
/* How much of the step is done, 0 to 1. */
void progress_share(progress *p, double done);
/* Erases the line. */
void progress_clear(progress *p);

#endif
