/* One cell of the suite `reuse`: all strategies in turns, as often as there is time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "host_model.h"
#include "reuse.h"

#define UNMEASURED 2 /* epochs: the first, in which the inputs are filled, and one to learn from */
#define RUNS_LEAST 3
#define RUNS_LEAST_SHORT 15 /* of epochs that take less than */
#define SHORT_SECONDS 5e-3
#define ATTEMPTS 3 /* at cells that small, so that one hiccup does not speak for what learning costs */
#define SMALL_BYTES ((size_t)1 << 20)
#define RUNS_LEAST_SLOW 2  /* of pageable copies, which no check looks at */
#define SLOW_SECONDS 0.3   /* of an epoch of a strategy that is there for comparison only */
#define HOPELESS_TIMES 10  /* a slow policy that takes so many times as long as the fastest runs once more */
#define ENOUGH_SECONDS 0.1 /* of measured epochs per strategy */

static void count(struct reuse_crossed *crossed, const ferry_stats *before, const ferry_stats *after) {
    crossed->to_device += after->bytes_to_device - before->bytes_to_device;
    crossed->to_host += after->bytes_to_host - before->bytes_to_host;
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
    count(run->epochs > UNMEASURED ? &outcome->crossed : &outcome->learned, &before, &after);
    if (run->epochs == 1)
        outcome->first = seconds;
    else if (run->epochs > UNMEASURED)
        samples_add(&outcome->samples, seconds);
    else
        outcome->learning = seconds;
    if (run->epochs == UNMEASURED)
        reuse_run_explain(run, outcome->learned_why, sizeof outcome->learned_why);
    return FERRY_OK;
}

/* On the virtual clock the same on every machine. */
static size_t plan_modelled(const struct reuse_run *run, size_t runs) {
    return !run->sparse || runs < RUNS_LEAST ? runs : RUNS_LEAST;
}

static size_t least_runs(int strategy, double seconds, double fastest) {
    if (seconds <= SHORT_SECONDS)
        return RUNS_LEAST_SHORT;
    if (seconds <= SLOW_SECONDS)
        return RUNS_LEAST;
    if (strategy == REUSE_PAGEABLE)
        return RUNS_LEAST_SLOW;
    return strategy != REUSE_NONE && seconds > HOPELESS_TIMES * fastest ? 1 : RUNS_LEAST;
}

/* Measured epochs of a strategy whose epochs take `seconds`, in `share` of the time that all would take. */
static size_t plan_runs(int strategy, double seconds, double fastest, size_t runs, double share) {
    size_t least = least_runs(strategy, seconds, fastest);
    double wanted = share * ENOUGH_SECONDS / (seconds > 1e-9 ? seconds : 1e-9);
    size_t planned = wanted > (double)runs ? runs : (size_t)wanted;
    return planned > least ? planned : least < runs ? least : runs;
}

static double fastest_policy(unsigned strategies, const double *walls) {
    double fastest = INFINITY;
    for (int s = 0; s < REUSE_MANAGED; s++)
        fastest = strategies >> s & 1 ? fmin(fastest, walls[s]) : fastest;
    return fastest;
}

static void plan_all(const struct reuse_run *all_runs, unsigned strategies, const double *walls, size_t runs,
                     double left, size_t *planned) {
    double all = 0, fastest = fastest_policy(strategies, walls);
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        all += planned[s] ? walls[s] * (double)plan_runs(s, walls[s], fastest, runs, 1) : 0;
    double share = all > left && all > 0 ? (left > 0 ? left / all : 0) : 1;
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (planned[s])
            planned[s] = UNMEASURED + (all_runs[s].setup->modelled ? plan_modelled(&all_runs[s], runs)
                                                                   : plan_runs(s, walls[s], fastest, runs, share));
}

