/* Pairs of an allocation and its free, and batches freed in random order, by several threads at once. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "team.h"

#define ATTEMPTS 3 /* each with new threads and new heaps: where these lie makes a difference */
#define SAMPLES 5  /* of an attempt */
#define LIVE_BYTES ((size_t)1 << 30)
#define BATCH_LEAST 4
#define BATCH_MOST 1000
#define BATCH_MOST_SLOW 32
#define OPERATIONS_MOST 1000000
#define SAMPLE_SECONDS 2e-3
#define LABEL 64

enum pattern { PAIRS, BATCHES, PATTERNS };
static const char *const pattern_names[PATTERNS] = {"pairs", "batches"};

/* What the members of a team do. */
struct job {
    const struct allocator *allocator;
    size_t bytes;
    size_t batch;      /* blocks of a thread that live together; 0: pairs */
    size_t operations; /* pairs, or batches */
    atomic_bool failed;
    void *blocks[TEAM_MOST][BATCH_MOST];
    unsigned short order[TEAM_MOST][BATCH_MOST]; /* a permutation of the batch */
};

struct cell {
    enum pattern pattern;
    size_t bytes, threads;
    double end;                                         /* by now_seconds: its share of the time */
    size_t batches[ALLOCATORS], operations[ALLOCATORS]; /* as in a job */
    bool out[ALLOCATORS];
    struct samples samples[ALLOCATORS]; /* seconds for one block, allocated and freed, of each thread */
};

static void do_pairs(void *context, size_t member) {
    struct job *job = context;
    const struct allocator *allocator = job->allocator;
    (void)member;
    for (size_t i = 0; i < job->operations; i++) {
        void *block = allocator->take(job->bytes);
        if (!block) {
            job->failed = true;
            return;
        }
        __asm__ volatile("" : : "r"(block) : "memory");
        allocator->give(block);
    }
}

static void take_batch(void *context, size_t member) {
    struct job *job = context;
    for (size_t i = 0; i < job->batch; i++) {
        job->blocks[member][i] = job->allocator->take(job->bytes);
        if (!job->blocks[member][i])
            job->failed = true;
    }
}

static void give_batch(void *context, size_t member) {
    struct job *job = context;
    for (size_t i = 0; i < job->batch; i++)
        if (job->blocks[member][job->order[member][i]])
            job->allocator->give(job->blocks[member][job->order[member][i]]);
}

static void do_batches(void *context, size_t member) {
    struct job *job = context;
    for (size_t i = 0; i < job->operations; i++) {
        take_batch(job, member);
        give_batch(job, member);
    }
}

static void leave(void *context, size_t member) {
    const struct alloc *alloc = context;
    (void)member;
    for (size_t which = 0; which < ALLOCATORS; which++)
        if (!alloc->absent[which] && allocator_get(which)->leave)
            allocator_get(which)->leave();
}

