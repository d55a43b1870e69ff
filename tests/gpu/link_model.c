/*
 * The measurement of links on a modelled CUDA runtime: it finds the figures that the model was given, has its pages in
 * the state that each figure is about, and gives everything back, whichever call fails.
 */
#include <math.h>

#include "alloc/backend_cuda_link.c"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)
#define LEAST_RESERVED (64 * MIB)
#define REGIONS 2
#define MOST_REGION_BYTES (40 * MIB)

static const ferry_link_costs model = {
    .to_device_ns = 35e3,
    .to_device_ns_per_byte = 0.0201,
    .to_host_ns = 65e3,
    .to_host_ns_per_byte = 0.0838,
    .discard_to_device_ns_per_byte = 0.0065,
    .discard_to_host_ns_per_byte = 0.0466,
    .fill_device_ns_per_byte = 0.0047,
    .fill_host_ns_per_byte = 0.0410,
    .remote_ns = 3e3,
    .hidden_ns = 2e3,
    .remote_read_ns_per_byte = 0.0195,
    .remote_write_ns_per_byte = 0.0190,
    .remote_both_ns_per_byte = 0.0237,
    .device_ns_per_byte = 0.00029,
};

static const double launch_ns = 4e3, kernel_ns = 2e3, call_ns = 2e3;
static bool discards_travel; /* no batched calls */
static size_t device_free_bytes;

/* What the model holds, and what is open. */
static struct region {
    char *base;
    size_t bytes;
    signed char place[MOST_REGION_BYTES / FERRY_PAGE_BYTES]; /* -2 never touched, -1 the host, 0 the device */
} regions[REGIONS];
static char *scratch;
static size_t scratch_size, reserved_bytes, most_reserved_bytes;
static int open_things, entered;
static double now, line, event_at[2]; /* the host's time, when the stream ends, and when it passed the latest events */
static long calls, failing;

/* Fails the call that was to fail. */
static bool fails(void) {
    return ++calls == failing;
}

static ferry_status outcome(const char *call) {
    return fails() ? ferry_error(FERRY_BACKEND, "%s was to fail", call) : FERRY_OK;
}

static struct region *region_of(const char *address) {
    for (int i = 0; i < REGIONS; i++)
        if (regions[i].base && address >= regions[i].base && address < regions[i].base + regions[i].bytes)
            return &regions[i];
    return NULL;
}

static ferry_status model_reserve(size_t bytes, bool host_homed, void **out) {
    CHECK(host_homed && bytes % FERRY_BLOCK_BYTES == 0);
    struct region *region = regions;
    while (region->base)
        region++;
    if (outcome("reserve"))
        return FERRY_BACKEND;
    /* Memory that is used again and again, for the sake of the test's own time. */
    static char *pool;
    if (!pool)
        pool = aligned_alloc(FERRY_BLOCK_BYTES, REGIONS * MOST_REGION_BYTES);
    REQUIRE(pool && region < regions + REGIONS && bytes <= MOST_REGION_BYTES);
    region->base = pool + (size_t)(region - regions) * MOST_REGION_BYTES;
    region->bytes = bytes;
    memset(region->place, -2, sizeof region->place);
    reserved_bytes += bytes;
    most_reserved_bytes = reserved_bytes > most_reserved_bytes ? reserved_bytes : most_reserved_bytes;
    *out = region->base;
    return FERRY_OK;
}

static ferry_status model_release(void *base, size_t bytes) {
    struct region *region = region_of(base);
    REQUIRE(region && region->bytes == bytes);
    region->base = NULL;
    reserved_bytes -= bytes;
    return outcome("release");
}

static uint64_t model_now_ns(void) {
    return (uint64_t)now;
}

const backend backend_cuda = {.reserve = model_reserve, .release = model_release, .now_ns = model_now_ns};

/* The place of all of a range's pages; it is an error of the measurement's when they differ. */
static int place_of(const char *address, size_t bytes) {
    struct region *region = region_of(address);
    if (!region) {
        CHECK(address >= scratch && address + bytes <= scratch + scratch_size);
        return 0;
    }
    CHECK(address + bytes <= region->base + region->bytes);
    size_t first = (size_t)(address - region->base) / FERRY_PAGE_BYTES, mixed = 0;
    for (size_t i = first; i < first + bytes / FERRY_PAGE_BYTES; i++)
        mixed += region->place[i] != region->place[first];
    CHECK_THAT(mixed == 0, "pages of one range are in two places");
    return region->place[first];
}

