/* What crosses in a round, by the driver's own count where that can be had. */
#include "turns.h"

#define UNCOUNTED 3 /* rounds before: places settle, and policies learn */
#define COUNTED 2

static ferry_status count_rounds(struct turns *turns, size_t strategy, struct turns_size *size) {
    struct turns_outcome *outcome = &size->outcomes[strategy];
    ferry_stats before, after;
    double seconds;
    ferry_status status = FERRY_OK;
    for (int i = 0; i < UNCOUNTED && !status; i++)
        status = turns_round(turns, strategy, outcome, &seconds);
    if (!status)
        status = ferry_stats_get(&before);
    for (int i = 0; i < COUNTED && !status; i++)
        status = turns_round(turns, strategy, outcome, &seconds);
    if (!status)
        status = ferry_stats_get(&after);
    if (status)
        return status;
    double whole = COUNTED * (double)(turns->suite->times * size->bytes);
    outcome->to_device_x = (double)(after.bytes_to_device - before.bytes_to_device) / whole;
    outcome->to_host_x = (double)(after.bytes_to_host - before.bytes_to_host) / whole;
    outcome->counted = true;
    return FERRY_OK;
}

static ferry_status count_strategy(struct turns *turns, size_t strategy, struct turns_size *size) {
    char bytes[REPORT_SIZE_TEXT], what[96];
    report_size_text(size->bytes, bytes);
    snprintf(what, sizeof what, "%s, %s: crossings", bytes, turns->suite->strategies[strategy].name);
    report_progress(turns->report, what, (now_seconds() - turns->begin) / turns->seconds);
    ferry_status status = turns->suite->open(strategy, size->bytes);
    if (!status)
        status = count_rounds(turns, strategy, size);
    turns->suite->close(strategy);
    return status;
}

/* Copies are what they are. */
static void take_copies(struct turns *turns, size_t strategy, struct turns_size *size) {
    struct turns_outcome *outcome = &size->outcomes[strategy];
    outcome->to_device_x = turns->suite->strategies[strategy].in_x;
    outcome->to_host_x = turns->suite->strategies[strategy].out_x;
    outcome->counted = true;
}

static ferry_status count_size(struct turns *turns, struct turns_size *size, double end) {
    ferry_status status = FERRY_OK;
    for (size_t s = 0; s < turns->suite->n && !status; s++) {
        const struct turns_strategy *strategy = &turns->suite->strategies[s];
        if (!turns_takes_part(turns, s, size->bytes))
            continue;
        if (!strategy->managed)
            take_copies(turns, s, size);
        else if (now_seconds() < end && (turns->by_driver || !strategy->driver_moves))
            status = count_strategy(turns, s, size);
    }
    return status ? status : ferry_trim();
}

ferry_status turns_count(struct turns *turns, double end) {
    turns->by_driver = ferry_trace_start() == FERRY_OK;
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < turns->nsizes && !status; i++)
        status = count_size(turns, &turns->sizes[i], end);
    ferry_status stopped = turns->by_driver ? ferry_trace_stop() : FERRY_OK;
    return status ? status : stopped;
}
