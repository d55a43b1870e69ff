/*
 * Ten kernels one after the other: x -> t -> u -> t … -> y, the host writing x before and reading y afterwards. Once
 * with arrays that stay, beside orders written by hand; once as a loop that allocates and frees its temporaries.
 */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "content.h"
#include "placement.h"
#include "pool.h"

#define STEPS 10
#define LOOKS 64
#define ROUNDS 6  /* of the loop that allocates */
#define SETTLED 2 /* from this round on, counted from 0, it knows */
#define OVER_BEST 1.15
#define LOOP_OVER_BEST 1.25
#define SLACK ((uint64_t)2 << 20) /* the driver counts in blocks of 2 MiB */
#define TURNS 3
#define UNMEASURED 2                   /* rounds, at the beginning of each turn */
#define LOOP_BYTES ((size_t)512 << 20) /* of an array of the loop at most: eleven can be alive at once */

static const ferry_op steps[STEPS] = {FERRY_OP_SQRT, FERRY_OP_LOG1P, FERRY_OP_EXP,   FERRY_OP_SIN,  FERRY_OP_ARCTAN,
                                      FERRY_OP_COS,  FERRY_OP_EXPM1, FERRY_OP_LOG1P, FERRY_OP_TANH, FERRY_OP_SQRT};

static double chain_of(double v) {
    return sqrt(tanh(log1p(expm1(cos(atan(sin(exp(log1p(sqrt(v))))))))));
}

enum { PREFETCHED, REMOTE, CHOSEN, HEAPS };
static const ferry_policy policies[HEAPS] = {FERRY_POLICY_PREFETCH, FERRY_POLICY_REMOTE, FERRY_POLICY_AUTO};

/* Whose arrays an order uses: that is what places them. */
struct order {
    const char *name;
    int x, temporaries, y;
    bool by_hand; /* x is prefetched by the program, whatever its policy */
};

static const struct order orders[] = {
    {"all prefetched", PREFETCHED, PREFETCHED, PREFETCHED, false},
    {"x, y remote", REMOTE, PREFETCHED, REMOTE, false},
    {"x prefetched", PREFETCHED, PREFETCHED, REMOTE, false},
    {"y prefetched", REMOTE, PREFETCHED, PREFETCHED, false},
    {"x by hand", REMOTE, PREFETCHED, REMOTE, true},
    {"all remote", REMOTE, REMOTE, REMOTE, false},
    {"auto", CHOSEN, CHOSEN, CHOSEN, false},
};
#define ORDERS (sizeof orders / sizeof *orders)
#define AUTO_ORDER (ORDERS - 1)

/* The orders take turns; each has its arrays to itself, which are gone before the next one's are made. */
struct chain {
    struct placement *placement;
    int64_t count; /* elements of an array */
    ferry_heap *heaps[HEAPS];
    ferry_array x, t[2], y;
    struct content content; /* of x */
    struct samples samples[ORDERS];
    bool wrong;
};

static volatile double kept;

static ferry_status apply(int step, const ferry_view *from, const ferry_view *to) {
    const ferry_view *in[] = {from};
    return ferry_apply(steps[step], in, 1, to, NULL);
}

static ferry_status bring_home(const ferry_view *y) {
    ferry_status status = ferry_sync(NULL);
    if (!status)
        status = ferry_host_acquire(y, FERRY_READ);
    if (!status)
        kept = placement_touch(y->data, (size_t)y->shape[0]);
    return status;
}

/* The host's new input: taking it over is timed, filling it is not. */
static ferry_status overwrite(const ferry_view *x, struct content *content, double *seconds) {
    double begin = clock_seconds();
    ferry_status status = ferry_host_acquire(x, FERRY_WRITE);
    *seconds = clock_seconds() - begin;
    if (!status)
        content_overwrite(content, x->data);
    return status;
}

static bool right(const struct content *content, const double *y, size_t shifted) {
    size_t step = content->n / LOOKS;
    for (size_t i = shifted % step; i < content->n && !content->sparse; i += step)
        if (!(fabs(y[i] - chain_of(content_value(content, i))) <= 1e-12))
            return false;
    return true;
}

static ferry_status run_steps(struct chain *chain, const struct order *order) {
    const ferry_view *from = &chain->x.view;
    ferry_status status = order->by_hand ? ferry_prefetch(from, 0, NULL) : FERRY_OK;
    for (int step = 0; step < STEPS && !status; step++) {
        const ferry_view *to = step + 1 < STEPS ? &chain->t[step % 2].view : &chain->y.view;
        status = apply(step, from, to);
        from = to;
    }
    return status ? status : bring_home(from);
}

static ferry_status run_round_of(struct chain *chain, const struct order *order, struct samples *samples) {
    double seconds;
    ferry_status status = overwrite(&chain->x.view, &chain->content, &seconds);
    double begin = clock_seconds();
    if (!status)
        status = run_steps(chain, order);
    samples_add(samples, seconds + clock_seconds() - begin);
    if (!status)
        chain->wrong |= !right(&chain->content, chain->y.view.data, samples->n);
    return status;
}

