/* What is expected of a storage, from what it has seen. */
#include "alloc/predict.h"
#include "tests/test.h"

#define BYTES ((size_t)1 << 20)

static struct outlook ask(const struct history *history, ferry_access access, unsigned passes, unsigned passed,
                          bool inputs_on_device) {
    const struct coming_use use = {access, passes, passed, inputs_on_device};
    return predict(history, &use);
}

static void check(struct outlook outlook, unsigned passes, enum ending next, enum source source, int line) {
    CHECK_THAT(outlook.passes == passes && outlook.next == next && outlook.source == source,
               "line %d: %u passes, next %d, source %d; not %u, %d, %d", line, outlook.passes, (int)outlook.next,
               (int)outlook.source, passes, (int)next, (int)source);
}

#define CHECK_OUTLOOK(outlook, passes, next, source) check(outlook, passes, next, source, __LINE__)

static void nothing_is_known(void) {
    const struct history none = {0};
    CHECK_OUTLOOK(ask(&none, FERRY_READ, 1, 0, false), 1, ENDING_UNKNOWN, SOURCE_ACCESS);
    CHECK_OUTLOOK(ask(&none, FERRY_READ, 16, 0, false), 16, ENDING_UNKNOWN, SOURCE_HINT);
    CHECK_OUTLOOK(ask(&none, FERRY_WRITE, 1, 0, false), 1, ENDING_READ, SOURCE_INPUTS);
    CHECK_OUTLOOK(ask(&none, FERRY_WRITE, 1, 0, true), 1, ENDING_NOTHING, SOURCE_INPUTS);
    CHECK_OUTLOOK(ask(&none, FERRY_READWRITE, 1, 0, false), 1, ENDING_READ, SOURCE_INPUTS);
}

/* Passes that nobody expected promise several times as many. */
static void a_host_that_stays_away(void) {
    const struct history none = {0};
    CHECK_OUTLOOK(ask(&none, FERRY_READ, 1, 1, false), 5, ENDING_NOTHING, SOURCE_OVERDUE);
    CHECK_OUTLOOK(ask(&none, FERRY_WRITE, 1, 5, false), 21, ENDING_NOTHING, SOURCE_OVERDUE);
}

static void the_last_epoch_is_the_next(void) {
    struct history history = {0};
    history_device_pass(&history, BYTES, 1);
    history_device_pass(&history, BYTES, 1);
    history_host_touch(&history, 2, ENDING_OVERWRITE);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 0, false), 2, ENDING_OVERWRITE, SOURCE_HISTORY);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 1, false), 1, ENDING_OVERWRITE, SOURCE_HISTORY);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 2, false), 9, ENDING_NOTHING, SOURCE_OVERDUE);
    history_host_touch(&history, 0, ENDING_READ); /* no pass in between: no epoch */
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 0, false), 2, ENDING_OVERWRITE, SOURCE_HISTORY);
    history_host_touch(&history, 16, ENDING_READ);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 0, false), 16, ENDING_READ, SOURCE_HISTORY);
}

static void advice_goes_first(void) {
    struct history history = {.advised = 9};
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 0, false), 9, ENDING_UNKNOWN, SOURCE_ADVICE);
    history_host_touch(&history, 2, ENDING_READ);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 4, false), 5, ENDING_READ, SOURCE_ADVICE);
}

static void a_launch_of_many_passes(void) {
    struct history history = {0};
    history_host_touch(&history, 2, ENDING_READ);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, FERRY_PASSES_MANY, 0, false), FERRY_PASSES_MANY, ENDING_READ,
                  SOURCE_HISTORY);
}

/* A block that outlives its predecessors is overdue as any other is, though they ended without the host. */
static void what_the_site_says(void) {
    const struct history history = {.passes = 3, .ending = ENDING_NOTHING, .from_site = true};
    CHECK_OUTLOOK(ask(&history, FERRY_WRITE, 1, 0, false), 3, ENDING_NOTHING, SOURCE_SITE);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 2, false), 1, ENDING_NOTHING, SOURCE_SITE);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 3, false), 13, ENDING_NOTHING, SOURCE_OVERDUE);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 7, false), 29, ENDING_NOTHING, SOURCE_OVERDUE);
}

/* A host whose touches cannot be seen begins epochs unnoticed: several without a sign mean that it is gone, and ever
 * more when it was not. */
static void a_host_that_touches_unseen(void) {
    struct history history = {.unseen = 1};
    history_host_touch(&history, 1, ENDING_READ);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 1, false), 1, ENDING_READ, SOURCE_HISTORY);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 2, false), 9, ENDING_NOTHING, SOURCE_OVERDUE);
    history.unseen = UNSEEN_MOST;
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 15, false), 1, ENDING_READ, SOURCE_HISTORY);
    CHECK_OUTLOOK(ask(&history, FERRY_READ, 1, 16, false), 65, ENDING_NOTHING, SOURCE_OVERDUE);
}

/* Slices that are gone over one after the other make one pass over the whole. */
static void passes_are_counted_in_bytes(void) {
    struct history history = {0};
    for (int i = 0; i < 8; i++) {
        history_device_pass(&history, BYTES / 8, 1);
    }
    CHECK_INT(history_passes_now(&history, BYTES), 1);
    history_device_pass(&history, BYTES, 3);
    CHECK_INT(history_passes_now(&history, BYTES), 4);
    history_host_touch(&history, 4, ENDING_READ);
    CHECK_INT(history_passes_now(&history, BYTES), 0);
    history_device_pass(&history, SIZE_MAX, FERRY_PASSES_MANY);
    CHECK_INT(history_passes_now(&history, BYTES), UINT16_MAX);
    CHECK_INT(history_passes_now(&history, 0), 0);
}

int main(void) {
    RUN(nothing_is_known);
    RUN(a_host_that_stays_away);
    RUN(the_last_epoch_is_the_next);
    RUN(advice_goes_first);
    RUN(a_launch_of_many_passes);
    RUN(what_the_site_says);
    RUN(a_host_that_touches_unseen);
    RUN(passes_are_counted_in_bytes);
    return test_finish();
}