static ferry_status run_in_turns(struct reuse_run *runs, unsigned strategies, struct reuse_outcome *outcomes,
                                 size_t most, double end) {
    size_t planned[REUSE_STRATEGIES];
    double walls[REUSE_STRATEGIES] = {0};
    bool busy = true;
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        planned[s] = strategies >> s & 1 ? UNMEASURED : 0;
    for (size_t epoch = 0; busy; epoch++) {
        if (epoch == UNMEASURED)
            plan_all(runs, strategies, walls, most, end - now_seconds(), planned);
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

static void end_run(struct reuse_run *run, struct reuse_outcome *outcome) {
    outcome->wrong = run->wrong;
    reuse_run_explain(run, outcome->why, sizeof outcome->why);
    reuse_run_close(run);
}

static ferry_status attempt_cell(struct reuse_setup *setup, const struct reuse_cell *cell, unsigned strategies,
                                 size_t runs, double end, struct reuse_outcome outcomes[REUSE_STRATEGIES]) {
    static struct reuse_run all[REUSE_STRATEGIES];
    ferry_status status = FERRY_OK;
    for (int s = 0; s < REUSE_STRATEGIES; s++) {
        all[s] = (struct reuse_run){.epochs = 0};
        if (!status && strategies >> s & 1) {
            outcomes[s] = (struct reuse_outcome){.tried = true};
            status = reuse_run_open(&all[s], setup, cell, (enum reuse_strategy)s);
        }
    }
    if (!status)
        status = run_in_turns(all, strategies, outcomes, runs, end);
    for (int s = 0; s < REUSE_STRATEGIES; s++)
        if (all[s].setup)
            end_run(&all[s], &outcomes[s]);
    return status;
}

static int by_beginning(const void *a, const void *b) {
    const struct reuse_outcome *x = a, *y = b;
    double left = x->first + x->learning, right = y->first + y->learning;
    return (left > right) - (left < right);
}

/* What was learnt, from the attempt that is the middle one by that; what was measured, from the last. */
static void choose_attempt(struct reuse_outcome attempts[ATTEMPTS], struct reuse_outcome *out) {
    struct reuse_outcome last = attempts[ATTEMPTS - 1];
    qsort(attempts, ATTEMPTS, sizeof *attempts, by_beginning);
    const struct reuse_outcome *middle = &attempts[ATTEMPTS / 2];
    last.first = middle->first;
    last.learning = middle->learning;
    last.learned = middle->learned;
    memcpy(last.learned_why, middle->learned_why, sizeof last.learned_why);
    for (int i = 0; i < ATTEMPTS; i++)
        last.wrong |= attempts[i].wrong;
    *out = last;
}

ferry_status reuse_cell_run(struct reuse_setup *setup, const struct reuse_cell *cell, unsigned strategies, size_t runs,
                            double allowance, struct reuse_outcome outcomes[REUSE_STRATEGIES]) {
    static struct reuse_outcome attempts[REUSE_STRATEGIES][ATTEMPTS];
    const double end = now_seconds() + allowance;
    ferry_status status = FERRY_OK;
    if (!setup->has_explicit)
        strategies &= (1u << REUSE_MANAGED) - 1;
    if (setup->modelled || cell->size_bytes > SMALL_BYTES)
        return attempt_cell(setup, cell, strategies, runs, end, outcomes);
    for (int i = 0; i < ATTEMPTS && !status; i++) {
        setup->attempt++;
        status = attempt_cell(setup, cell, strategies, runs, end, outcomes);
        for (int s = 0; s < REUSE_STRATEGIES; s++)
            attempts[s][i] = outcomes[s];
    }
    for (int s = 0; s < REUSE_STRATEGIES && !status; s++)
        if (strategies >> s & 1)
            choose_attempt(attempts[s], &outcomes[s]);
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

/* For the virtual clock, which does not count it. */
static double model_alone(enum reuse_action action, size_t n) {
    static const enum host_work works[REUSE_ACTIONS] = {
        [REUSE_OVERWRITE] = HOST_STORES, [REUSE_UPDATE] = HOST_UPDATES, [REUSE_READ] = HOST_LOADS};
    if (action == REUSE_NOTHING)
        return 0;
    if (action == REUSE_SAMPLE)
        return host_model_looks(CONTENT_PROBES, n * sizeof(double));
    return host_model_loop(works[action], reuse_touched_bytes(action, n));
}

double reuse_host_alone(enum reuse_action action, size_t n) {
    static struct samples samples;
    struct content content = content_new(n, false);
    if (clock_is_virtual())
        return model_alone(action, n);
    double *array = action == REUSE_NOTHING ? NULL : malloc(n * sizeof *array);
    if (!array)
        return 0;
    content_overwrite(&content, array);
    samples.n = 0;
    for (int i = 0; i < RUNS_LEAST; i++)
        samples_add(&samples, act_alone(&content, action, array));
    free(array);
    return samples_median(&samples);
}
