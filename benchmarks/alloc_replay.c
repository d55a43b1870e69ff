/* Recorded programs, replayed on every allocator: the time, and the memory held beside what was live at the peak. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "footprint.h"
#include <trace.h>

#define ATTEMPTS 3 /* each with a new process, or a new heap */
#define REPLAYS 3  /* measured ones of an attempt, by calls alone and again with the blocks filled */
#define FILLING_BYTES ((size_t)256 << 10)
#define SAMPLES 64 /* of the memory held, besides one at every new peak */
#define LABEL 64
#define FOOTPRINT_MOST 1.25 /* of a bare arena of the same jemalloc */

/* Of one allocator, in memory that a child shares. */
struct outcome {
    bool broke_off, overlapped;
    size_t footprint; /* bytes, SIZE_MAX: not known */
    struct samples calls, filled;
};

struct replay {
    const struct allocator *allocator;
    const struct trace *trace;
    void **blocks; /* by number */
    size_t *live;  /* numbers */
    size_t *place; /* by number: where in `live` */
    size_t nlive;
    unsigned char *filling;
    struct footprint_pages *pages;
    struct outcome *outcome;
};

static void fill(const struct replay *replay, unsigned char *block, size_t bytes) {
    for (size_t at = 0; at < bytes; at += FILLING_BYTES)
        memcpy(block + at, replay->filling, bytes - at < FILLING_BYTES ? bytes - at : FILLING_BYTES);
}

/* Seconds, negative when there was no memory. */
static double run_events(const struct replay *replay, bool filled) {
    const struct allocator *allocator = replay->allocator;
    const struct trace_event *events = replay->trace->events;
    void **blocks = replay->blocks;
    double begin = now_seconds();
    for (size_t i = 0; i < replay->trace->count; i++) {
        if (!events[i].bytes) {
            allocator->give(blocks[events[i].block]);
            continue;
        }
        void *block = allocator->take(events[i].bytes);
        if (!block)
            return -1;
        blocks[events[i].block] = block;
        if (filled && allocator->settle)
            allocator->settle();
        if (filled)
            fill(replay, block, events[i].bytes);
    }
    return now_seconds() - begin;
}

static bool overlaps(const struct replay *replay, const char *block, size_t bytes) {
    for (size_t i = 0; i < replay->nlive; i++) {
        const char *other = replay->blocks[replay->live[i]];
        if (block < other + replay->trace->sizes[replay->live[i]] && other < block + bytes)
            return true;
    }
    return false;
}

static void take_watched(struct replay *replay, const struct trace_event *event) {
    const struct allocator *allocator = replay->allocator;
    char *block = allocator->take(event->bytes);
    if (!block) {
        replay->outcome->broke_off = true;
        return;
    }
    replay->outcome->overlapped |= overlaps(replay, block, event->bytes);
    if (allocator->settle)
        allocator->settle();
    if (allocator->kind != BLOCKS_ON_DEVICE)
        fill(replay, (unsigned char *)block, event->bytes);
    if (allocator->kind == BLOCKS_MANAGED && !footprint_pages_add(replay->pages, block, event->bytes))
        replay->outcome->broke_off = true;
    replay->blocks[event->block] = block;
    replay->place[event->block] = replay->nlive;
    replay->live[replay->nlive++] = event->block;
}

static void give_watched(struct replay *replay, size_t block) {
    size_t at = replay->place[block], last = replay->live[--replay->nlive];
    replay->live[at] = last;
    replay->place[last] = at;
    replay->allocator->give(replay->blocks[block]);
}

/* What the allocator holds: by its own account of the device's memory, else the growth of ordinary memory, and the
 * managed pages that its blocks have been in, of which nobody gives one back. */
static size_t held(const struct replay *replay, size_t anonymous_before) {
    if (replay->allocator->held)
        return replay->allocator->held();
    size_t anonymous = footprint_anonymous();
    if (anonymous == SIZE_MAX || anonymous_before == SIZE_MAX)
        return SIZE_MAX;
    size_t grown = anonymous > anonymous_before ? anonymous - anonymous_before : 0;
    return grown + footprint_pages_bytes(replay->pages);
}