static ferry_status open_array(struct chain *chain, int heap, ferry_array *out) {
    ferry_heap_options options = {.name = "chain", .policy = policies[heap]};
    ferry_status status = chain->heaps[heap] ? FERRY_OK : ferry_heap_create(&options, &chain->heaps[heap]);
    return status ? status : ferry_array_create(chain->heaps[heap], FERRY_FLOAT64, 1, &chain->count, out);
}

/* Each order has a place in the program of its own: what others do is no lesson to it. */
static ferry_status open_arrays(struct chain *chain, const struct order *order) {
    ferry_site before = ferry_site_set(ferry_site_label(order->name));
    ferry_status status = open_array(chain, order->x, &chain->x);
    for (int i = 0; i < 2 && !status; i++)
        status = open_array(chain, order->temporaries, &chain->t[i]);
    if (!status)
        status = open_array(chain, order->y, &chain->y);
    ferry_site_set(before);
    chain->content = content_new((size_t)chain->count, false);
    return status;
}

static void close_arrays(struct chain *chain) {
    ferry_array_release(&chain->x);
    for (int i = 0; i < 2; i++)
        ferry_array_release(&chain->t[i]);
    ferry_array_release(&chain->y);
    for (int h = 0; h < HEAPS; h++) {
        ferry_heap_destroy(chain->heaps[h]);
        chain->heaps[h] = NULL;
    }
}

static ferry_status take_turn(struct chain *chain, size_t which, size_t runs) {
    static struct samples unmeasured;
    unmeasured.n = 0;
    ferry_status status = open_arrays(chain, &orders[which]);
    for (size_t i = 0; i < UNMEASURED + runs && !status; i++)
        status = run_round_of(chain, &orders[which], i < UNMEASURED ? &unmeasured : &chain->samples[which]);
    close_arrays(chain);
    return status;
}

/* The best of the hand-written orders, in seconds. */
static double report_orders(struct chain *chain) {
    struct report *report = chain->placement->report;
    size_t best = 0, bytes = (size_t)chain->count * sizeof(double);
    char text[128];
    for (size_t i = 0; i < ORDERS; i++) {
        report_case(report, "ten kernels", orders[i].name, bytes, &chain->samples[i]);
        report_limit(report, placement_limit(bytes));
        report_case_end(report);
        if (i < AUTO_ORDER && samples_median(&chain->samples[i]) < samples_median(&chain->samples[best]))
            best = i;
    }
    double seconds = samples_median(&chain->samples[best]);
    double ratio = samples_median(&chain->samples[AUTO_ORDER]) / seconds;
    snprintf(text, sizeof text, "ten kernels, arrays of %zu bytes: auto over the best order by hand", bytes);
    report_check(report, ratio <= OVER_BEST, text, ratio);
    report_check(report, !chain->wrong, "ten kernels: wrong results", chain->wrong);
    return seconds;
}

static ferry_status run_orders(struct placement *placement, size_t bytes, double *best) {
    static struct chain chain;
    size_t runs = (placement->runs + TURNS - 1) / TURNS;
    memset(&chain, 0, sizeof chain);
    chain.placement = placement;
    chain.count = (int64_t)(bytes / sizeof(double));
    ferry_status status = FERRY_OK;
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < ORDERS && !status; i++)
            status = take_turn(&chain, i, runs);
    if (!status)
        *best = report_orders(&chain);
    return status;
}

/* Of a loop: its time, what crossed, and why the first temporary is on the host that is. */
struct round {
    double seconds;
    uint64_t to_device, to_host; /* bytes */
    bool measured;               /* by the driver's count, which is in blocks */
    char why[512];
};

static void look_at_temporary(const ferry_view *temporary, int step, struct round *round) {
    if (*round->why || ferry_view_place(temporary) == 0)
        return;
    int used = snprintf(round->why, sizeof round->why, "temporary %d: ", step + 1);
    (void)ferry_explain(temporary, round->why + used, sizeof round->why - (size_t)used);
}

/* A loop as people write it: `t = f(t)`. Temporaries have one line of the program in common. */
static ferry_status loop_with_result(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y,
                                     struct round *round) {
    ferry_array from;
    ferry_status status = ferry_array_share(x, NULL, &from);
    for (int step = 0; step + 1 < STEPS && !status; step++) {
        ferry_array to = {.owner = NULL};
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &to);
        if (!status)
            status = apply(step, &from.view, &to.view);
        if (!status)
            look_at_temporary(&to.view, step, round);
        ferry_array_release(&from);
        from = to;
    }
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, y);
    if (!status)
        status = apply(STEPS - 1, &from.view, &y->view);
    ferry_array_release(&from);
    return status ? status : bring_home(&y->view);
}

/* The same with the result from the temporaries' line. */
static ferry_status loop_alike(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y,
                               struct round *round) {
    ferry_array from;
    ferry_status status = ferry_array_share(x, NULL, &from);
    for (int step = 0; step < STEPS && !status; step++) {
        ferry_array to = {.owner = NULL};
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &to);
        if (!status)
            status = apply(step, &from.view, &to.view);
        if (!status && step + 1 < STEPS)
            look_at_temporary(&to.view, step, round);
        ferry_array_release(&from);
        from = to;
    }
    *y = from;
    return status ? status : bring_home(&y->view);
}

