/* The suite `stream`: what memory gives, to the device and to the host. */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_limits.h"
#include "clock.h"
#include "explicit.h"
#include "pool.h"
#include "suite_report.h"

#define ROUNDS 51
#define ROUNDS_QUICK 5
#define ROUNDS_LEAST 3
#define ROUNDS_MODELLED 3
#define REPEATS 10 /* of an operation on the device, timed as one: there it takes hardly longer than a launch */
#define SECONDS 60
#define BYTES ((size_t)512 << 20) /* of an array: three of them in three places are 4.5 GiB */
#define BYTES_MODELLED ((size_t)32 << 20)
#define BYTES_QUICK ((size_t)4 << 20)
#define MANAGED_PLACES 3
#define ROWS (STREAM_PLACES + 3 * 5)
#define LABEL 64
#define OVER_DEVICE 1.05 /* of the device's own memory, by the library's operands in place there */

/* A place, and who works on it. */
struct row {
    const char *name;
    enum stream_place place;
    size_t threads; /* of the host; 0: kernels */
    bool library;   /* memcpy alone */
    bool wrong;
    struct samples samples[STREAM_OPERATIONS]; /* seconds of an operation */
};

struct stream {
    struct report *report;
    struct limits limits;
    struct bench_kernels gather;
    struct stream_kernels kernels;
    struct team *teams[TEAM_MOST + 1]; /* by number of threads */
    struct stream_memory memory[STREAM_PLACES];
    bool has_explicit, modelled;
    struct row rows[ROWS];
    size_t nrows, n, rounds;
    double end, copied_per_s; /* by the host, at best: bytes loaded and stored */
    size_t wrong;
};

/* Whether FERRY_BENCH_SPOIL names it, whose results are then to be wrong. */
static bool is_spoilt(const struct row *row) {
    const char *name = getenv("FERRY_BENCH_SPOIL");
    return name && strcmp(name, row->name) == 0;
}

static void add_row(struct stream *stream, const char *name, enum stream_place place, size_t threads, bool library) {
    if (stream->has_explicit || !stream_place_needs_cuda(place))
        stream->rows[stream->nrows++] =
            (struct row){.name = name, .place = place, .threads = threads, .library = library};
}

static void list_rows(struct stream *stream) {
    add_row(stream, "device memory", STREAM_DEVICE, 0, false);
    add_row(stream, "managed, on the device", STREAM_MANAGED, 0, false);
    add_row(stream, "managed, across the bus", STREAM_REMOTE, 0, false);
    add_row(stream, "pinned, across the bus", STREAM_PINNED, 0, false);
    for (size_t threads = 1; threads <= team_cores(); threads *= 2) {
        add_row(stream, "ordinary memory", STREAM_HOST, threads, false);
        add_row(stream, "managed memory", STREAM_HOST_MANAGED, threads, false);
        add_row(stream, "memcpy", STREAM_HOST, threads, true);
    }
}

static size_t repeats_of(const struct stream *stream, const struct row *row) {
    bool there = row->place == STREAM_DEVICE || row->place == STREAM_MANAGED;
    return there && !stream->modelled ? REPEATS : 1;
}

static ferry_status launch(struct stream *stream, const struct row *row, int operation, double factor) {
    const struct stream_operation *op = &stream_operations[operation];
    struct stream_memory *memory = &stream->memory[row->place];
    const bool own = row->place == STREAM_MANAGED || row->place == STREAM_REMOTE;
    const ferry_operand operands[] = {
        {.view = &memory->arrays[op->to].view, .access = FERRY_WRITE, .passes = 1},
        {.view = &memory->arrays[op->from[0]].view, .access = FERRY_READ, .passes = 1},
        {.view = &memory->arrays[op->from[1]].view, .access = FERRY_READ, .passes = 1},
    };
    const size_t count = own ? 1 + (size_t)op->reads : 0;
    ferry_status status = count ? ferry_acquire(operands, count, NULL) : FERRY_OK;
    if (status)
        return status;
    status = stream_enqueue(&stream->kernels, operation, memory->device, factor, stream->n);
    ferry_status completed = count ? ferry_complete(operands, count, NULL) : FERRY_OK;
    return status ? status : completed;
}

static ferry_status time_kernels(struct stream *stream, const struct row *row, int operation, double *seconds) {
    double factor = is_spoilt(row) ? 2 * STREAM_FACTOR : STREAM_FACTOR, begin = clock_seconds();
    size_t repeats = repeats_of(stream, row);
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < repeats && !status; i++)
        status = launch(stream, row, operation, factor);
    if (!status)
        status = ferry_sync(NULL);
    *seconds = (clock_seconds() - begin) / (double)repeats;
    return status;
}