/* The replay by which blocks are checked and memory is measured, every block filled. */
static void run_watched(struct replay *replay, size_t anonymous_before) {
    size_t live = 0, peak = 0, since = 0, most = 0, count = replay->trace->count;
    for (size_t i = 0; i < count && !replay->outcome->broke_off; i++) {
        const struct trace_event *event = &replay->trace->events[i];
        live = event->bytes ? live + event->bytes : live - replay->trace->sizes[event->block];
        if (event->bytes)
            take_watched(replay, event);
        else
            give_watched(replay, event->block);
        if (live <= peak + peak / 64 && ++since < count / SAMPLES)
            continue;
        size_t now = held(replay, anonymous_before);
        most = now > most ? now : most;
        peak = live > peak ? live : peak;
        since = 0;
    }
    if (most == 0) /* an account that is not kept */
        most = SIZE_MAX;
    replay->outcome->footprint = most > replay->outcome->footprint ? most : replay->outcome->footprint;
}

static void run_measured(struct replay *replay) {
    struct outcome *outcome = replay->outcome;
    for (int i = 0; i < 2 * REPLAYS && !outcome->broke_off; i++) {
        bool filled = i >= REPLAYS;
        if (filled && replay->allocator->kind == BLOCKS_ON_DEVICE)
            break;
        double seconds = run_events(replay, filled);
        outcome->broke_off = seconds < 0;
        samples_add(filled ? &outcome->filled : &outcome->calls, seconds);
    }
}

/* The allocator is there: whether it opens has been tried. What the C library has kept of blocks that were freed before
 * goes back to the system first, or its own blocks would lie there and take no memory. */
static void run_attempt(struct replay *replay) {
    malloc_trim(0);
    size_t anonymous = footprint_anonymous();
    if (replay->allocator->open()) {
        replay->outcome->broke_off = true;
        return;
    }
    run_watched(replay, anonymous);
    if (!replay->outcome->broke_off && !replay->outcome->overlapped)
        run_measured(replay);
    if (!replay->outcome->broke_off)
        replay->allocator->close();
}

/* Ordinary memory gets a process of its own, in which nothing was allocated before it. */
static void attempt(struct replay *replay) {
    if (replay->allocator->kind != BLOCKS_ORDINARY) {
        run_attempt(replay);
        return;
    }
    int status = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run_attempt(replay);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status)
        replay->outcome->broke_off = true;
}

/* Memory that is there before anything is measured. */
static void *touched(size_t count, size_t bytes) {
    void *memory = malloc(count * bytes);
    if (memory)
        explicit_bzero(memory, count * bytes);
    return memory;
}

static bool open_replay(struct replay *replay, const struct trace *trace) {
    *replay = (struct replay){.trace = trace,
                              .blocks = touched(trace->blocks, sizeof *replay->blocks),
                              .live = touched(trace->blocks, sizeof *replay->live),
                              .place = touched(trace->blocks, sizeof *replay->place),
                              .filling = malloc(FILLING_BYTES)};
    uint64_t state = 1;
    for (size_t i = 0; replay->filling && i < FILLING_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        replay->filling[i] = (unsigned char)(state >> 56);
    }
    return replay->blocks && replay->live && replay->place && replay->filling;
}

static void close_replay(struct replay *replay) {
    free(replay->blocks);
    free(replay->live);
    free(replay->place);
    free(replay->filling);
}

static bool attempt_all(struct alloc *alloc, struct replay *replay, struct outcome *outcomes, const char *name) {
    for (int i = 0; i < (alloc->options->quick ? 1 : ATTEMPTS); i++)
        for (size_t which = 0; which < ALLOCATORS; which++) {
            const struct allocator *allocator = allocator_get(which);
            struct outcome *outcome = &outcomes[which];
            if (alloc->absent[which] || outcome->broke_off || outcome->overlapped || (i > 0 && allocator->slow))
                continue;
            if (now_seconds() > alloc->end) {
                alloc->left_out += i == 0;
                continue;
            }
            report_progress(alloc->report, name, 0);
            replay->allocator = allocator;
            replay->outcome = outcome;
            replay->nlive = 0;
            replay->pages = footprint_pages_create();
            if (!replay->pages)
                return false;
            attempt(replay);
            footprint_pages_destroy(replay->pages);
        }
    return true;
}

