/* Threads that do the same work at the same time. */
#ifndef FERRY_BENCHMARKS_TEAM_H
#define FERRY_BENCHMARKS_TEAM_H

#include <stddef.h>

#define TEAM_MOST 16

/* A member's part of a job: members are numbered from 0. */
typedef void (*team_work)(void *context, size_t member);

struct team;

/* Starts `members` threads, 1 to TEAM_MOST. NULL when they cannot be started. */
struct team *team_open(size_t members);

/* Has every member do `work`, and waits. All begin together; seconds from the first one's begin to the last one's end.
 */
double team_run(struct team *team, team_work work, void *context);

/* NULL is a no-op. */
void team_close(struct team *team);

/* The machine's cores, at most TEAM_MOST. */
size_t team_cores(void);

#endif
