/* The whole decision table. */
#include "alloc/policy.h"
#include "tests/test.h"

#define ANY (-9)       /* matches everything */
#define DEVICE (-8)    /* any device */
#define ELSEWHERE (-7) /* known, and not where the user is */

/* The first row that matches decides. */
static const struct row {
    const char *rule;
    int policy, hints, homed, tiny, overwritten, place, user;
    policy_action action;
} rows[] = {
    {"tiny storages stay at home", ANY, 1, ANY, 1, ANY, ANY, FERRY_PLACE_HOST, POLICY_KEEP},
    {"and are used across the bus", ANY, 1, ANY, 1, ANY, ANY, DEVICE, POLICY_REMOTE},
    {"at home", ANY, ANY, ANY, ANY, ANY, FERRY_PLACE_HOST, FERRY_PLACE_HOST, POLICY_KEEP},
    {"on device 0", ANY, ANY, ANY, ANY, ANY, 0, 0, POLICY_KEEP},
    {"on device 1", ANY, ANY, ANY, ANY, ANY, 1, 1, POLICY_KEEP},
    {"no hints", ANY, 0, 0, ANY, ANY, ANY, ANY, POLICY_FAULT},
    {"nor with advice", ANY, 0, 1, ANY, ANY, ANY, ANY, POLICY_FAULT},
    {"none, for the host", FERRY_POLICY_NONE, ANY, ANY, ANY, ANY, ANY, FERRY_PLACE_HOST, POLICY_FAULT},
    {"none, where faults move pages", FERRY_POLICY_NONE, ANY, 0, ANY, ANY, ANY, DEVICE, POLICY_FAULT},
    {"none, mapped and at home", FERRY_POLICY_NONE, 1, 1, ANY, ANY, FERRY_PLACE_HOST, DEVICE, POLICY_REMOTE},
    {"none, mapped and untouched", FERRY_POLICY_NONE, 1, 1, ANY, ANY, FERRY_PLACE_NOWHERE, DEVICE, POLICY_REMOTE},
    {"none, mapped on another device", FERRY_POLICY_NONE, 1, 1, ANY, ANY, DEVICE, DEVICE, POLICY_KEEP},
    {"remote, at home", FERRY_POLICY_REMOTE, 1, 1, 0, ANY, FERRY_PLACE_HOST, DEVICE, POLICY_REMOTE},
    {"remote, untouched", FERRY_POLICY_REMOTE, 1, 1, 0, ANY, FERRY_PLACE_NOWHERE, DEVICE, POLICY_REMOTE},
    {"the host populates by touching", ANY, 1, ANY, 0, ANY, FERRY_PLACE_NOWHERE, FERRY_PLACE_HOST, POLICY_KEEP},
    {"a device's fresh output", ANY, 1, ANY, 0, 1, FERRY_PLACE_NOWHERE, DEVICE, POLICY_DISCARD_PREFETCH},
    {"a device's fresh input", ANY, 1, ANY, 0, 0, FERRY_PLACE_NOWHERE, DEVICE, POLICY_PREFETCH},
    {"contents that are worthless", ANY, 1, ANY, 0, 1, ELSEWHERE, ANY, POLICY_DISCARD_PREFETCH},
    {"contents that travel", ANY, 1, ANY, 0, 0, ELSEWHERE, ANY, POLICY_PREFETCH},
};

static bool matches(int pattern, int value, ferry_place user) {
    return pattern == ANY || pattern == value || (pattern == DEVICE && value >= 0) ||
           (pattern == ELSEWHERE && value != FERRY_PLACE_NOWHERE && value != user);
}

static const struct row *find(const struct policy_question *q) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        if (matches(row->policy, (int)q->policy, q->user) && matches(row->hints, q->hints, q->user) &&
            matches(row->homed, q->homed, q->user) && matches(row->tiny, q->tiny, q->user) &&
            matches(row->overwritten, q->overwritten, q->user) && matches(row->place, q->place, q->user) &&
            matches(row->user, q->user, q->user)) {
            return row;
        }
    }
    return NULL;
}

static void check(const struct policy_question *q) {
    const struct row *row = find(q);
    REQUIRE(row != NULL);
    const policy_action action = policy_decide(q).action;
    CHECK_THAT(action == row->action,
               "%s: action %d, not %d (policy %d hints %d homed %d tiny %d overwritten %d, %d to %d)", row->rule,
               (int)action, (int)row->action, (int)q->policy, q->hints, q->homed, q->tiny, q->overwritten, q->place,
               q->user);
}

