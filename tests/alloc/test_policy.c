/* The whole decision table. */
#include "alloc/policy.h"
#include "tests/test.h"

#define ANY (-9)       /* matches everything */
#define DEVICE (-8)    /* any device */
#define ELSEWHERE (-7) /* known, and not where the user is */

/* The first row that matches decides. */
static const struct row {
    const char *rule;
    int policy, hints, tiny, overwritten, place, user;
    policy_action action;
} rows[] = {
    {"tiny storages stay at home", ANY, 1, 1, ANY, ANY, FERRY_PLACE_HOST, POLICY_KEEP},
    {"and are used across the bus", ANY, 1, 1, ANY, ANY, DEVICE, POLICY_REMOTE},
    {"at home", ANY, ANY, ANY, ANY, FERRY_PLACE_HOST, FERRY_PLACE_HOST, POLICY_KEEP},
    {"on device 0", ANY, ANY, ANY, ANY, 0, 0, POLICY_KEEP},
    {"on device 1", ANY, ANY, ANY, ANY, 1, 1, POLICY_KEEP},
    {"no hints", ANY, 0, ANY, ANY, ANY, ANY, POLICY_FAULT},
    {"none does nothing", FERRY_POLICY_NONE, ANY, ANY, ANY, ANY, ANY, POLICY_FAULT},
    {"the host populates by touching", FERRY_POLICY_PREFETCH, 1, 0, ANY, FERRY_PLACE_NOWHERE, FERRY_PLACE_HOST,
     POLICY_KEEP},
    {"a device's fresh output", FERRY_POLICY_PREFETCH, 1, 0, 1, FERRY_PLACE_NOWHERE, DEVICE, POLICY_DISCARD_PREFETCH},
    {"a device's fresh input", FERRY_POLICY_PREFETCH, 1, 0, 0, FERRY_PLACE_NOWHERE, DEVICE, POLICY_PREFETCH},
    {"contents that are worthless", FERRY_POLICY_PREFETCH, 1, 0, 1, ELSEWHERE, ANY, POLICY_DISCARD_PREFETCH},
    {"contents that travel", FERRY_POLICY_PREFETCH, 1, 0, 0, ELSEWHERE, ANY, POLICY_PREFETCH},
};

static bool matches(int pattern, int value, ferry_place user) {
    return pattern == ANY || pattern == value || (pattern == DEVICE && value >= 0) ||
           (pattern == ELSEWHERE && value != FERRY_PLACE_NOWHERE && value != user);
}

static const struct row *find(const struct policy_question *q) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        if (matches(row->policy, (int)q->policy, q->user) && matches(row->hints, q->hints, q->user) &&
            matches(row->tiny, q->tiny, q->user) && matches(row->overwritten, q->overwritten, q->user) &&
            matches(row->place, q->place, q->user) && matches(row->user, q->user, q->user)) {
            return row;
        }
    }
    return NULL;
}

static void check(const struct policy_question *q) {
    const struct row *row = find(q);
    REQUIRE(row != NULL);
    const policy_action action = policy_decide(q);
    CHECK_THAT(action == row->action, "%s: action %d, not %d (policy %d hints %d tiny %d overwritten %d, %d to %d)",
               row->rule, (int)action, (int)row->action, (int)q->policy, q->hints, q->tiny, q->overwritten, q->place,
               q->user);
}

static void every_question_has_its_answer(void) {
    for (int bits = 0; bits < 16; bits++) {
        for (ferry_place place = FERRY_PLACE_NOWHERE; place <= 1; place++) {
            for (ferry_place user = FERRY_PLACE_HOST; user <= 1; user++) {
                check(&(struct policy_question){(bits & 1) != 0 ? FERRY_POLICY_NONE : FERRY_POLICY_PREFETCH,
                                                (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, place, user});
            }
        }
    }
}

int main(void) {
    RUN(every_question_has_its_answer);
    return test_finish();
}
