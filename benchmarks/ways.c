/* The library's ways, and what all ways share. */
#include "ways.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "host_model.h"
#include "pool.h"

#define LOOKS 512 /* elements that are compared: of every chunk some */
#define KERNEL_RUNS 9
#define HOST_RUNS 9
#define PAGE_BYTES ((size_t)4096)

static struct {
    struct bench_kernels kernels;
    bool modelled;
} ways;

ferry_status ways_start(bool modelled) {
    ways.modelled = modelled;
    ferry_status status = bench_kernels_open(&ways.kernels);
    return status ? status : ways_explicit_start();
}

void ways_finish(void) {
    ways_explicit_finish();
    bench_kernels_close(&ways.kernels);
}

bool ways_modelled(void) {
    return ways.modelled;
}

const struct bench_kernels *ways_kernels(void) {
    return &ways.kernels;
}

ferry_status trip_open(struct trip *trip, const struct way *way, const char *name, enum way_kernel kernel,
                       size_t bytes) {
    size_t n = bytes / sizeof(double);
    *trip = (struct trip){.way = way, .name = name, .kernel = kernel, .n = n, .bytes = bytes};
    trip->sparse = ways.modelled && bytes >= POOL_LEAST_BYTES;
    trip->own_content = content_new(n, trip->sparse);
    trip->content = &trip->own_content;
    return way->open(trip);
}

void trip_close(struct trip *trip) {
    if (trip->way)
        trip->way->close(trip);
    *trip = (struct trip){.way = NULL};
}

double trip_touch(const struct trip *trip, bool y, bool loads, bool stores) {
    double begin = clock_seconds();
    content_touch(y ? trip->host_y : trip->host_x, trip->n, loads, stores);
    return (clock_seconds() - begin) / (ways.modelled ? host_model_touches_at_once(trip->bytes) : 1);
}

/* What a kernel goes over once auto leaves on the host. */
double way_host_seconds(const struct way *way, size_t bytes) {
    bool stays = way->policy == FERRY_POLICY_REMOTE || way->policy == FERRY_POLICY_AUTO;
    return 2 * host_model_touches(bytes) + (stays ? host_model_dirty_loads(bytes) : host_model_dirty_copy(bytes));
}

static double expected(const struct trip *trip, size_t i) {
    double value = content_value(trip->content, i);
    return trip->kernel == WAY_LOG ? log(value) : value;
}

bool trip_right(const struct trip *trip, bool spoil) {
    size_t step = trip->n < LOOKS ? 1 : trip->n / LOOKS, first = trip->rounds % step;
    bool right = true;
    if (spoil)
        trip->host_y[first] += 1;
    for (size_t i = first; i < trip->n && right && !trip->sparse; i += step) {
        double want = expected(trip, i);
        right = fabs(trip->host_y[i] - want) <= 1e-12 * fabs(want); /* false for NaN */
    }
    return right;
}

/* A place in the program for each way, size and array, so that no case begins with what another has taught. */
static ferry_status create_array(struct trip *trip, const char *array, ferry_array *out) {
    char label[128];
    int64_t count = (int64_t)trip->n;
    snprintf(label, sizeof label, "%s %zu %s", trip->name, trip->bytes, array);
    ferry_site before = ferry_site_set(ferry_site_label(label));
    ferry_status status = ferry_array_create(trip->heap, FERRY_FLOAT64, 1, &count, out);
    ferry_site_set(before);
    return status;
}

static ferry_status open_managed(struct trip *trip) {
    ferry_heap_options options = {.name = trip->name, .policy = trip->way->policy};
    ferry_status status = ferry_heap_create(&options, &trip->heap);
    if (!status)
        status = create_array(trip, "x", &trip->x);
    if (!status && trip->kernel == WAY_LOG)
        status = create_array(trip, "y", &trip->y);
    if (status)
        return status;
    trip->host_x = trip->x.view.data;
    trip->host_y = trip->kernel == WAY_LOG ? trip->y.view.data : trip->host_x;
    trip->device_x = ferry_device_pointer(trip->host_x);
    trip->device_y = ferry_device_pointer(trip->host_y);
    return FERRY_OK;
}

static void close_managed(struct trip *trip) {
    ferry_array_release(&trip->x);
    ferry_array_release(&trip->y);
    ferry_heap_destroy(trip->heap);
}

static ferry_status host_takes(struct trip *trip, bool y, ferry_access access) {
    return ferry_host_acquire(y && trip->kernel == WAY_LOG ? &trip->y.view : &trip->x.view, access);
}

static ferry_status launch_log(const struct trip *trip, const ferry_operand operands[2]) {
    long long n = (long long)trip->n;
    const ferry_arg args[] = {{.operand = operands[0]}, {.operand = operands[1]}, {.value = &n, .bytes = sizeof n}};
    return ferry_launch(ways.kernels.log, bench_grid_elementwise(trip->n), args, 3, NULL);
}

static ferry_status launch_negate(const struct trip *trip, const ferry_operand *operand) {
    long long n = (long long)trip->n;
    const ferry_arg args[] = {{.operand = *operand}, {.value = &n, .bytes = sizeof n}};
    return ferry_launch(ways.kernels.negate, bench_grid_elementwise(trip->n), args, 2, NULL);
}

