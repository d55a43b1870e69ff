/* The decisions, as pure functions: what to do with a run of pages before somebody uses it. */
#ifndef FERRY_ALLOC_POLICY_H
#define FERRY_ALLOC_POLICY_H

#include "ferry/link.h"
#include "predict.h"

typedef enum policy_action {
    POLICY_KEEP,             /* it is where it should be */
    POLICY_PREFETCH,         /* its contents travel, by our hand */
    POLICY_DISCARD_PREFETCH, /* it is placed, its contents stay behind */
    POLICY_FAULT,            /* nothing is done; the user's own faults will bring it */
    POLICY_REMOTE            /* nothing is done; it is used across the bus */
} policy_action;

/* What a decision rests on. */
struct policy_question {
    ferry_policy policy; /* of the use */
    bool hints;          /* prefetch and discard may be used at all */
    bool homed;          /* the run's region is mapped on both sides, so that nothing need migrate */
    bool tiny;           /* the run lies in a part of the heap that never migrates */
    bool overwritten;    /* every byte of the run's pages will be overwritten: what they hold is worthless */
    ferry_place place;   /* where the run is, never FERRY_PLACE_MIXED */
    ferry_place user;    /* who will use it: a device, or the host */

    /* For auto and a device. */
    ferry_access access;
    size_t bytes;
    bool brief; /* the kernel goes over each operand once: it takes no longer than its bytes do */
    struct outlook outlook;
    const ferry_link_costs *costs;
};

struct verdict {
    policy_action action;
    float remote_ns, migrate_ns; /* what was compared under auto; 0 where nothing had to be */
};

struct verdict policy_decide(const struct policy_question *question);

#endif