/* All operations once, in their order, and a look at the results. */
static ferry_status run_row(struct stream *stream, struct row *row, bool measured) {
    struct stream_memory *memory = &stream->memory[row->place];
    double factor = is_spoilt(row) ? 2 * STREAM_FACTOR : STREAM_FACTOR;
    ferry_status status = FERRY_OK;
    bool right = true;
    for (int operation = 0; operation < (row->library ? 1 : STREAM_OPERATIONS) && !status; operation++) {
        double seconds = 0;
        if (row->threads)
            seconds = stream_on_host(stream->teams[row->threads], row->threads, operation, memory->host, factor,
                                     stream->n, row->library);
        else
            status = time_kernels(stream, row, operation, &seconds);
        stream_expect(memory, operation);
        if (!status && measured)
            samples_add(&row->samples[operation], seconds);
    }
    if (!status)
        status = stream_check(&stream->gather, memory, &right);
    row->wrong |= !right;
    return status;
}

static ferry_status run_rounds(struct stream *stream) {
    ferry_status status = FERRY_OK;
    for (size_t round = 0; round <= stream->rounds && !status; round++) { /* the first is unmeasured */
        if (round > ROUNDS_LEAST && now_seconds() > stream->end)
            break;
        report_progress(stream->report, "rounds", (double)round / (double)(stream->rounds + 1));
        for (size_t i = 0; i < stream->nrows && !status; i++)
            status = run_row(stream, &stream->rows[i], round > 0);
    }
    return status;
}

/* What an operation would take at best where the row's arrays are. */
static double limit_of(const struct stream *stream, const struct row *row, int operation) {
    double bytes = (double)(stream->n * sizeof(double)), reads = stream_operations[operation].reads;
    if (row->threads)
        return (reads + 1) * bytes / stream->copied_per_s;
    if (row->place == STREAM_DEVICE || row->place == STREAM_MANAGED)
        return (reads + 1) * bytes / (2 * stream->limits.device_copy);
    return limits_crossing_seconds(&stream->limits, reads * bytes, bytes);
}

static void find_host_limit(struct stream *stream) {
    stream->copied_per_s = 0;
    for (size_t i = 0; i < stream->nrows; i++)
        if (stream->rows[i].library) {
            double seconds = samples_median(&stream->rows[i].samples[STREAM_COPY]);
            stream->copied_per_s = fmax(stream->copied_per_s, 2.0 * (double)(stream->n * sizeof(double)) / seconds);
        }
}

static void report_operation(struct stream *stream, struct row *row, int operation) {
    const struct stream_operation *op = &stream_operations[operation];
    struct samples *samples = &row->samples[operation];
    struct report *report = stream->report;
    size_t bytes = stream->n * sizeof(double);
    double rate = 1e-9 * (double)(1 + op->reads) * (double)bytes / samples_median(samples);
    char name[LABEL];
    snprintf(name, sizeof name, row->threads ? "%s on the host, %zu thread%s" : "%s on the device", op->name,
             row->threads, row->threads > 1 ? "s" : "");
    report_case(report, name, row->name, bytes, samples);
    if (row->threads)
        report_count(report, "threads", row->threads);
    report_count(report, "operations", repeats_of(stream, row));
    report_number(report, "gb_per_s", rate);
    report_limit(report, limit_of(stream, row, operation));
    report_text(report, "clock", stream->modelled && !row->threads ? "modelled" : "real");
    report_flag(report, "valid", !row->wrong);
    report_case_end(report);
    printf("  %9.4g %5.2f", rate, limit_of(stream, row, operation) / samples_median(samples));
}

static void report_row(struct stream *stream, struct row *row) {
    char label[LABEL];
    snprintf(label, sizeof label, row->threads ? "%s, %zu thread%s" : "%s", row->name, row->threads,
             row->threads > 1 ? "s" : "");
    report_progress(stream->report, NULL, 0);
    printf("%-28s", label);
    for (int operation = 0; operation < (row->library ? 1 : STREAM_OPERATIONS); operation++)
        report_operation(stream, row, operation);
    puts(row->wrong ? "  void: a result was wrong" : "");
    stream->wrong += row->wrong;
}

static double triad_of(struct stream *stream, enum stream_place place) {
    for (size_t i = 0; i < stream->nrows; i++)
        if (stream->rows[i].place == place)
            return samples_median(&stream->rows[i].samples[STREAM_TRIAD]);
    return 0;
}

