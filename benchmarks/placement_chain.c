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
#define SLACK ((uint64_t)2 << 20)

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

struct chain {
    struct placement *placement;
    ferry_heap *heaps[HEAPS];
    ferry_array x[HEAPS], t[HEAPS][2], y[HEAPS];
    struct content content[HEAPS]; /* of x */
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
    const ferry_view *from = &chain->x[order->x].view;
    ferry_status status = order->by_hand ? ferry_prefetch(from, 0, NULL) : FERRY_OK;
    for (int step = 0; step < STEPS && !status; step++) {
        const ferry_view *to =
            step + 1 < STEPS ? &chain->t[order->temporaries][step % 2].view : &chain->y[order->y].view;
        status = apply(step, from, to);
        from = to;
    }
    return status ? status : bring_home(from);
}

static ferry_status run_order(struct chain *chain, size_t which) {
    const struct order *order = &orders[which];
    double seconds;
    ferry_status status = overwrite(&chain->x[order->x].view, &chain->content[order->x], &seconds);
    double begin = clock_seconds();
    if (!status)
        status = run_steps(chain, order);
    samples_add(&chain->samples[which], seconds + clock_seconds() - begin);
    if (!status)
        chain->wrong |= !right(&chain->content[order->x], chain->y[order->y].view.data, chain->samples[which].n);
    return status;
}

static ferry_status run_orders(struct chain *chain) {
    ferry_status status = FERRY_OK;
    for (size_t round = 0; round < chain->placement->runs + 2 && !status; round++) {
        for (size_t i = 0; i < ORDERS && round == 2; i++) /* two are unmeasured */
            chain->samples[i].n = 0;
        for (size_t i = 0; i < ORDERS && !status; i++)
            status = run_order(chain, i);
    }
    return status;
}

static ferry_status open_chain(struct chain *chain) {
    int64_t count = (int64_t)(chain->placement->chain_bytes / sizeof(double));
    ferry_status status = FERRY_OK;
    for (int h = 0; h < HEAPS && !status; h++) {
        ferry_heap_options options = {.name = "chain", .policy = policies[h]};
        chain->content[h] = content_new((size_t)count, false);
        status = ferry_heap_create(&options, &chain->heaps[h]);
        if (!status)
            status = ferry_array_create(chain->heaps[h], FERRY_FLOAT64, 1, &count, &chain->x[h]);
        for (int i = 0; i < 2 && !status; i++)
            status = ferry_array_create(chain->heaps[h], FERRY_FLOAT64, 1, &count, &chain->t[h][i]);
        if (!status)
            status = ferry_array_create(chain->heaps[h], FERRY_FLOAT64, 1, &count, &chain->y[h]);
    }
    return status;
}

static void close_chain(struct chain *chain) {
    for (int h = 0; h < HEAPS; h++) {
        ferry_array_release(&chain->x[h]);
        for (int i = 0; i < 2; i++)
            ferry_array_release(&chain->t[h][i]);
        ferry_array_release(&chain->y[h]);
        ferry_heap_destroy(chain->heaps[h]);
    }
}

/* The best of the hand-written orders, in seconds. */
static double report_orders(struct chain *chain) {
    struct report *report = chain->placement->report;
    size_t best = 0;
    for (size_t i = 0; i < ORDERS; i++) {
        report_case(report, "ten kernels", orders[i].name, chain->placement->chain_bytes, &chain->samples[i]);
        report_case_end(report);
        if (i < AUTO_ORDER && samples_median(&chain->samples[i]) < samples_median(&chain->samples[best]))
            best = i;
    }
    double seconds = samples_median(&chain->samples[best]);
    double ratio = samples_median(&chain->samples[AUTO_ORDER]) / seconds;
    report_check(report, ratio <= OVER_BEST, "ten kernels: auto over the best order by hand", ratio);
    report_check(report, !chain->wrong, "ten kernels: wrong results", chain->wrong);
    return seconds;
}

/* A loop as people write it: `t = f(t)`. Temporaries have one line of the program in common. */
static ferry_status loop_with_result(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y) {
    ferry_array from;
    ferry_status status = ferry_array_share(x, NULL, &from);
    for (int step = 0; step + 1 < STEPS && !status; step++) {
        ferry_array to = {.owner = NULL};
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &to);
        if (!status)
            status = apply(step, &from.view, &to.view);
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
static ferry_status loop_alike(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y) {
    ferry_array from;
    ferry_status status = ferry_array_share(x, NULL, &from);
    for (int step = 0; step < STEPS && !status; step++) {
        ferry_array to = {.owner = NULL};
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &to);
        if (!status)
            status = apply(step, &from.view, &to.view);
        ferry_array_release(&from);
        from = to;
    }
    *y = from;
    return status ? status : bring_home(&y->view);
}

