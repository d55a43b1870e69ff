/* What strict mode finds while the movement lock is held, and says once it is let go. */
#ifndef FERRY_ALLOC_FINDING_H
#define FERRY_ALLOC_FINDING_H

#include "plan.h"
#include "strict.h"

/* FERRY_REDUNDANT, with *finding filled, when the plan would carry bytes again that nobody has written; else the plan's
 * status. Movement lock. */
ferry_status finding_in_plan(const struct plan *plan, ferry_site site, struct strict_crossing *finding);

/* FERRY_UNSYNCHRONISED, with *finding filled, when the host has touched what queued work was using. Movement lock. */
ferry_status finding_of_touch(ferry_site site, struct strict_crossing *finding);

/* Tells of a status that came with a finding; returns the status. No lock. */
ferry_status finding_tell(ferry_status status, const struct strict_crossing *finding);

#endif