static void report_one(struct alloc *alloc, const struct trace *trace, const char *name, const char *strategy,
                       struct outcome *outcome, struct samples *samples) {
    struct report *report = alloc->report;
    if (!samples->n)
        return;
    report_case(report, name, strategy, trace->peak_bytes, samples);
    report_count(report, "operations", trace->count);
    report_number(report, "ns", 1e9 * samples_median(samples) / (double)trace->count);
    if (outcome->footprint != SIZE_MAX) {
        report_count(report, "footprint_bytes", outcome->footprint);
        report_number(report, "footprint_over_live", (double)outcome->footprint / (double)trace->peak_bytes);
    }
    report_text(report, "clock", "real");
    report_case_end(report);
}

static void report_outcomes(struct alloc *alloc, const struct trace *trace, const char *name,
                            struct outcome *outcomes) {
    char label[2 * LABEL], text[2 * LABEL];
    for (size_t which = 0; which < ALLOCATORS; which++) {
        struct outcome *outcome = &outcomes[which];
        const char *strategy = allocator_get(which)->name;
        alloc->wrong += outcome->overlapped;
        alloc->failed += outcome->broke_off;
        if (outcome->overlapped || outcome->broke_off) {
            printf("%-34s %-19s void: %s\n", name, strategy,
                   outcome->overlapped ? "two live blocks overlapped" : "it broke off");
            continue;
        }
        snprintf(label, sizeof label, "%s, filled", name);
        report_one(alloc, trace, name, strategy, outcome, &outcome->calls);
        report_one(alloc, trace, label, strategy, outcome, &outcome->filled);
    }
    const struct outcome *own = &outcomes[ALLOCATOR_FERRY], *arena = &outcomes[ALLOCATOR_ARENA];
    double ratio = (double)own->footprint / (double)arena->footprint;
    snprintf(text, sizeof text, "%s: memory that ferry holds over the bare arena's", name);
    if (own->calls.n && arena->calls.n && own->footprint != SIZE_MAX)
        report_check(alloc->report, ratio <= FOOTPRINT_MOST, text, ratio);
}

static ferry_status replay_trace(struct alloc *alloc, const struct trace *trace, const char *label,
                                 struct outcome *outcomes) {
    struct replay replay;
    char name[LABEL];
    snprintf(name, sizeof name, "replay of %s", label);
    memset(outcomes, 0, ALLOCATORS * sizeof *outcomes);
    bool whole = open_replay(&replay, trace) && attempt_all(alloc, &replay, outcomes, name);
    if (whole)
        report_outcomes(alloc, trace, name, outcomes);
    close_replay(&replay);
    return whole ? FERRY_OK : ferry_error(FERRY_OUT_OF_MEMORY, "no memory to replay a trace");
}

static ferry_status replay_given(struct alloc *alloc, const char *path, struct outcome *outcomes) {
    struct trace trace;
    if (!trace_load(path, &trace))
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s: %s", path,
                           errno == EINVAL ? "this is no trace" : strerror(errno));
    ferry_status status = replay_trace(alloc, &trace, "a given trace", outcomes);
    trace_free(&trace);
    return status;
}

static ferry_status replay_carried(struct alloc *alloc, const struct trace_text *text, struct outcome *outcomes) {
    struct trace trace;
    if (!trace_read(text->begin, (size_t)(text->end - text->begin), &trace))
        return ferry_error(FERRY_INVALID_ARGUMENT, "the trace %s cannot be read", text->name);
    ferry_status status = replay_trace(alloc, &trace, text->name, outcomes);
    trace_free(&trace);
    return status;
}

ferry_status alloc_replays(struct alloc *alloc) {
    const char *given = alloc->options->trace;
    ferry_status status = FERRY_OK;
    size_t bytes = ALLOCATORS * sizeof(struct outcome);
    struct outcome *outcomes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcomes == MAP_FAILED)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to share with the processes that replay");
    if (given)
        status = replay_given(alloc, given, outcomes);
    for (size_t i = 0; i < TRACES && !given && !status; i++)
        status = replay_carried(alloc, trace_text(i), outcomes);
    munmap(outcomes, bytes);
    return status;
}
