#include "policy.h"

/* The host populates pages by touching them; only a device needs them placed beforehand. */
static policy_action bring(const struct policy_question *question) {
    if (question->place == FERRY_PLACE_NOWHERE && question->user == FERRY_PLACE_HOST) {
        return POLICY_KEEP;
    }
    return question->overwritten ? POLICY_DISCARD_PREFETCH : POLICY_PREFETCH;
}

policy_action policy_decide(const struct policy_question *question) {
    if (question->tiny && question->hints) {
        return question->user == FERRY_PLACE_HOST ? POLICY_KEEP : POLICY_REMOTE;
    }
    if (question->place == question->user) {
        return POLICY_KEEP;
    }
    if (!question->hints || question->policy == FERRY_POLICY_NONE) {
        return POLICY_FAULT;
    }
    return bring(question);
}