typedef ferry_status (*loop_function)(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y,
                                      struct round *round);

struct loop {
    const char *name;
    loop_function run;
    bool judged;
};

static ferry_status run_round(ferry_heap *heap, const ferry_array *x, struct content *content, loop_function loop,
                              struct round *round, bool *wrong) {
    ferry_array y = {.owner = NULL};
    ferry_stats before, after;
    ferry_status status = ferry_stats_get(&before);
    if (!status)
        status = overwrite(&x->view, content, &round->seconds);
    double begin = clock_seconds();
    if (!status)
        status = loop(heap, x->view.shape[0], x, &y, round);
    round->seconds += clock_seconds() - begin;
    if (!status) {
        *wrong |= !right(content, y.view.data, 1);
        status = ferry_stats_get(&after);
    }
    ferry_array_release(&y);
    if (!status) {
        round->to_device = after.bytes_to_device - before.bytes_to_device;
        round->to_host = after.bytes_to_host - before.bytes_to_host;
        round->measured = after.measured;
    }
    return status;
}

static uint64_t beyond(uint64_t crossed, size_t bytes, bool measured) {
    uint64_t allowed = bytes + (measured ? SLACK : 0);
    return crossed > allowed ? crossed - bytes : 0;
}

/* What crosses has to be x on the way there and y on the way home. */
static uint64_t of_temporaries(const struct round *round, size_t bytes) {
    return beyond(round->to_device, bytes, round->measured) + beyond(round->to_host, bytes, round->measured);
}

static void report_round(struct report *report, const char *name, size_t bytes, const struct round *round, int number) {
    static struct samples one;
    char text[128];
    one.n = 0;
    samples_add(&one, round->seconds);
    snprintf(text, sizeof text, "%s, round %d", name, number);
    report_case(report, text, "auto", bytes, &one);
    report_number(report, "to_device_x", (double)round->to_device / (double)bytes);
    report_number(report, "to_host_x", (double)round->to_host / (double)bytes);
    report_limit(report, placement_limit(bytes));
    report_text(report, "explanation", round->why);
    report_case_end(report);
    if (*round->why)
        printf("       %s\n", round->why);
}

/* Figures that are judged are checks. */
static void report_figure(struct report *report, bool judged, bool holds, const char *text, double figure) {
    if (judged)
        report_check(report, holds, text, figure);
    else
        printf("       %s: %.6g\n", text, figure);
}

static void report_rounds(struct placement *placement, const struct loop *loop, const struct round *rounds,
                          size_t bytes, double best, bool wrong) {
    struct report *report = placement->report;
    char text[128];
    double worst = 0;
    uint64_t surplus = 0;
    for (int i = 0; i < ROUNDS; i++) {
        report_round(report, loop->name, bytes, &rounds[i], i + 1);
        if (i >= SETTLED) {
            worst = fmax(worst, rounds[i].seconds / best);
            surplus += of_temporaries(&rounds[i], bytes);
        }
    }
    snprintf(text, sizeof text, "%s: bytes that cross from round %d on beyond x and the result", loop->name,
             SETTLED + 1);
    report_figure(report, loop->judged, surplus == 0, text, (double)surplus);
    snprintf(text, sizeof text, "%s: worst round from %d on over the best order by hand", loop->name, SETTLED + 1);
    report_figure(report, loop->judged, worst <= LOOP_OVER_BEST, text, worst);
    snprintf(text, sizeof text, "%s: wrong results", loop->name);
    report_check(report, !wrong, text, wrong);
}

static ferry_status run_loop(struct placement *placement, const struct loop *loop, size_t bytes, double best) {
    static struct round rounds[ROUNDS];
    memset(rounds, 0, sizeof rounds);
    int64_t count = (int64_t)(bytes / sizeof(double));
    struct content content = content_new((size_t)count, false);
    ferry_heap_options options = {.name = "loop", .policy = FERRY_POLICY_AUTO};
    ferry_heap *heap = NULL;
    ferry_array x = {.owner = NULL};
    bool wrong = false;
    ferry_status status = ferry_heap_create(&options, &heap);
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &x);
    for (int i = 0; i < ROUNDS && !status; i++)
        status = run_round(heap, &x, &content, loop->run, &rounds[i], &wrong);
    if (!status)
        report_rounds(placement, loop, rounds, bytes, best, wrong);
    ferry_array_release(&x);
    ferry_heap_destroy(heap);
    return status;
}

ferry_status placement_chain(struct placement *placement) {
    static const struct loop loops[] = {{"loop with temporaries", loop_with_result, true},
                                        {"loop, result alike", loop_alike, false}};
    size_t bytes = placement->chain_bytes;
    double best = 0;
    ferry_status status = run_orders(placement, bytes, &best);
    if (!status && bytes > LOOP_BYTES) {
        bytes = LOOP_BYTES;
        status = run_orders(placement, bytes, &best);
    }
    for (size_t i = 0; i < sizeof loops / sizeof *loops && !status; i++)
        status = run_loop(placement, &loops[i], bytes, best);
    return status;
}
