/*
 * Bytes that nobody needs: a program overwrites its input on the host, goes over it, and reads the result, again and
 * again. What the result held does not cross to the device, what the input held does not cross home.
 */
#include <math.h>

#include "content.h"
#include "placement.h"

#define ROUNDS 6
#define SETTLED 2                 /* from this round on, counted from 0, it knows */
#define SLACK ((uint64_t)2 << 20) /* the driver counts in blocks of 2 MiB */
#define LOOKS 64

struct program {
    ferry_array x, y;
    struct content content;
    int passes, rounds;
    uint64_t input_home, needless,
        faults; /* bytes home for an input that is overwritten; bytes there beyond the input */
    uint64_t result_home;
    bool wrong;
};

static ferry_status go_over(const struct program *program) {
    const ferry_view *in[] = {&program->x.view};
    ferry_status status = FERRY_OK;
    for (int i = 0; i < program->passes && !status; i++)
        status = ferry_apply(FERRY_OP_LOG, in, 1, &program->y.view, NULL);
    return status ? status : ferry_sync(NULL);
}

static ferry_status read_result(struct program *program) {
    ferry_status status = ferry_host_acquire(&program->y.view, FERRY_READ);
    const double *y = program->y.view.data;
    size_t n = program->content.n;
    if (status)
        return status;
    volatile double sum = content_read(&program->content, y);
    (void)sum;
    for (size_t i = 0; i < n; i += n / LOOKS) {
        double want = log(content_value(&program->content, i));
        program->wrong |= !(fabs(y[i] - want) <= 1e-12 * fabs(want));
    }
    return FERRY_OK;
}

static ferry_status overwrite(struct program *program) {
    ferry_status status = ferry_host_acquire(&program->x.view, FERRY_WRITE);
    if (!status)
        content_overwrite(&program->content, program->x.view.data);
    return status;
}

/* What migrated beyond the input; nothing of that needs to when kernels read it across the bus. */
static uint64_t needless_bytes(const ferry_stats *before, const ferry_stats *after, size_t bytes) {
    uint64_t remote = after->remote_bytes_to_device - before->remote_bytes_to_device;
    uint64_t migrated = after->bytes_to_device - before->bytes_to_device - remote;
    uint64_t needed = (remote >= bytes ? 0 : bytes) + SLACK;
    return migrated > needed ? migrated - needed : 0;
}

static ferry_status one_round(struct program *program) {
    ferry_stats start, written, gone_over, read;
    size_t bytes = program->content.n * sizeof(double);
    ferry_status status = ferry_stats_get(&start);
    if (!status)
        status = overwrite(program);
    if (!status)
        status = ferry_stats_get(&written);
    if (!status)
        status = go_over(program);
    if (!status)
        status = ferry_stats_get(&gone_over);
    if (!status)
        status = read_result(program);
    if (!status)
        status = ferry_stats_get(&read);
    if (status)
        return status;
    if (program->rounds++ < SETTLED)
        return FERRY_OK;
    program->input_home += written.bytes_to_host - start.bytes_to_host;
    program->needless += needless_bytes(&written, &gone_over, bytes);
    program->faults += gone_over.gpu_faults - written.gpu_faults;
    program->result_home += read.bytes_to_host - written.bytes_to_host;
    return FERRY_OK;
}

static void report_program(struct report *report, const struct program *program) {
    char text[128];
    size_t bytes = program->content.n * sizeof(double);
    snprintf(text, sizeof text, "%d passes of %zu bytes: stale results, bytes to the device", program->passes, bytes);
    report_check(report, program->needless == 0, text, (double)program->needless);
    snprintf(text, sizeof text, "%d passes of %zu bytes: overwritten inputs, bytes home", program->passes, bytes);
    report_check(report, program->input_home == 0, text, (double)program->input_home);
    snprintf(text, sizeof text, "%d passes of %zu bytes: faults of kernels", program->passes, bytes);
    report_check(report, program->faults == 0, text, (double)program->faults);
    printf("       a result of %zu bytes took %.6g of its size home per round\n", bytes,
           (double)program->result_home / (ROUNDS - SETTLED) / (double)bytes);
    report_check(report, !program->wrong, "counted crossings: wrong results", program->wrong);
}

static ferry_status run_program(struct placement *placement, ferry_heap *heap, int passes, size_t bytes) {
    struct program program = {.passes = passes, .content = content_new(bytes / sizeof(double), false)};
    int64_t count = (int64_t)program.content.n;
    ferry_status status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &program.x);
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &program.y);
    for (int i = 0; i < ROUNDS && !status; i++)
        status = one_round(&program);
    if (!status)
        report_program(placement->report, &program);
    ferry_array_release(&program.x);
    ferry_array_release(&program.y);
    return status;
}

ferry_status placement_crossings(struct placement *placement) {
    static const int passes[] = {1, 16};
    ferry_heap_options options = {.name = "crossings", .policy = FERRY_POLICY_AUTO};
    ferry_heap *heap = NULL;
    bool measured = ferry_trace_start() == FERRY_OK;
    report_check(placement->report, measured, "the driver's counters are measured", measured);
    if (!measured)
        printf("       %s\n", ferry_error_detail());
    ferry_status status = ferry_heap_create(&options, &heap);
    for (size_t i = 0; i < sizeof passes / sizeof *passes && !status; i++)
        status = run_program(placement, heap, passes[i], placement->crossings_bytes);
    ferry_heap_destroy(heap);
    ferry_status stopped = measured ? ferry_trace_stop() : FERRY_OK;
    return status ? status : stopped;
}