static void report_rows(struct stream *stream) {
    find_host_limit(stream);
    printf("\n%zu MiB; GB/s, and the share of the limit; the host copies %.3g GB/s at best\n%-28s",
           stream->n * sizeof(double) >> 20, 1e-9 * stream->copied_per_s, "");
    for (int operation = 0; operation < STREAM_OPERATIONS; operation++)
        printf("  %15s", stream_operations[operation].name);
    putchar('\n');
    stream->report->quiet = true;
    for (size_t i = 0; i < stream->nrows; i++)
        report_row(stream, &stream->rows[i]);
    stream->report->quiet = false;
    double there = triad_of(stream, STREAM_MANAGED), own = triad_of(stream, STREAM_DEVICE);
    if (own > 0)
        report_check(stream->report, there <= OVER_DEVICE * own,
                     "triad, managed operands on the device over device memory, time", there / own);
}

static ferry_status measure_size(struct stream *stream, size_t bytes) {
    ferry_status status = FERRY_OK;
    stream->n = bytes / sizeof(double);
    for (size_t i = 0; i < stream->nrows; i++) {
        stream->rows[i].wrong = false;
        for (int operation = 0; operation < STREAM_OPERATIONS; operation++)
            stream->rows[i].samples[operation].n = 0;
    }
    int opened = 0;
    for (; opened < STREAM_PLACES && !status; opened++)
        if (stream->has_explicit || !stream_place_needs_cuda((enum stream_place)opened))
            status = stream_memory_open(&stream->memory[opened], (enum stream_place)opened, stream->n);
    pool_close();
    if (!status)
        status = run_rounds(stream);
    if (!status)
        report_rows(stream);
    for (int place = 0; place < opened; place++)
        stream_memory_close(&stream->memory[place]);
    return status;
}

static ferry_status run_sizes(struct stream *stream, const struct suite_options *options) {
    size_t own = options->quick ? BYTES_QUICK : stream->modelled ? BYTES_MODELLED : BYTES;
    size_t count = options->nsizes ? options->nsizes : 1;
    double seconds = options->seconds > 0 ? options->seconds : SECONDS, begin = now_seconds();
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < count && !status; i++) {
        size_t bytes = options->nsizes ? options->sizes[i] : own;
        stream->end = begin + seconds * (double)(i + 1) / (double)count;
        if (bytes > ferry_limit() / (MANAGED_PLACES * STREAM_ARRAYS))
            printf("Left out: %zu bytes, of which %d arrays are more managed memory than FERRY_LIMIT allows.\n", bytes,
                   MANAGED_PLACES * STREAM_ARRAYS);
        else
            status = measure_size(stream, bytes);
    }
    return status;
}

static ferry_status open_stream(struct stream *stream) {
    ferry_status status = limits_get(&stream->limits);
    list_rows(stream);
    for (size_t threads = 1; threads <= team_cores() && !status; threads *= 2) {
        stream->teams[threads] = team_open(threads);
        if (!stream->teams[threads])
            status = ferry_error(FERRY_OUT_OF_MEMORY, "%zu threads cannot be started", threads);
    }
    if (!status)
        status = bench_kernels_open(&stream->gather);
    return status ? status : stream_kernels_open(&stream->kernels);
}

static void close_stream(struct stream *stream) {
    for (size_t threads = 0; threads <= TEAM_MOST; threads++)
        team_close(stream->teams[threads]);
    stream_kernels_close(&stream->kernels);
    bench_kernels_close(&stream->gather);
}

static enum suite_end run(const struct suite_options *options, char message[SUITE_MESSAGE]) {
    static struct report report;
    static struct stream stream;
    if (!suite_report_begin(&report, &suite_stream, options, message))
        return SUITE_FAILED;
    stream = (struct stream){.report = &report, .modelled = clock_is_virtual()};
    stream.has_explicit = !stream.modelled && explicit_available();
    stream.rounds = options->runs     ? options->runs
                    : options->quick  ? ROUNDS_QUICK
                    : stream.modelled ? ROUNDS_MODELLED
                                      : ROUNDS;
    ferry_status status = open_stream(&stream);
    if (!status)
        status = run_sizes(&stream, options);
    close_stream(&stream);
    if (status)
        snprintf(message, SUITE_MESSAGE, "the benchmark broke off: %s", ferry_error_detail());
    else
        report_check(&report, stream.wrong == 0, "rows with a wrong result", (double)stream.wrong);
    if (!status && stream.wrong)
        snprintf(message, SUITE_MESSAGE, "wrong results: %zu, and those rows are void", stream.wrong);
    return suite_report_end(&report, options, status || stream.wrong ? SUITE_FAILED : SUITE_DONE, message);
}

const struct suite suite_stream = {
    .name = "stream",
    .text = "McCalpin's copy, scale, add and triad by kernels, over device memory, managed arrays on the device, and "
            "managed and pinned arrays across the bus; and by the host's threads, over ordinary and managed memory. "
            "Beside what copies reach in the same run.",
    .limit = "8G",
    .run = run,
};