static void shuffle(unsigned short *order, size_t n, uint64_t state) {
    for (size_t i = 0; i < n; i++)
        order[i] = (unsigned short)i;
    for (size_t i = n; i > 1; i--) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t other = (size_t)((state >> 32) * i >> 32);
        unsigned short kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static int compare_addresses(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return (x > y) - (x < y);
}

/* Whether two blocks of all threads' overlap. */
static bool overlap(const struct job *job, size_t threads) {
    static void *all[TEAM_MOST * BATCH_MOST];
    size_t n = 0;
    bool found = false;
    for (size_t member = 0; member < threads; member++)
        for (size_t i = 0; i < job->batch; i++)
            all[n++] = job->blocks[member][i];
    qsort(all, n, sizeof *all, compare_addresses);
    for (size_t i = 1; i < n; i++)
        found |= (char *)all[i] - (char *)all[i - 1] < (ptrdiff_t)job->bytes;
    return found;
}

static void prepare(struct job *job, const struct cell *cell, size_t which) {
    job->allocator = allocator_get(which);
    job->bytes = cell->bytes;
    job->batch = cell->batches[which];
    job->operations = cell->operations[which];
    job->failed = false;
    for (size_t member = 0; member < cell->threads; member++)
        shuffle(job->order[member], job->batch, member + 1);
}

/* Takes the allocator out of the cell. */
static void void_strategy(struct cell *cell, size_t which, size_t *counter, const char *why) {
    cell->out[which] = true;
    cell->samples[which].n = 0;
    ++*counter;
    printf("%s of %zu bytes, %zu threads: %s is void: %s\n", pattern_names[cell->pattern], cell->bytes, cell->threads,
           allocator_get(which)->name, why);
}

/* One block of every thread, or a batch, looked at; the blocks are there then, and all caches made. */
static void check_blocks(struct alloc *alloc, struct cell *cell, size_t which, struct job *job, struct team *team) {
    prepare(job, cell, which);
    job->batch = job->batch ? job->batch : 1;
    shuffle(job->order[0], job->batch, 1);
    team_run(team, take_batch, job);
    bool overlapped = !job->failed && overlap(job, cell->threads);
    team_run(team, give_batch, job);
    if (job->failed)
        void_strategy(cell, which, &alloc->failed, "there was no memory");
    else if (overlapped)
        void_strategy(cell, which, &alloc->wrong, "two live blocks overlapped");
}

static double measure(struct alloc *alloc, struct cell *cell, size_t which, struct job *job, struct team *team) {
    prepare(job, cell, which);
    double seconds = team_run(team, cell->pattern == PAIRS ? do_pairs : do_batches, job);
    if (job->failed)
        void_strategy(cell, which, &alloc->failed, "there was no memory");
    return seconds;
}

/* So many operations that a sample takes long enough to be measured. */
static void choose_operations(struct alloc *alloc, struct cell *cell, size_t which, struct job *job,
                              struct team *team) {
    cell->operations[which] = cell->pattern == PAIRS && !allocator_get(which)->slow ? 100 : 1;
    double once = measure(alloc, cell, which, job, team) / (double)cell->operations[which];
    double wanted = (alloc->options->quick ? 0.1 : 1) * SAMPLE_SECONDS / fmax(once, 1e-9);
    cell->operations[which] = wanted < 1 ? 1 : wanted > OPERATIONS_MOST ? OPERATIONS_MOST : (size_t)wanted;
}

static size_t blocks_of_sample(const struct cell *cell, size_t which) {
    return cell->operations[which] * (cell->pattern == PAIRS ? 1 : cell->batches[which]);
}

/* With the allocators open and a team; strategies take turns. */
static void measure_attempt(struct alloc *alloc, struct cell *cell, size_t samples, struct job *job,
                            struct team *team) {
    for (size_t which = 0; which < ALLOCATORS; which++)
        if (!cell->out[which])
            check_blocks(alloc, cell, which, job, team);
    for (size_t which = 0; which < ALLOCATORS; which++)
        if (!cell->out[which])
            choose_operations(alloc, cell, which, job, team);
    for (size_t i = 0; i < samples; i++)
        for (size_t which = 0; which < ALLOCATORS; which++) {
            if (cell->out[which] || (i > 0 && allocator_get(which)->slow && now_seconds() > cell->end))
                continue;
            double seconds = measure(alloc, cell, which, job, team);
            if (!cell->out[which])
                samples_add(&cell->samples[which], seconds / (double)blocks_of_sample(cell, which));
        }
}

static ferry_status attempt(struct alloc *alloc, struct cell *cell, size_t samples) {
    static struct job job;
    bool open[ALLOCATORS] = {false};
    struct team *team = team_open(cell->threads);
    if (!team)
        return ferry_error(FERRY_OUT_OF_MEMORY, "%zu threads cannot be started", cell->threads);
    for (size_t which = 0; which < ALLOCATORS; which++) {
        open[which] = !alloc->absent[which] && !cell->out[which] && !allocator_get(which)->open();
        if (!open[which] && !cell->out[which])
            void_strategy(cell, which, &alloc->failed, "it does not open again");
    }
    measure_attempt(alloc, cell, samples, &job, team);
    team_run(team, leave, alloc);
    team_close(team);
    for (size_t which = 0; which < ALLOCATORS; which++)
        if (open[which])
            allocator_get(which)->close();
    return FERRY_OK;
}

static size_t batch_of(const struct cell *cell, bool slow) {
    size_t most = slow ? BATCH_MOST_SLOW : BATCH_MOST, fit = LIVE_BYTES / cell->threads / cell->bytes;
    return fit < most ? fit : most;
}

static void print_heading(const struct alloc *alloc) {
    printf("\nns for a block, allocated and freed\n%-30s", "");
    for (size_t which = 0; which < ALLOCATORS; which++)
        if (!alloc->absent[which])
            printf("  %14s", allocator_get(which)->name);
    putchar('\n');
}

static void report_cell(struct alloc *alloc, struct cell *cell) {
    char name[LABEL];
    report_progress(alloc->report, NULL, 0);
    snprintf(name, sizeof name, "%s, %zu thread%s", pattern_names[cell->pattern], cell->threads,
             cell->threads > 1 ? "s" : "");
    printf("%-18s %9zu B", name, cell->bytes);
    for (size_t which = 0; which < ALLOCATORS; which++) {
        double ns = 1e9 * samples_median(&cell->samples[which]);
        if (alloc->absent[which])
            continue;
        if (!cell->samples[which].n) {
            printf("  %14s", "void");
            continue;
        }
        printf("  %14.1f", ns);
        report_case(alloc->report, name, allocator_get(which)->name, cell->bytes, &cell->samples[which]);
        report_count(alloc->report, "threads", cell->threads);
        report_count(alloc->report, "operations", blocks_of_sample(cell, which));
        report_count(alloc->report, "batch", cell->batches[which]);
        report_number(alloc->report, "ns", ns);
        report_number(alloc->report, "blocks_per_s", 1e9 * (double)cell->threads / ns);
        report_text(alloc->report, "clock", "real");
        report_case_end(alloc->report);
    }
    putchar('\n');
    fflush(stdout);
}

/* The whole cell; attempts after the first, and more than one sample of a slow allocator, only while it is within its
 * share of the time. */
static ferry_status measure_cell(struct alloc *alloc, struct cell *cell, double seconds) {
    size_t attempts = alloc->options->quick ? 1 : ATTEMPTS, samples = SAMPLES;
    ferry_status status = FERRY_OK;
    cell->end = now_seconds() + seconds;
    if (alloc->options->runs) {
        attempts = alloc->options->runs < attempts ? alloc->options->runs : attempts;
        samples = (alloc->options->runs + attempts - 1) / attempts;
    }
    for (size_t which = 0; which < ALLOCATORS; which++) {
        cell->out[which] = alloc->absent[which];
        cell->samples[which].n = 0;
        cell->batches[which] = cell->pattern == PAIRS ? 0 : batch_of(cell, allocator_get(which)->slow);
    }
    for (size_t i = 0; i < attempts && !status && (i == 0 || now_seconds() < cell->end); i++)
        status = attempt(alloc, cell, samples);
    if (!status)
        report_cell(alloc, cell);
    return status;
}

/* Cells that make sense: a batch has to be one. */
static size_t list_cells(const struct suite_options *options, struct cell *cells, size_t most) {
    static const size_t sizes[] = {64, 1 << 10, 32 << 10, 1 << 20, 64 << 20};
    size_t n = 0, nsizes = options->nsizes ? options->nsizes : sizeof sizes / sizeof *sizes;
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t i = 0; i < nsizes; i++)
            for (size_t threads = 1; threads <= team_cores() && n < most; threads *= 2) {
                struct cell cell = {.pattern = (enum pattern)pattern,
                                    .bytes = options->nsizes ? options->sizes[i] : sizes[i],
                                    .threads = threads};
                size_t batch = batch_of(&cell, false);
                if (batch >= (pattern == PAIRS ? 1 : BATCH_LEAST))
                    cells[n++] = cell;
            }
    return n;
}

ferry_status alloc_threads(struct alloc *alloc) {
    enum { CELLS_MOST = PATTERNS * SUITE_SIZES_MAX * 5 };
    struct cell *cells = calloc(CELLS_MOST, sizeof *cells);
    ferry_status status = cells ? FERRY_OK : ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the samples");
    size_t n = cells ? list_cells(alloc->options, cells, CELLS_MOST) : 0;
    print_heading(alloc);
    alloc->report->quiet = true;
    for (size_t i = 0; i < n && !status; i++) {
        double left = alloc->end - now_seconds();
        report_progress(alloc->report, pattern_names[cells[i].pattern], (double)i / (double)n);
        if (left <= 0)
            alloc->left_out++;
        else
            status = measure_cell(alloc, &cells[i], left / (double)(n - i));
    }
    alloc->report->quiet = false;
    free(cells);
    return status;
}