static ferry_status enqueue(const struct trip *trip) {
    return trip->kernel == WAY_LOG ? bench_enqueue_log(&ways.kernels, trip->device_x, trip->device_y, trip->n, NULL)
                                   : bench_enqueue_negate(&ways.kernels, trip->device_x, trip->n, NULL);
}

/* For the virtual clock, which charges what is completed: the kernel does not load the old y, whatever is declared. */
static ferry_status launch_modelled(const struct trip *trip, ferry_operand *operands, size_t n) {
    ferry_status status = ferry_acquire(operands, n, NULL);
    if (status)
        return status;
    status = trip->sparse ? bench_enqueue_nothing(&ways.kernels, NULL) : enqueue(trip);
    operands[n - 1].access = n == 1 ? FERRY_READWRITE : FERRY_WRITE;
    ferry_status completed = ferry_complete(operands, n, NULL);
    return status ? status : completed;
}

static ferry_status device_takes(struct trip *trip) {
    bool in_place = trip->kernel == WAY_NEGATE;
    ferry_operand operands[] = {
        {.view = &trip->x.view, .access = in_place ? FERRY_READWRITE : FERRY_READ, .passes = 1},
        {.view = &trip->y.view, .access = trip->way->keeps ? FERRY_READWRITE : FERRY_WRITE, .passes = 1}};
    ferry_status status = ways.modelled ? launch_modelled(trip, operands, in_place ? 1 : 2)
                          : in_place    ? launch_negate(trip, operands)
                                        : launch_log(trip, operands);
    return status ? status : ferry_stream_sync(NULL);
}

#define MANAGED_WAY .host_takes = host_takes, .device_takes = device_takes, .open = open_managed, .close = close_managed
const struct way way_none = {MANAGED_WAY, .policy = FERRY_POLICY_NONE};
const struct way way_prefetch = {MANAGED_WAY, .policy = FERRY_POLICY_PREFETCH};
const struct way way_prefetch_kept = {MANAGED_WAY, .policy = FERRY_POLICY_PREFETCH, .keeps = true};
const struct way way_remote = {MANAGED_WAY, .policy = FERRY_POLICY_REMOTE};
const struct way way_auto = {MANAGED_WAY, .policy = FERRY_POLICY_AUTO};
const struct way way_auto_kept = {MANAGED_WAY, .policy = FERRY_POLICY_AUTO, .keeps = true};

/* On the virtual clock a launch without operands is charged for nothing that it touches. */
static ferry_status go_over(struct trip *trip) {
    if (ways.modelled)
        return device_takes(trip);
    ferry_status status = enqueue(trip);
    return status ? status : ferry_stream_sync(NULL);
}

static ferry_status time_kernel(struct trip *trip, double *seconds) {
    static struct samples samples;
    samples.n = 0;
    ferry_status status = ferry_host_acquire(&trip->x.view, FERRY_WRITE);
    if (!status)
        content_overwrite(trip->content, trip->host_x);
    if (!status)
        status = device_takes(trip);
    for (int i = 0; i <= KERNEL_RUNS && !status; i++) {
        double begin = clock_seconds();
        status = go_over(trip);
        if (i > 0) /* the first is unmeasured */
            samples_add(&samples, clock_seconds() - begin);
    }
    *seconds = samples_median(&samples);
    return status;
}

static ferry_status kernel_seconds(enum way_kernel kernel, size_t bytes, double *seconds) {
    struct trip trip;
    ferry_status status = trip_open(&trip, &way_prefetch, "kernel alone", kernel, bytes);
    if (!status)
        status = time_kernel(&trip, seconds);
    trip_close(&trip);
    return status ? status : ferry_trim();
}

/* On ordinary memory, filled between the two touches as in a round. */
static ferry_status host_seconds(enum way_kernel kernel, size_t bytes, double *seconds) {
    static struct samples samples;
    double *array = aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    struct content content = content_new(bytes / sizeof(double), false);
    if (!array)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an array of %zu bytes", bytes);
    content_overwrite(&content, array);
    samples.n = 0;
    for (int i = 0; i < HOST_RUNS; i++) {
        double begin = now_seconds();
        content_touch(array, content.n, kernel == WAY_NEGATE, true);
        double touched = now_seconds() - begin;
        content_overwrite(&content, array);
        begin = now_seconds();
        if (kernel == WAY_LOG)
            content_touch(array, content.n, true, false);
        samples_add(&samples, touched + now_seconds() - begin);
    }
    free(array);
    *seconds = samples_median(&samples);
    return FERRY_OK;
}

ferry_status ways_limit(const struct limits *limits, enum way_kernel kernel, size_t bytes, struct turns_limit *limit) {
    *limit = (struct turns_limit){.crossing = limits_crossing_seconds(limits, (double)bytes, (double)bytes)};
    ferry_status status = kernel_seconds(kernel, bytes, &limit->kernel);
    if (!status && !ways.modelled)
        status = host_seconds(kernel, bytes, &limit->host);
    limit->whole = limit->host + fmax(limit->crossing, limit->kernel);
    return status;
}
