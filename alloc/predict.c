#include "predict.h"

/*
 * So many epochs' passes have to come without a visible touch by a host that touches unseen, before it is believed
 * gone: what lies at home is touched without a trace, what a device holds is not. Twice as many each time that it was
 * not.
 */
static unsigned unseen_epochs(const struct history *history) {
    return 1u << history->unseen;
}

/* Passes to come for each that there has been. */
#define OVERDUE_PASSES 4

static struct outlook known(const struct history *history, const struct coming_use *use, unsigned expected,
                            enum source source) {
    const unsigned left = expected > use->passed ? expected - use->passed : 0;
    return (struct outlook){left > use->passes ? left : use->passes, (enum ending)history->ending, source};
}

/*
 * The host did not come when it was expected to, or nothing was expected: several times as many passes again as there
 * have been, and no host. What has been used twice is mostly used often, so that crossing pass by pass is given up
 * before it has cost half of what migrating does.
 */
static struct outlook overdue(const struct coming_use *use) {
    return (struct outlook){use->passes + OVERDUE_PASSES * use->passed, ENDING_NOTHING, SOURCE_OVERDUE};
}

/* Nothing is known: this launch is all there is. What it makes goes where what it reads is; beside inputs on the host,
 * it is the host that will read it. */
static struct outlook unknown(const struct coming_use *use) {
    struct outlook outlook = {use->passes, ENDING_UNKNOWN, use->passes > 1 ? SOURCE_HINT : SOURCE_ACCESS};
    if ((use->access & FERRY_WRITE) != 0) {
        outlook.next = use->inputs_on_device ? ENDING_NOTHING : ENDING_READ;
        outlook.source = use->passes > 1 ? SOURCE_HINT : SOURCE_INPUTS;
    }
    return outlook;
}

struct outlook predict(const struct history *history, const struct coming_use *use) {
    const unsigned expected = history->advised > 0 ? history->advised : history->passes;
    const enum source source = history->advised > 0 ? SOURCE_ADVICE : history->from_site ? SOURCE_SITE : SOURCE_HISTORY;
    if (expected == 0) {
        return use->passed == 0 ? unknown(use) : overdue(use);
    }
    if (use->passed < expected) {
        return known(history, use, expected, source);
    }
    /* A host that touches unseen may have begun new epochs meanwhile. */
    if (history->unseen > 0 && use->passed < unseen_epochs(history) * expected) {
        return known(history, &(struct coming_use){.passes = use->passes}, expected, source);
    }
    return overdue(use);
}

unsigned history_passes_now(const struct history *history, size_t storage_bytes) {
    const uint64_t passes = storage_bytes == 0 ? 0 : (history->bytes_now + storage_bytes / 2) / storage_bytes;
    return passes < UINT16_MAX ? (unsigned)passes : UINT16_MAX;
}

void history_host_touch(struct history *history, unsigned passes, enum ending ending) {
    if (passes > 0) {
        history->passes = (uint16_t)clamp_passes(passes);
        history->ending = (uint8_t)ending;
        history->from_site = false;
    }
    history->bytes_now = 0;
}
