/* One cell of the suite `reuse`: all strategies in turns, as often as there is time. */
#include <stdlib.h>

#include "clock.h"
#include "explicit.h"
#include "pool.h"
#include "reuse.h"

#define UNMEASURED 2 /* epochs: the first, in which the inputs are filled, and one to learn from */
#define RUNS_LEAST 3
#define RUNS_LEAST_SLOW 2
#define SLOW_SECONDS 0.3   /* of an epoch of a strategy that is there for comparison only */
#define ENOUGH_SECONDS 0.1 /* of measured epochs per strategy */

static void subtract(ferry_stats *now, const ferry_stats *before) {
    now->bytes_to_device -= before->bytes_to_device;
    now->bytes_to_host -= before->bytes_to_host;
}

/* An epoch, and what it added to the outcome. `wall` is how long it took, its checks included. */
static ferry_status run_epoch(struct reuse_run *run, struct reuse_outcome *outcome, double *wall) {
    ferry_stats before, after;
    double seconds, begin = now_seconds();
    ferry_status status = ferry_stats_get(&before);
    if (!status)
        status = reuse_run_epoch(run, &seconds);
    if (!status)
        status = ferry_stats_get(&after);
    if (status)
        return status;
    *wall = now_seconds() - begin;
    if (run->epochs == 1) {
        outcome->first = seconds;
    } else if (run->epochs == UNMEASURED) {
        outcome->learning = seconds;
    } else {
        subtract(&after, &before);
        outcome->to_device += after.bytes_to_device;
        outcome->to_host += after.bytes_to_host;
        samples_add(&outcome->samples, seconds);
    }
    return FERRY_OK;
}

static bool only_compared(int strategy) {
    return strategy == REUSE_NONE || strategy == REUSE_PAGEABLE;
}

/* On the virtual clock the same on every machine. */
static size_t plan_modelled(const struct reuse_run *run, size_t runs) {
    return !run->sparse || runs < RUNS_LEAST ? runs : RUNS_LEAST;
}

/* Measured epochs of a strategy whose epochs take `seconds`, in `share` of the time that all would take. */
static size_t plan_runs(int strategy, double seconds, size_t runs, double share) {
    bool slow = only_compared(strategy) && seconds > SLOW_SECONDS;
    size_t least = slow ? RUNS_LEAST_SLOW : RUNS_LEAST;
    double wanted = slow ? RUNS_LEAST_SLOW : share * ENOUGH_SECONDS / (seconds > 1e-9 ? seconds : 1e-9);
    size_t planned = wanted > (double)runs ? runs : (size_t)wanted;
    return planned > least ? planned : least < runs ? least : runs;
}

static void plan_all(const struct reuse_run *all_runs, const struct reuse_outcome *outcomes, const double *walls,
                     size_t runs, double left, size_t *planned) {
    double all = 0;
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        all += outcomes[s].tried ? walls[s] * (double)plan_runs(s, walls[s], runs, 1) : 0;
    double share = all > left && all > 0 ? (left > 0 ? left / all : 0) : 1;
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (outcomes[s].tried)
            planned[s] = UNMEASURED + (all_runs[s].setup->modelled ? plan_modelled(&all_runs[s], runs)
                                                                   : plan_runs(s, walls[s], runs, share));
}

static ferry_status run_in_turns(struct reuse_run *runs, struct reuse_outcome *outcomes, size_t most, double end) {
    size_t planned[REUSE_STRATEGIES];
    double walls[REUSE_STRATEGIES] = {0};
    bool busy = true;
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        planned[s] = outcomes[s].tried ? UNMEASURED : 0;
    for (size_t epoch = 0; busy; epoch++) {
        if (epoch == UNMEASURED)
            plan_all(runs, outcomes, walls, most, end - now_seconds(), planned);
        busy = epoch < UNMEASURED;
        for (int s = 0; s < REUSE_STRATEGIES; s++) {
            ferry_status status = epoch < planned[s] ? run_epoch(&runs[s], &outcomes[s], &walls[s]) : FERRY_OK;
            if (status)
                return status;
            busy |= epoch + 1 < planned[s];
        }
    }
    return FERRY_OK;
}

ferry_status reuse_cell_run(struct reuse_setup *setup, const struct reuse_cell *cell, size_t runs, double allowance,
                            struct reuse_outcome outcomes[REUSE_STRATEGIES]) {
    static struct reuse_run all[REUSE_STRATEGIES];
    double end = now_seconds() + allowance;
    ferry_status status = FERRY_OK;
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        outcomes[s] = (struct reuse_outcome){.tried = s < REUSE_MANAGED || setup->has_explicit};
        all[s] = (struct reuse_run){.epochs = 0};
        if (!status)
            status = reuse_run_open(&all[s], setup, cell, (enum reuse_strategy)s);
    }
    if (!status)
        status = run_in_turns(all, outcomes, runs, end);
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        outcomes[s].wrong = all[s].wrong;
        if (!status && s < REUSE_MANAGED)
            reuse_run_explain(&all[s], outcomes[s].explanation, sizeof outcomes[s].explanation);
        reuse_run_close(&all[s]);
    }
    return status;
}

static volatile double kept; /* what is read must have been */

static double act_alone(struct content *content, enum reuse_action action, double *array) {
    double begin = now_seconds();
    if (action == REUSE_OVERWRITE)
        content_overwrite(content, array);
    else if (action == REUSE_UPDATE)
        content_update(content, array);
    else if (action == REUSE_READ)
        kept = content_read(content, array);
    else if (action == REUSE_SAMPLE)
        kept = content_probe(content, array);
    return now_seconds() - begin;
}

double reuse_host_alone(enum reuse_action action, size_t n) {
    static struct samples samples;
    struct content content = content_new(n, false);
    double *array = clock_is_virtual() || action == REUSE_NOTHING ? NULL : malloc(n * sizeof *array);
    if (!array)
        return 0;
    content_overwrite(&content, array);
    samples.n = 0;
    for (int i = 0; i < RUNS_LEAST; i++)
        samples_add(&samples, act_alone(&content, action, array));
    free(array);
    return samples_median(&samples);
}