static void set_place(const char *address, size_t bytes, int place) {
    struct region *region = region_of(address);
    memset(region->place + (size_t)(address - region->base) / FERRY_PAGE_BYTES, place, bytes / FERRY_PAGE_BYTES);
}

static double move_ns_per_byte(int from, const backend_move *move) {
    bool to_device = move->to >= 0, discard = move->kind == BACKEND_DISCARD_PREFETCH && !discards_travel;
    if (from == -2)
        return to_device ? model.fill_device_ns_per_byte : model.fill_host_ns_per_byte;
    if (discard)
        return to_device ? model.discard_to_device_ns_per_byte : model.discard_to_host_ns_per_byte;
    return to_device ? model.to_device_ns_per_byte : model.to_host_ns_per_byte;
}

ferry_status cuda_move(const backend_move *moves, size_t n, backend_stream *stream) {
    CHECK(n == 1 && stream && entered == 1);
    int from = place_of(moves->address, moves->bytes);
    CHECK_THAT(from != moves->to, "a move of pages that are in place");
    now += moves->to >= 0 ? model.to_device_ns : model.to_host_ns;
    now += move_ns_per_byte(from, moves) * (double)moves->bytes;
    set_place(moves->address, moves->bytes, moves->to >= 0 ? 0 : -1);
    return outcome("move");
}

/* Pages are made by prefetches of them, of which alone the figures tell. */
static double kernel_bytes_ns(char *from, char *to, double bytes) {
    int source = from ? place_of(from, (size_t)bytes) : 0, target = to ? place_of(to, (size_t)bytes) : 0;
    CHECK_THAT(source != -2 && target != -2, "a kernel makes pages that nobody has touched");
    double ns = source < 0 || target < 0 ? model.remote_ns : 0;
    if (source == -1 && target == -1) {
        ns += model.remote_both_ns_per_byte * bytes;
    } else if (source == -1 || target == -1) {
        ns += (source == -1 ? model.remote_read_ns_per_byte : model.remote_write_ns_per_byte) * bytes;
    } else {
        ns += model.device_ns_per_byte * bytes;
    }
    return ns;
}

ferry_status cuda_kernel_launch(backend_kernel *kernel, const ferry_grid *grid, void *const *args, const size_t *sizes,
                                size_t n, backend_stream *stream) {
    CHECK(kernel && stream && n == 3 && sizes[0] == 8 && sizes[1] == 8 && sizes[2] == 8 && entered == 1);
    CHECK(grid->blocks[0] > 0 && grid->threads[0] > 0);
    char *from = *(char **)args[0], *to = *(char **)args[1];
    now += launch_ns;
    line = fmax(line, now) + kernel_ns + kernel_bytes_ns(from, to, 16 * (double)*(uint64_t *)args[2]);
    return outcome("launch");
}

static ferry_status open_thing(void *out, const char *call) {
    ferry_status status = outcome(call);
    if (!status) {
        open_things++;
        *(void **)out = malloc(64);
    }
    return status;
}

static void close_thing(void *thing) {
    if (thing)
        open_things--;
    free(thing);
}

ferry_status cuda_stream_create(int device, backend_stream **out) {
    CHECK_INT(device, 0);
    ferry_status status = open_thing(out, "stream_create");
    if (!status)
        (*out)->native = NULL;
    return status;
}

void cuda_stream_destroy(backend_stream *stream) {
    close_thing(stream);
}

ferry_status cuda_stream_sync(backend_stream *stream) {
    CHECK(stream != NULL);
    now = fmax(line, now) + call_ns;
    return outcome("stream_sync");
}

ferry_status cuda_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                              backend_kernel **out) {
    (void)host;
    CHECK(bytes == strlen(image) + 1 && strstr(image, name) != NULL);
    return open_thing(out, "kernel_load");
}

void cuda_kernel_unload(backend_kernel *kernel) {
    close_thing(kernel);
}

ferry_status cuda_enter(struct cuda_scope *scope, int device) {
    (void)scope, (void)device;
    ferry_status status = outcome("enter");
    entered += !status;
    return status;
}

void cuda_leave(struct cuda_scope *scope) {
    (void)scope;
    entered--;
}

ferry_status cuda_check(cudaError_t error, const char *call) {
    return error ? ferry_error(FERRY_BACKEND, "%s", call) : FERRY_OK;
}

int cuda_device_count(void) {
    return 2;
}

static cudaError_t result(void) {
    return fails() ? cudaErrorUnknown : cudaSuccess;
}

static int concurrent = 1;

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    CHECK(attribute == cudaDevAttrConcurrentManagedAccess);
    *value = device == 0 || concurrent;
    return result();
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return open_thing(event, "cudaEventCreate") ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    close_thing(event);
    return cudaSuccess;
}