typedef ferry_status (*loop_function)(ferry_heap *heap, int64_t count, const ferry_array *x, ferry_array *y);

struct round {
    double seconds;
    uint64_t to_device, to_host; /* bytes */
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
        status = loop(heap, x->view.shape[0], x, &y);
    round->seconds += clock_seconds() - begin;
    if (!status) {
        *wrong |= !right(content, y.view.data, 1);
        status = ferry_stats_get(&after);
    }
    ferry_array_release(&y);
    if (!status) {
        round->to_device = after.bytes_to_device - before.bytes_to_device;
        round->to_host = after.bytes_to_host - before.bytes_to_host;
    }
    return status;
}

/* What crosses has to be x on the way there and y on the way home. */
static uint64_t beyond(uint64_t crossed, size_t bytes) {
    return crossed > bytes + SLACK ? crossed - bytes : 0;
}

static void report_rounds(struct placement *placement, const char *name, const struct round *rounds, double best,
                          bool wrong, bool judged) {
    static struct samples one;
    char text[128];
    size_t bytes = placement->chain_bytes;
    double worst = 0;
    uint64_t surplus = 0;
    for (int i = 0; i < ROUNDS; i++) {
        one.n = 0;
        samples_add(&one, rounds[i].seconds);
        snprintf(text, sizeof text, "%s, round %d", name, i + 1);
        report_case(placement->report, text, "auto", bytes, &one);
        report_number(placement->report, "to_device_x", (double)rounds[i].to_device / (double)bytes);
        report_number(placement->report, "to_host_x", (double)rounds[i].to_host / (double)bytes);
        report_case_end(placement->report);
        if (i < SETTLED)
            continue;
        worst = fmax(worst, rounds[i].seconds / best);
        surplus += beyond(rounds[i].to_device, bytes) + beyond(rounds[i].to_host, bytes);
    }
    snprintf(text, sizeof text, "%s: bytes of temporaries that cross from round %d on", name, SETTLED + 1);
    if (judged)
        report_check(placement->report, surplus == 0, text, (double)surplus);
    else
        printf("       %s: %.6g\n", text, (double)surplus);
    snprintf(text, sizeof text, "%s: worst round from %d on over the best order by hand", name, SETTLED + 1);
    if (judged)
        report_check(placement->report, worst <= LOOP_OVER_BEST, text, worst);
    else
        printf("       %s: %.6g\n", text, worst);
    snprintf(text, sizeof text, "%s: wrong results", name);
    report_check(placement->report, !wrong, text, wrong);
}

static ferry_status run_loop(struct placement *placement, const char *name, loop_function loop, double best,
                             bool judged) {
    struct round rounds[ROUNDS] = {{0}};
    int64_t count = (int64_t)(placement->chain_bytes / sizeof(double));
    struct content content = content_new((size_t)count, false);
    ferry_heap_options options = {.name = "loop", .policy = FERRY_POLICY_AUTO};
    ferry_heap *heap = NULL;
    ferry_array x = {.owner = NULL};
    bool wrong = false;
    ferry_status status = ferry_heap_create(&options, &heap);
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &x);
    for (int i = 0; i < ROUNDS && !status; i++)
        status = run_round(heap, &x, &content, loop, &rounds[i], &wrong);
    if (!status)
        report_rounds(placement, name, rounds, best, wrong, judged);
    ferry_array_release(&x);
    ferry_heap_destroy(heap);
    return status;
}

ferry_status placement_chain(struct placement *placement) {
    static struct chain chain;
    double best = 0;
    memset(&chain, 0, sizeof chain);
    chain.placement = placement;
    ferry_status status = open_chain(&chain);
    if (!status)
        status = run_orders(&chain);
    if (!status)
        best = report_orders(&chain);
    close_chain(&chain);
    if (!status)
        status = run_loop(placement, "loop with temporaries", loop_with_result, best, true);
    if (!status)
        status = run_loop(placement, "loop, result alike", loop_alike, best, false);
    return status;
}
