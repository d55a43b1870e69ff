/* Why a view is where it is, in a sentence. */
#include "core.h"
#include "crossing.h"
#include "heap.h"
#include "operands.h"
#include "region.h"
#include "sentence.h"
#include "stream.h"

static void say_place(struct sentence *sentence, ferry_place place) {
    switch (place) {
    case FERRY_PLACE_NOWHERE:
        sentence_add(sentence, "never touched, as far as the library knows");
        break;
    case FERRY_PLACE_MIXED:
        sentence_add(sentence, "in several places");
        break;
    default:
        sentence_add(sentence, "on ");
        sentence_add_place(sentence, place);
    }
}

static void say_time(struct sentence *sentence, double ns) {
    if (ns < 1e3) {
        sentence_add(sentence, "%.0f ns", ns);
    } else if (ns < 1e6) {
        sentence_add(sentence, "%.1f us", ns / 1e3);
    } else {
        sentence_add(sentence, "%.2f ms", ns / 1e6);
    }
}

static const char *ending_text(enum ending next) {
    switch (next) {
    case ENDING_READ:
        return "before the host reads it";
    case ENDING_OVERWRITE:
        return "before the host overwrites it";
    case ENDING_NOTHING:
        return "and no touch by the host";
    case ENDING_UNKNOWN:
        break;
    }
    return "before the host touches it";
}

static const char *source_text(enum source source) {
    switch (source) {
    case SOURCE_INPUTS:
        return "a result goes where what it is made from is";
    case SOURCE_HINT:
        return "so many does the launch make";
    case SOURCE_ADVICE:
        return "as advised";
    case SOURCE_HISTORY:
        return "as last time";
    case SOURCE_SITE:
        return "as with the block allocated here before";
    case SOURCE_OVERDUE:
        return "the host was expected earlier, if at all";
    case SOURCE_ACCESS:
        break;
    }
    return "nothing else is known";
}

static void say_why(struct sentence *sentence, const struct memories *memories) {
    const struct outlook *outlook = &memories->outlook;
    if (outlook->passes >= FERRY_PASSES_MANY) {
        sentence_add(sentence, ": many passes of devices were expected ");
    } else {
        sentence_add(sentence, ": %u %s expected ", outlook->passes,
                     outlook->passes == 1 ? "pass of a device was" : "passes of devices were");
    }
    sentence_add(sentence, "%s (%s); going there and back costs ", ending_text(outlook->next),
                 source_text(outlook->source));
    say_time(sentence, (double)memories->verdict.migrate_ns);
    sentence_add(sentence, ", crossing the bus each time ");
    say_time(sentence, (double)memories->verdict.remote_ns);
}

static void say_storage(struct sentence *sentence, const struct storage_place *place) {
    const struct memories *memories = &place->storage->memories;
    const ferry_policy policy =
        memories->policy == FERRY_POLICY_DEFAULT ? place->region->heap->policy : memories->policy;
    if (place->region->tiny) {
        sentence_add(sentence, ": blocks under 4 KiB never migrate");
    } else if (place->storage->fresh) {
        sentence_add(sentence, ": nobody has acquired it yet");
    } else if (memories->latest == USED_BY_HOST) {
        sentence_add(sentence, ": the host was the last to touch it");
    } else if (memories->latest == MOVED_BY_HAND) {
        sentence_add(sentence, ": it was moved by hand");
    } else if (memories->verdict.remote_ns > 0) {
        say_why(sentence, memories);
    } else {
        sentence_add(sentence, ": nothing had to be decided under policy %s", ferry_policy_name(policy));
    }
}

ferry_status ferry_explain(const ferry_view *view, char *text, size_t bytes) {
    struct storage_place place;
    char *low, *high;
    ferry_status status = core_start_device();
    status = status == FERRY_OK ? operands_find_view(view, &low, &high, &place) : status;
    if (status != FERRY_OK) {
        return status;
    }
    if (low == NULL) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "a view without elements lies nowhere");
    }
    struct sentence sentence;
    sentence_begin(&sentence, text, bytes);
    movement_lock();
    say_place(&sentence, crossing_place(view, &place));
    say_storage(&sentence, &place);
    movement_unlock();
    return FERRY_OK;
}
