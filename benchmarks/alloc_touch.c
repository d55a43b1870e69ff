/* The first writing of a block that nobody has touched, and of one that was written and freed before: allocation and
 * writing, by the host or by a kernel. */
#include <math.h>
#include <string.h>

#include "alloc.h"
#include "bench_kernels.h"
#include "clock.h"
#include "content.h"
#include "explicit.h"

#define RUNS 9
#define RUNS_QUICK 3
#define LABEL 64

enum { FRESH, RECYCLED, STATES };
static const char *const state_names[STATES] = {"fresh", "recycled"};

struct touch {
    struct alloc *alloc;
    struct bench_kernels kernels;
    bool by_kernel;
    size_t bytes, n;
    struct content content; /* of what was written last */
    ferry_array x;          /* on the device: what the kernel takes the logarithm of */
    double *probes;         /* what the device found */
    bool out[ALLOCATORS];
    struct samples samples[ALLOCATORS][STATES];
};

/* The library's blocks are acquired, as its users do; with others the driver does what it does. */
static ferry_status run_kernel(struct touch *touch, bool own, double *block) {
    ferry_view y;
    int64_t n = (int64_t)touch->n;
    ferry_status status = ferry_view_make(block, FERRY_FLOAT64, 1, &n, &y);
    const ferry_operand operands[] = {{.view = &touch->x.view, .access = FERRY_READ},
                                      {.view = &y, .access = FERRY_WRITE}};
    const size_t count = own ? 2 : 1;
    if (!status)
        status = ferry_acquire(operands, count, NULL);
    if (status)
        return status;
    status = bench_enqueue_log(&touch->kernels, ferry_device_pointer(touch->x.view.data),
                               own ? ferry_device_pointer(block) : (void *)block, touch->n, NULL);
    ferry_status completed = ferry_complete(operands, count, NULL);
    if (!status)
        status = completed;
    return status ? status : ferry_sync(NULL);
}

/* What is in the block is what was written. A look at what a kernel wrote is the device's. */
static ferry_status check_block(struct touch *touch, bool own, double *block, bool *right) {
    if (!touch->by_kernel) {
        *right = content_read(&touch->content, block) == content_sum(&touch->content);
        return FERRY_OK;
    }
    size_t n = touch->n;
    ferry_status status = bench_gather(&touch->kernels, own ? ferry_device_pointer(block) : (void *)block,
                                       touch->probes, content_probe_index(n, 0), n / CONTENT_PROBES, CONTENT_PROBES);
    for (size_t k = 0; k < CONTENT_PROBES && !status; k++) {
        double expected = log(content_value(&touch->content, content_probe_index(n, k)));
        *right = (k == 0 || *right) && fabs(touch->probes[k] - expected) < 1e-12;
    }
    return status;
}

/* Takes a block, writes it, looks at it, gives it back. */
static ferry_status touch_once(struct touch *touch, size_t which, int state, bool measured) {
    const struct allocator *allocator = allocator_get(which);
    const bool own = which == ALLOCATOR_FERRY;
    ferry_status status = FERRY_OK;
    bool right = false;
    double begin = touch->by_kernel ? clock_seconds() : now_seconds();
    double *block = allocator->take(touch->bytes);
    if (!block) {
        touch->alloc->failed += !touch->out[which];
        touch->out[which] = true;
        return FERRY_OK;
    }
    if (allocator->settle)
        allocator->settle();
    if (touch->by_kernel)
        status = run_kernel(touch, own, block);
    else
        content_overwrite(&touch->content, block);
    double seconds = (touch->by_kernel ? clock_seconds() : now_seconds()) - begin;
    if (!status)
        status = check_block(touch, own, block, &right);
    allocator->give(block);
    if (!status && !right) {
        touch->alloc->wrong += !touch->out[which];
        touch->out[which] = true;
    } else if (measured)
        samples_add(&touch->samples[which][state], seconds);
    return status;
}

static bool takes_part(const struct touch *touch, size_t which) {
    const struct allocator *allocator = allocator_get(which);
    enum block_kind never = touch->by_kernel ? BLOCKS_ORDINARY : BLOCKS_ON_DEVICE;
    return !touch->alloc->absent[which] && !touch->out[which] && allocator->fresh && allocator->kind != never;
}