/* The latest two: a measurement begins with one and ends with the other. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)event, (void)stream;
    event_at[0] = event_at[1];
    event_at[1] = fmax(line, now);
    return result();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    (void)event;
    now = fmax(line, now);
    return result();
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) {
    CHECK(begin != end);
    *ms = (float)((event_at[1] - event_at[0]) / 1e6);
    return result();
}

cudaError_t(cudaMalloc)(void **out, size_t bytes) {
    if (fails())
        return cudaErrorUnknown;
    if (bytes > device_free_bytes)
        return cudaErrorMemoryAllocation;
    open_things++;
    *out = scratch = malloc(1);
    scratch_size = bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *address) {
    close_thing(address);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}

static ferry_status run(ferry_link_costs *out) {
    calls = 0;
    now = 1e9, line = 0;
    ferry_status status = cuda_link_measure(0, out);
    CHECK_INT(open_things, 0);
    CHECK_UINT(reserved_bytes, 0);
    CHECK_INT(entered, 0);
    return status;
}

static bool near(double got, double want) {
    return got >= 0.99 * want && got <= 1.01 * want;
}

static void check_near(double got, double want, const char *name) {
    CHECK_THAT(near(got, want), "%s is %g, not %g", name, got, want);
}

static void plain_machine(void) {
    failing = 0;
    discards_travel = false;
    device_free_bytes = (size_t)1 << 30;
    concurrent = 1;
}

/* The fixed cost of a move holds what waiting for it takes, and the remote one that of a page. */
static void the_models_figures_are_found(void) {
    plain_machine();
    ferry_link_costs got, want = model;
    want.to_device_ns += call_ns;
    want.to_host_ns += call_ns;
    want.hidden_ns -= model.device_ns_per_byte * (double)size_bytes[SMALL];
    want.remote_ns += TINY_BYTES * (model.remote_both_ns_per_byte - model.device_ns_per_byte);
    REQUIRE_OK(run(&got));
#define NEAR(name, text) check_near(got.name, want.name, #name);
    FERRY_LINK_LIST(NEAR)
#undef NEAR
    CHECK_THAT(most_reserved_bytes < LEAST_RESERVED, "%zu MiB were reserved", most_reserved_bytes / MIB);
    CHECK_THAT(now < 1e9 + 150e6, "it took %.0f ms", (now - 1e9) / 1e6);
}

static void without_batches_discards_cost_what_prefetches_do(void) {
    plain_machine();
    ferry_link_costs got;
    discards_travel = true;
    REQUIRE_OK(run(&got));
    check_near(got.discard_to_device_ns_per_byte, model.to_device_ns_per_byte, "discard_to_device");
    check_near(got.discard_to_host_ns_per_byte, model.to_host_ns_per_byte, "discard_to_host");
}

static void little_device_memory_will_do(void) {
    plain_machine();
    ferry_link_costs got;
    device_free_bytes = 20 * MIB;
    REQUIRE_OK(run(&got));
    check_near(got.device_ns_per_byte, model.device_ns_per_byte, "device");
    device_free_bytes = MIB;
    CHECK_STATUS(run(&got), FERRY_BACKEND);
}

static void every_device_must_take_hints(void) {
    plain_machine();
    ferry_link_costs got;
    concurrent = 0;
    CHECK_STATUS(run(&got), FERRY_UNSUPPORTED);
    CHECK_STATUS(cuda_link_measure(2, &got), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(cuda_link_measure(-1, &got), FERRY_INVALID_ARGUMENT);
}

/* The last few calls are the clean-up's own, whose failures are nobody's. */
static void whichever_call_fails_everything_is_given_back(void) {
    plain_machine();
    ferry_link_costs got, untouched = {.remote_ns = -7}, before = untouched;
    REQUIRE_OK(run(&got));
    long all = calls, succeeded = 0;
    for (failing = 1; failing <= all; failing++) {
        got = untouched;
        if (run(&got) == FERRY_OK)
            succeeded++;
        else
            CHECK_MEMORY(&got, &before, sizeof got);
    }
    CHECK_THAT(all > 100 && succeeded == 2, "%ld of %ld failures went unnoticed", succeeded, all);
}

int main(void) {
    RUN(the_models_figures_are_found);
    RUN(without_batches_discards_cost_what_prefetches_do);
    RUN(little_device_memory_will_do);
    RUN(every_device_must_take_hints);
    RUN(whichever_call_fails_everything_is_given_back);
    return test_finish();
}
