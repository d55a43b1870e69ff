/* Strict mode: what a program does that costs crossings, or is wrong, told with the places in its code. */
#ifndef FERRY_STRICT_H
#define FERRY_STRICT_H

#include "ferry/movement.h"
#include "ferry/site.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ferry_finding_kind {
    FERRY_FINDING_REDUNDANT,     /* bytes would cross again in the same direction, and nobody has written them */
    FERRY_FINDING_UNSYNCHRONISED /* the host touched what a queued kernel uses (the simulator notices) */
} ferry_finding_kind;

typedef struct ferry_finding {
    ferry_finding_kind kind;
    const void *address;         /* of the storage */
    size_t storage_bytes, bytes; /* the storage's length; how many of them are concerned */
    ferry_place to;              /* where they cross to; FERRY_PLACE_HOST for an unsynchronised touch */
    ferry_site born;             /* where the storage was allocated; 0: not known */
    ferry_site before,
        now;          /* where they crossed the first time, or the kernel was launched; and where now. 0: not known */
    const char *text; /* a sentence with all of it; for the time of the call */
} ferry_finding;

/*
 * Strict mode is switched on by ferry_options.strict or FERRY_STRICT=1. Then ferry_acquire, ferry_host_acquire,
 * ferry_prefetch and what is built on them (ferry_apply, ferry_launch, …) fail with FERRY_REDUNDANT, having moved
 * nothing, when bytes would cross again in the same direction that nobody wrote in between; the detail is the finding's
 * sentence. Each is told once: the same call, repeated, goes through. Bytes that policy auto lets cross again because
 * that is the cheapest, and what happens under policy none, are not told of: there is nothing to mend. An
 * unsynchronised touch fails the next of these calls, or ferry_sync, with FERRY_UNSYNCHRONISED, once.
 *
 * The handler is called for every finding, on the thread that makes the failing call, with no lock held. NULL: none. It
 * may be set at any time.
 */
typedef void (*ferry_finding_handler)(const ferry_finding *finding, void *context);
FERRY_API void ferry_on_finding(ferry_finding_handler handler, void *context);

#ifdef __cplusplus
}
#endif
#endif
