/* A logarithm, host array to host array: the library's choice beside explicit copies and zero-copy memory. */
#include <math.h>

#include "clock.h"
#include "content.h"
#include "explicit.h"
#include "placement.h"

#define LOOKS 64
#define OVER_PINNED 0.68    /* of 1 GiB, the time of explicit pinned copies at most */
#define OVER_ZERO_COPY 1.04 /* the same kernel on pinned zero-copy memory */
#define GIB ((size_t)1 << 30)
#define KERNEL_BYTES ((size_t)64 << 20) /* from here on the kernel takes longer than its launch */

enum { AUTO, PINNED, ZERO_COPY, STRATEGIES };
static const char *const names[STRATEGIES] = {"auto", "pinned", "zero-copy"};

struct trip {
    struct placement *placement;
    size_t n, bytes;
    ferry_array x, y;                   /* of a heap with policy auto */
    double *pinned_x, *pinned_y;        /* on the host */
    double *device_x, *device_y;        /* their copies */
    double *mapped_x, *mapped_y;        /* pinned memory as kernels see it */
    struct content content[STRATEGIES]; /* of x */
    struct samples samples[STRATEGIES];
    bool wrong;
};

static volatile double kept; /* what is touched is read */

static ferry_status failed_copy(void) {
    return ferry_error(FERRY_BACKEND, "an explicit copy failed");
}

/* What the host does between counts neither here nor there: taking x over for writing does, filling it does not. */
static ferry_status round_auto(struct trip *trip, double *seconds) {
    const ferry_view *in[] = {&trip->x.view};
    double begin = clock_seconds();
    ferry_status status = ferry_host_acquire(&trip->x.view, FERRY_WRITE);
    *seconds = clock_seconds() - begin;
    if (status)
        return status;
    content_overwrite(&trip->content[AUTO], trip->x.view.data);
    begin = clock_seconds();
    status = ferry_apply(FERRY_OP_LOG, in, 1, &trip->y.view, NULL);
    if (!status)
        status = ferry_sync(NULL);
    if (!status)
        status = ferry_host_acquire(&trip->y.view, FERRY_READ);
    if (!status)
        kept = placement_touch(trip->y.view.data, trip->n);
    *seconds += clock_seconds() - begin;
    return status;
}

static ferry_status round_pinned(struct trip *trip, double *seconds) {
    void *stream = ferry_stream_native(NULL);
    content_overwrite(&trip->content[PINNED], trip->pinned_x);
    double begin = clock_seconds();
    if (!explicit_copy(trip->device_x, trip->pinned_x, trip->bytes, stream))
        return failed_copy();
    ferry_status status = bench_enqueue_log(&trip->placement->kernels, trip->device_x, trip->device_y, trip->n, NULL);
    if (status)
        return status;
    if (!explicit_copy(trip->pinned_y, trip->device_y, trip->bytes, stream) || !explicit_wait(stream))
        return failed_copy();
    kept = placement_touch(trip->pinned_y, trip->n);
    *seconds = clock_seconds() - begin;
    return FERRY_OK;
}

static ferry_status round_zero_copy(struct trip *trip, double *seconds) {
    content_overwrite(&trip->content[ZERO_COPY], trip->pinned_x);
    double begin = clock_seconds();
    ferry_status status = bench_enqueue_log(&trip->placement->kernels, trip->mapped_x, trip->mapped_y, trip->n, NULL);
    if (!status && !explicit_wait(ferry_stream_native(NULL)))
        status = failed_copy();
    kept = placement_touch(trip->pinned_y, trip->n);
    *seconds = clock_seconds() - begin;
    return status;
}

static void check_logs(struct trip *trip, int strategy, const double *y) {
    size_t step = trip->n / LOOKS;
    for (size_t i = trip->samples[strategy].n % step; i < trip->n && !trip->content[strategy].sparse; i += step) {
        double want = log(content_value(&trip->content[strategy], i));
        trip->wrong |= !(fabs(y[i] - want) <= 1e-12 * fabs(want));
    }
}

static ferry_status one_round(struct trip *trip) {
    ferry_status (*const rounds[])(struct trip *, double *) = {round_auto, round_pinned, round_zero_copy};
    ferry_status status = FERRY_OK;
    for (int s = 0; s < (trip->placement->has_explicit ? STRATEGIES : PINNED) && !status; s++) {
        double seconds = 0;
        status = rounds[s](trip, &seconds);
        if (!status) {
            samples_add(&trip->samples[s], seconds);
            check_logs(trip, s, s == AUTO ? trip->y.view.data : trip->pinned_y);
        }
    }
    return status;
}

static ferry_status open_trip(struct trip *trip, ferry_heap *heap) {
    int64_t count = (int64_t)trip->n;
    ferry_status status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &trip->x);
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &trip->y);
    for (int s = 0; s < STRATEGIES; s++)
        trip->content[s] = content_new(trip->n, false);
    if (status || !trip->placement->has_explicit)
        return status;
    trip->pinned_x = explicit_host_allocate(trip->bytes, true);
    trip->pinned_y = explicit_host_allocate(trip->bytes, true);
    trip->device_x = explicit_device_allocate(trip->bytes);
    trip->device_y = explicit_device_allocate(trip->bytes);
    if (!trip->pinned_x || !trip->pinned_y || !trip->device_x || !trip->device_y)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for explicit copies of %zu bytes", trip->bytes);
    trip->mapped_x = explicit_mapped(trip->pinned_x);
    trip->mapped_y = explicit_mapped(trip->pinned_y);
    return trip->mapped_x && trip->mapped_y ? FERRY_OK : ferry_error(FERRY_BACKEND, "pinned memory is not mapped");
}