static ferry_status measure(struct touch *touch) {
    size_t wanted = touch->alloc->options->runs, runs = touch->alloc->options->quick ? RUNS_QUICK : RUNS;
    ferry_status status = FERRY_OK;
    runs = wanted && wanted < runs ? wanted : runs;
    memset(touch->out, 0, sizeof touch->out);
    for (size_t which = 0; which < ALLOCATORS; which++)
        touch->samples[which][FRESH].n = touch->samples[which][RECYCLED].n = 0;
    for (size_t run = 0; run <= runs && !status; run++)
        for (size_t which = 0; which < ALLOCATORS && !status; which++) {
            if (!takes_part(touch, which) || now_seconds() > touch->alloc->end)
                continue;
            if (allocator_get(which)->open())
                return ferry_error(FERRY_BACKEND, "%s does not open again", allocator_get(which)->name);
            for (int state = 0; state < STATES && !status; state++)
                status = touch_once(touch, which, state, run > 0); /* the first is unmeasured */
            allocator_get(which)->close();
        }
    return status;
}

/* Allocators that there was no time for. */
static size_t count_left_out(const struct touch *touch) {
    size_t left_out = 0;
    for (size_t which = 0; which < ALLOCATORS; which++)
        left_out += takes_part(touch, which) && !touch->samples[which][RECYCLED].n;
    return left_out;
}

static void report(struct touch *touch) {
    struct report *out = touch->alloc->report;
    char name[LABEL];
    for (size_t which = 0; which < ALLOCATORS; which++)
        for (int state = 0; state < STATES && touch->samples[which][state].n; state++) {
            struct samples *samples = &touch->samples[which][state];
            snprintf(name, sizeof name, "filled by %s, %s", touch->by_kernel ? "a kernel" : "the host",
                     state_names[state]);
            if (touch->out[which]) {
                printf("%-34s %-19s void\n", name, allocator_get(which)->name);
                continue;
            }
            report_case(out, name, allocator_get(which)->name, touch->bytes, samples);
            report_number(out, "gb_per_s", 1e-9 * (double)touch->bytes / fmax(samples_median(samples), 1e-12));
            report_text(out, "clock", touch->by_kernel && clock_is_virtual() ? "modelled" : "real");
            report_case_end(out);
        }
}

static ferry_status measure_size(struct touch *touch, size_t bytes) {
    touch->bytes = bytes;
    touch->n = bytes / sizeof(double);
    touch->content = content_new(touch->n, false);
    int64_t n = (int64_t)touch->n;
    ferry_status status = ferry_array_create(NULL, FERRY_FLOAT64, 1, &n, &touch->x);
    for (int by_kernel = 0; by_kernel < 2 && !status; by_kernel++) {
        touch->by_kernel = by_kernel;
        if (by_kernel) {
            content_overwrite(&touch->content, touch->x.view.data);
            status = ferry_prefetch(&touch->x.view, 0, NULL);
        }
        report_progress(touch->alloc->report, "fresh and recycled", 0);
        if (!status)
            status = measure(touch);
        if (!status) {
            report(touch);
            touch->alloc->left_out += count_left_out(touch);
        }
    }
    ferry_array_release(&touch->x);
    return status;
}

ferry_status alloc_touches(struct alloc *alloc) {
    static const size_t all[] = {64 << 10, 1 << 20, 64 << 20};
    static struct touch touch;
    const struct suite_options *options = alloc->options;
    size_t count = options->nsizes ? options->nsizes : options->quick ? 2 : sizeof all / sizeof *all;
    touch = (struct touch){.alloc = alloc, .probes = ferry_malloc(CONTENT_PROBES * sizeof *touch.probes)};
    ferry_status status = touch.probes ? bench_kernels_open(&touch.kernels) : FERRY_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = measure_size(&touch, options->nsizes ? options->sizes[i] : all[i]);
    bench_kernels_close(&touch.kernels);
    ferry_free(touch.probes);
    return status;
}