/* auto differs from prefetch only where it compares: see below. */
static void every_question_has_its_answer(void) {
    static const ferry_policy policies[] = {FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE, FERRY_POLICY_NONE};
    for (int bits = 0; bits < 3 * 16; bits++) {
        for (ferry_place place = FERRY_PLACE_NOWHERE; place <= 1; place++) {
            for (ferry_place user = FERRY_PLACE_HOST; user <= 1; user++) {
                check(&(struct policy_question){.policy = policies[bits / 16],
                                                .hints = (bits & 1) != 0,
                                                .homed = (bits & 2) != 0,
                                                .tiny = (bits & 4) != 0,
                                                .overwritten = (bits & 8) != 0,
                                                .place = place,
                                                .user = user});
            }
        }
    }
}

/* Per byte as one H200 over PCIe 5 was measured; fixed costs as well. */
static const ferry_link_costs pcie5 = {
    .to_device_ns = 35e3,
    .to_device_ns_per_byte = 0.0201,
    .to_host_ns = 40e3,
    .to_host_ns_per_byte = 0.08,
    .discard_to_device_ns_per_byte = 0.0065,
    .discard_to_host_ns_per_byte = 0.055,
    .fill_device_ns_per_byte = 0.0047,
    .fill_host_ns_per_byte = 0.17,
    .remote_ns = 1e3,
    .hidden_ns = 1.5e3,
    .remote_read_ns_per_byte = 0.0195,
    .remote_write_ns_per_byte = 0.019,
    .remote_both_ns_per_byte = 0.0238,
    .device_ns_per_byte = 0.0003,
};

static bool brief = true;

static policy_action choose(ferry_access access, ferry_place place, size_t bytes, unsigned passes, enum ending next) {
    const struct policy_question question = {.policy = FERRY_POLICY_AUTO,
                                             .hints = true,
                                             .homed = true,
                                             .overwritten = access == FERRY_WRITE,
                                             .place = place,
                                             .user = 0,
                                             .access = access,
                                             .bytes = bytes,
                                             .brief = brief,
                                             .outlook = {.passes = passes, .next = next},
                                             .costs = &pcie5};
    return policy_decide(&question).action;
}

#define HOME FERRY_PLACE_HOST
#define CHECK_CHOICE(action, ...) CHECK_INT(choose(__VA_ARGS__), (action))

static void auto_takes_the_cheaper_way(void) {
    const size_t gib = (size_t)1 << 30, mib = (size_t)1 << 20;
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, gib, 1, ENDING_UNKNOWN);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, gib, 2, ENDING_UNKNOWN);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, gib, FERRY_PASSES_MANY, ENDING_READ);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, gib, 3, ENDING_OVERWRITE);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, gib, 4, ENDING_OVERWRITE);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, gib, 5, ENDING_READ);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, gib, 6, ENDING_READ);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_WRITE, HOME, gib, 1, ENDING_READ);
    CHECK_CHOICE(POLICY_DISCARD_PREFETCH, FERRY_WRITE, HOME, gib, 1, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_DISCARD_PREFETCH, FERRY_WRITE, FERRY_PLACE_NOWHERE, gib, 1, ENDING_READ);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READWRITE, HOME, gib, 1, ENDING_READ);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READWRITE, HOME, gib, 16, ENDING_READ);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, 1, gib, 1, ENDING_READ);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, 4096, 20, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, 64 * 1024, 8, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, 4096, FERRY_PASSES_MANY, ENDING_NOTHING); /* the launches hide it */
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, 64 * 1024, 17, ENDING_NOTHING);
    brief = false;
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, 4096, FERRY_PASSES_MANY, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, 64 * 1024, 17, ENDING_NOTHING);
    brief = true;
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, 64 * 1024, 64, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_REMOTE, FERRY_READ, HOME, mib, 2, ENDING_NOTHING);
    CHECK_CHOICE(POLICY_PREFETCH, FERRY_READ, HOME, mib, 4, ENDING_NOTHING);
}

int main(void) {
    RUN(every_question_has_its_answer);
    RUN(auto_takes_the_cheaper_way);
    return test_finish();
}