static void close_trip(struct trip *trip) {
    ferry_array_release(&trip->x);
    ferry_array_release(&trip->y);
    explicit_host_free(trip->pinned_x, true);
    explicit_host_free(trip->pinned_y, true);
    explicit_device_free(trip->device_x);
    explicit_device_free(trip->device_y);
}

static void report_ratio(struct trip *trip, int strategy, double limit) {
    char text[128];
    double ratio = samples_median(&trip->samples[AUTO]) / samples_median(&trip->samples[strategy]);
    snprintf(text, sizeof text, "log of %zu bytes, host to host: auto over %s", trip->bytes, names[strategy]);
    if (limit > 0)
        report_check(trip->placement->report, ratio <= limit, text, ratio);
    else
        printf("       %s: %.6g\n", text, ratio);
}

static void report_trip(struct trip *trip) {
    for (int s = 0; s < STRATEGIES; s++)
        if (trip->samples[s].n) {
            double seconds = samples_median(&trip->samples[s]);
            report_case(trip->placement->report, "log, host to host", names[s], trip->bytes, &trip->samples[s]);
            report_number(trip->placement->report, "gb_per_s", 2e-9 * (double)trip->bytes / seconds);
            report_limit(trip->placement->report, placement_limit(trip->bytes));
            report_case_end(trip->placement->report);
        }
    if (trip->wrong)
        report_check(trip->placement->report, false, "logarithms, host to host, are right", 0);
    if (!trip->placement->has_explicit)
        return;
    report_ratio(trip, PINNED, trip->bytes == GIB ? OVER_PINNED : trip->bytes == 4096 ? 1 : 0);
    report_ratio(trip, ZERO_COPY, trip->bytes == GIB ? OVER_ZERO_COPY : 0);
}

static ferry_status run_size(struct placement *placement, ferry_heap *heap, size_t bytes) {
    static struct trip trip;
    size_t runs = placement->runs * (bytes <= ((size_t)1 << 20) ? 10 : 1);
    trip = (struct trip){.placement = placement, .n = bytes / sizeof(double), .bytes = bytes};
    ferry_status status = open_trip(&trip, heap);
    for (size_t i = 0; i < runs + 2 && !status; i++) {
        if (i == 2) /* the first two are unmeasured */
            for (int s = 0; s < STRATEGIES; s++)
                trip.samples[s].n = 0;
        status = one_round(&trip);
    }
    if (!status)
        report_trip(&trip);
    close_trip(&trip);
    return status;
}

/* One launch on arrays that are on the device, of the library's kernel or of the suite's. */
static ferry_status time_kernel(struct placement *placement, const ferry_view *x, const ferry_view *y, bool own,
                                struct samples *samples) {
    const ferry_view *in[] = {x};
    double begin = clock_seconds();
    ferry_status status = own ? bench_enqueue_log(&placement->kernels, ferry_device_pointer(x->data),
                                                  ferry_device_pointer(y->data), (size_t)x->shape[0], NULL)
                              : ferry_apply(FERRY_OP_LOG, in, 1, y, NULL);
    if (!status)
        status = ferry_sync(NULL);
    samples_add(samples, clock_seconds() - begin);
    return status;
}

static void report_kernels(struct placement *placement, size_t bytes, struct samples samples[2]) {
    static const char *const kinds[] = {"the library", "the suite"};
    for (int i = 0; i < 2; i++) {
        report_case(placement->report, "log on the device, kernel of", kinds[i], bytes, &samples[i]);
        report_case_end(placement->report);
    }
    double ratio = samples_median(&samples[1]) / samples_median(&samples[0]);
    static const char text[] = "log on the device: the suite's kernel over the library's";
    if (bytes >= KERNEL_BYTES)
        report_check(placement->report, ratio >= 0.9 && ratio <= 1.1, text, ratio);
    else
        printf("       %s: %.6g\n", text, ratio);
}

/* Whether the explicit strategies' kernel is as good as the library's. */
static ferry_status compare_kernels(struct placement *placement, ferry_heap *heap, size_t bytes) {
    static struct samples samples[2];
    ferry_array x = {.owner = NULL}, y = {.owner = NULL};
    int64_t count = (int64_t)(bytes / sizeof(double));
    struct content content = content_new((size_t)count, false);
    samples[0].n = samples[1].n = 0;
    ferry_status status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &x);
    if (!status)
        status = ferry_array_create(heap, FERRY_FLOAT64, 1, &count, &y);
    if (!status)
        content_overwrite(&content, x.view.data);
    for (size_t i = 0; i <= placement->runs && !status; i++) {
        status = time_kernel(placement, &x.view, &y.view, false, &samples[0]);
        if (!status)
            status = time_kernel(placement, &x.view, &y.view, true, &samples[1]);
        if (i == 0) /* unmeasured: it moves the arrays */
            samples[0].n = samples[1].n = 0;
    }
    if (!status)
        report_kernels(placement, bytes, samples);
    ferry_array_release(&x);
    ferry_array_release(&y);
    return status;
}

static ferry_status with_heap(ferry_policy policy, ferry_heap **heap) {
    ferry_heap_options options = {.name = "round trips", .policy = policy};
    return ferry_heap_create(&options, heap);
}

ferry_status placement_round_trips(struct placement *placement) {
    ferry_heap *chosen = NULL, *resident = NULL;
    ferry_status status = with_heap(FERRY_POLICY_AUTO, &chosen);
    for (size_t i = 0; i < placement->nsizes && !status; i++)
        status = run_size(placement, chosen, placement->sizes[i]);
    ferry_heap_destroy(chosen);
    if (!status && !placement->modelled)
        status = with_heap(FERRY_POLICY_PREFETCH, &resident);
    if (resident && !status)
        status = compare_kernels(placement, resident, placement->sizes[placement->nsizes - 1]);
    ferry_heap_destroy(resident);
    return status;
}
