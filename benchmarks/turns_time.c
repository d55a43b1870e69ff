/* Rounds of all strategies at one size, in turns, for as long as there is time. */
#include "turns.h"

#define WARM_UP 2
#define WARM_UP_LEARNING 3
#define LEAST 5      /* measured rounds, whatever time they take, */
#define LEAST_SLOW 3 /* and of slow ones */
#define SLOW_SECONDS 0.5
#define OWN_BYTES ((size_t)32 << 20) /* room for what is managed besides the strategies' arrays */

/* The strategies in hand: those without managed memory, and as many of the others as fit into the limit together. */
struct group {
    struct turns *turns;
    struct turns_size *size;
    bool in[TURNS_STRATEGIES];
    size_t number, count; /* of this group, from 1, and of all */
    double share;         /* seconds for each strategy */
};

/* Strategies without managed memory are in every group, with a part of their rounds. */
static bool is_done(const struct group *group, size_t strategy) {
    const struct turns_outcome *outcome = &group->size->outcomes[strategy];
    bool managed = group->turns->suite->strategies[strategy].managed;
    double part = managed ? 1 : (double)group->number / (double)group->count;
    double measured = (double)outcome->samples.n;
    /* The virtual clock does not care how long that takes here. */
    if (measured >= part * (double)group->turns->runs || group->turns->modelled)
        return measured >= part * (double)group->turns->runs;
    bool slow = outcome->spent > SLOW_SECONDS * (double)outcome->rounds;
    return measured >= part * (slow ? LEAST_SLOW : LEAST) && outcome->spent >= part * group->share;
}

static void tell(const struct group *group, size_t strategy) {
    struct turns *turns = group->turns;
    char size[REPORT_SIZE_TEXT], what[96];
    report_size_text(group->size->bytes, size);
    snprintf(what, sizeof what, "%s, %s", size, turns->suite->strategies[strategy].name);
    report_progress(turns->report, what, (now_seconds() - turns->begin) / turns->seconds);
}

static ferry_status take_turn(struct group *group, size_t strategy) {
    struct turns_outcome *outcome = &group->size->outcomes[strategy];
    bool learns = group->turns->suite->strategies[strategy].learns;
    size_t unmeasured = learns ? WARM_UP_LEARNING : WARM_UP;
    double seconds = 0;
    tell(group, strategy);
    ferry_status status = turns_round(group->turns, strategy, outcome, &seconds);
    if (!status && outcome->rounds > unmeasured)
        samples_add(&outcome->samples, seconds);
    return status;
}

static ferry_status take_turns(struct group *group) {
    ferry_status status = FERRY_OK;
    for (bool busy = true; busy && !status;) {
        busy = false;
        for (size_t s = 0; s < group->turns->suite->n && !status; s++)
            if (group->in[s] && !is_done(group, s)) {
                status = take_turn(group, s);
                busy = true;
            }
    }
    return status;
}

/* Opens the strategies of the group that are managed, or those that are not. */
static ferry_status open_some(struct group *group, bool managed) {
    const struct turns_suite *suite = group->turns->suite;
    ferry_status status = FERRY_OK;
    for (size_t s = 0; s < suite->n && !status; s++)
        if (group->in[s] && suite->strategies[s].managed == managed)
            status = suite->open(s, group->size->bytes);
    return status;
}

static void close_some(struct group *group, bool managed) {
    const struct turns_suite *suite = group->turns->suite;
    for (size_t s = 0; s < suite->n; s++)
        if (group->in[s] && suite->strategies[s].managed == managed) {
            suite->close(s);
            group->in[s] = !managed;
        }
}

/* Takes managed strategies from *next on while they fit together; false when there are none. */
static bool next_group(struct group *group, size_t *next) {
    const struct turns_suite *suite = group->turns->suite;
    size_t each = suite->arrays * group->size->bytes, taken = 0;
    for (; *next < suite->n; (*next)++) {
        if (!suite->strategies[*next].managed || !turns_takes_part(group->turns, *next, group->size->bytes))
            continue;
        if (taken > 0 && (taken + 1) * each + OWN_BYTES > ferry_limit())
            break;
        group->in[*next] = true;
        taken++;
    }
    return taken > 0;
}

static void count_groups(struct group *group) {
    struct group tried = *group;
    size_t next = 0;
    while (next_group(&tried, &next))
        group->count++;
    group->count += group->count == 0;
}

/* Those without managed memory are in every group, if there is no other in a group of their own. */
static void begin(struct group *group, double allowance) {
    const struct turns_suite *suite = group->turns->suite;
    size_t taking_part = 0;
    count_groups(group);
    for (size_t s = 0; s < suite->n; s++) {
        bool part = turns_takes_part(group->turns, s, group->size->bytes);
        group->in[s] = part && !suite->strategies[s].managed;
        taking_part += part;
    }
    group->share = allowance / (double)taking_part;
}

ferry_status turns_time(struct turns *turns, struct turns_size *size, double allowance) {
    struct group group = {.turns = turns, .size = size};
    size_t next = 0;
    begin(&group, allowance);
    ferry_status status = open_some(&group, false);
    for (group.number = 1; group.number <= group.count && !status; group.number++) {
        (void)next_group(&group, &next);
        status = open_some(&group, true);
        if (!status)
            status = take_turns(&group);
        close_some(&group, true);
        if (!status)
            status = ferry_trim();
    }
    close_some(&group, false);
    return status;
}
