#include "policy.h"

#include <math.h>

/* The host populates pages by touching them; only a device needs them placed beforehand. */
static policy_action bring(const struct policy_question *question) {
    if (question->place == FERRY_PLACE_NOWHERE && question->user == FERRY_PLACE_HOST) {
        return POLICY_KEEP;
    }
    return question->overwritten ? POLICY_DISCARD_PREFETCH : POLICY_PREFETCH;
}

/* Passes are added up in bytes gone over; more than this makes no difference to a choice. */
static double passes_of(const struct outlook *outlook) {
    return outlook->passes < FERRY_PASSES_MANY ? outlook->passes : FERRY_PASSES_MANY;
}

static double remote_rate(const struct policy_question *question) {
    const ferry_link_costs *costs = question->costs;
    return question->access == FERRY_READ    ? costs->remote_read_ns_per_byte
           : question->access == FERRY_WRITE ? costs->remote_write_ns_per_byte
                                             : costs->remote_both_ns_per_byte;
}

/* The expected passes across the bus: all but the last are followed by a launch, which hides a part of a kernel that
 * ends before it does. The bytes are at home when the host wants them. */
static double remote_ns(const struct policy_question *question) {
    const double bytes = (double)question->bytes;
    const double fill = question->place == FERRY_PLACE_NOWHERE ? question->costs->fill_host_ns_per_byte * bytes : 0;
    const double pass = question->costs->remote_ns + remote_rate(question) * bytes;
    const double followed = question->brief ? fmax(pass - question->costs->hidden_ns, 0) : pass;
    return fill + pass + fmax(passes_of(&question->outlook) - 1, 0) * followed;
}

static double going_rate(const struct policy_question *question) {
    const ferry_link_costs *costs = question->costs;
    return question->place == FERRY_PLACE_NOWHERE ? costs->fill_device_ns_per_byte
           : question->overwritten                ? costs->discard_to_device_ns_per_byte
                                                  : costs->to_device_ns_per_byte;
}

/* What the host pays later. */
static double return_ns(const struct policy_question *question) {
    const ferry_link_costs *costs = question->costs;
    switch (question->outlook.next) {
    case ENDING_READ:
        return costs->to_host_ns + costs->to_host_ns_per_byte * (double)question->bytes;
    case ENDING_OVERWRITE:
        return costs->to_host_ns + costs->discard_to_host_ns_per_byte * (double)question->bytes;
    case ENDING_UNKNOWN:
    case ENDING_NOTHING:
        break;
    }
    return 0;
}

/* Going there, the passes in the device's own memory, and the way back. */
static double migrate_ns(const struct policy_question *question) {
    const double per_byte = going_rate(question) + passes_of(&question->outlook) * question->costs->device_ns_per_byte;
    return question->costs->to_device_ns + per_byte * (double)question->bytes + return_ns(question);
}

/* Pages on one device that another wants move there; from the host, the cheaper way is taken. */
static struct verdict cheaper(const struct policy_question *question) {
    if (question->place >= 0) {
        return (struct verdict){.action = bring(question)};
    }
    const double remote = remote_ns(question), migrate = migrate_ns(question);
    return (struct verdict){.action = remote <= migrate ? POLICY_REMOTE : bring(question),
                            .remote_ns = (float)remote,
                            .migrate_ns = (float)migrate};
}

/* Nobody moves anything: faults do, unless the region is mapped everywhere. */
static struct verdict leave(const struct policy_question *question) {
    if (!question->homed || !question->hints || question->user == FERRY_PLACE_HOST) {
        return (struct verdict){.action = POLICY_FAULT};
    }
    return (struct verdict){.action = question->place >= 0 ? POLICY_KEEP : POLICY_REMOTE};
}

struct verdict policy_decide(const struct policy_question *question) {
    if (question->tiny && question->hints) {
        return (struct verdict){.action = question->user == FERRY_PLACE_HOST ? POLICY_KEEP : POLICY_REMOTE};
    }
    if (question->place == question->user) {
        return (struct verdict){.action = POLICY_KEEP};
    }
    if (!question->hints || question->policy == FERRY_POLICY_NONE) {
        return leave(question);
    }
    if (question->user >= 0 && question->homed) {
        if (question->policy == FERRY_POLICY_REMOTE && question->place < 0) {
            return (struct verdict){.action = POLICY_REMOTE};
        }
        if (question->policy == FERRY_POLICY_AUTO) {
            return cheaper(question);
        }
    }
    return (struct verdict){.action = bring(question)};
}
