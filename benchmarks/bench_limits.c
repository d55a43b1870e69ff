#include "bench_limits.h"

#include <math.h>
#include <string.h>

#include "clock.h"
#include "explicit.h"

#define COPY_BYTES ((size_t)256 << 20)
#define RUNS 9
#define DEVICE_COPIES 10 /* timed as one: a single copy hardly takes longer than the wait for it */

/* Two streams and a buffer on each side for each. */
struct copies {
    ferry_stream *streams[2];
    void *host[2], *device[2];
};

enum { TO_DEVICE, TO_HOST, BOTH, DEVICE_COPY, KINDS };

static bool issue(const struct copies *copies, int kind) {
    void *first = ferry_stream_native(copies->streams[0]), *second = ferry_stream_native(copies->streams[1]);
    bool worked = true;
    if (kind == TO_DEVICE || kind == BOTH)
        worked = explicit_copy(copies->device[0], copies->host[0], COPY_BYTES, first);
    if (worked && (kind == TO_HOST || kind == BOTH))
        worked = explicit_copy(copies->host[1], copies->device[1], COPY_BYTES, second);
    for (int i = 0; i < DEVICE_COPIES && worked && kind == DEVICE_COPY; i++)
        worked = explicit_copy(copies->device[1], copies->device[0], COPY_BYTES, first);
    return worked && explicit_wait(first) && explicit_wait(second);
}

static bool time_copies(const struct copies *copies, double seconds[KINDS]) {
    static struct samples samples[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        samples[kind].n = 0;
    for (int run = 0; run <= RUNS; run++)
        for (int kind = 0; kind < KINDS; kind++) {
            double begin = now_seconds();
            if (!issue(copies, kind))
                return false;
            if (run > 0) /* the first is unmeasured */
                samples_add(&samples[kind], now_seconds() - begin);
        }
    for (int kind = 0; kind < KINDS; kind++)
        seconds[kind] = samples_median(&samples[kind]);
    return true;
}

/* No two bytes of the host's buffers follow a pattern that a link could profit from. */
static void fill(unsigned char *host) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < COPY_BYTES; i += sizeof state) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        memcpy(host + i, &state, sizeof state);
    }
}

static ferry_status open_copies(struct copies *copies) {
    for (int i = 0; i < 2; i++) {
        ferry_status status = ferry_stream_create(0, &copies->streams[i]);
        if (status)
            return status;
        copies->host[i] = explicit_host_allocate(COPY_BYTES, true);
        copies->device[i] = explicit_device_allocate(COPY_BYTES);
        if (!copies->host[i] || !copies->device[i])
            return ferry_error(FERRY_OUT_OF_MEMORY, "no memory to measure copies of %zu bytes", COPY_BYTES);
        fill(copies->host[i]);
    }
    return FERRY_OK;
}

static void close_copies(struct copies *copies) {
    for (int i = 0; i < 2; i++) {
        explicit_host_free(copies->host[i], true);
        explicit_device_free(copies->device[i]);
        ferry_stream_destroy(copies->streams[i]);
    }
}

static ferry_status measure(struct limits *limits) {
    struct copies copies = {.streams = {NULL}};
    double seconds[KINDS];
    ferry_status status = open_copies(&copies);
    if (!status && !time_copies(&copies, seconds))
        status = ferry_error(FERRY_BACKEND, "copies could not be measured");
    close_copies(&copies);
    if (status)
        return status;
    *limits = (struct limits){
        .measured = true,
        .to_device = COPY_BYTES / seconds[TO_DEVICE],
        .to_host = COPY_BYTES / seconds[TO_HOST],
        .both = 2 * COPY_BYTES / seconds[BOTH],
        .device_copy = DEVICE_COPIES * COPY_BYTES / seconds[DEVICE_COPY],
    };
    return FERRY_OK;
}

static ferry_status ask_link(struct limits *limits) {
    ferry_link_costs costs;
    ferry_status status = ferry_link_get(0, &costs);
    if (status)
        return status;
    *limits = (struct limits){
        .to_device = 1e9 / fmin(costs.to_device_ns_per_byte, costs.remote_read_ns_per_byte),
        .to_host = 1e9 / fmin(costs.to_host_ns_per_byte, costs.remote_write_ns_per_byte),
        .both = 2e9 / costs.remote_both_ns_per_byte,
        .device_copy = 1e9 / (2 * costs.device_ns_per_byte),
    };
    return FERRY_OK;
}

ferry_status limits_get(struct limits *out) {
    static struct limits known;
    ferry_status status = FERRY_OK;
    if (known.both <= 0)
        status = clock_is_virtual() || !explicit_available() ? ask_link(&known) : measure(&known);
    if (!status)
        *out = known;
    return status;
}

void limits_report(const struct limits *limits, struct report *report) {
    char source[96];
    if (limits->measured)
        snprintf(source, sizeof source, "pinned copies of %zu MiB, medians of %d", COPY_BYTES >> 20, RUNS);
    else
        snprintf(source, sizeof source, "the figures of the simulator's link");
    printf("Limits: to device %.3g GB/s, to host %.3g, both at once %.3g, copying on the device %.4g (%s)\n",
           1e-9 * limits->to_device, 1e-9 * limits->to_host, 1e-9 * limits->both, 1e-9 * limits->device_copy, source);
    report_object(report, "limits");
    report_object_text(report, "source", source);
    report_object_number(report, "to_device_gb_per_s", 1e-9 * limits->to_device);
    report_object_number(report, "to_host_gb_per_s", 1e-9 * limits->to_host);
    report_object_number(report, "both_gb_per_s", 1e-9 * limits->both);
    report_object_number(report, "device_copy_gb_per_s", 1e-9 * limits->device_copy);
    report_object_end(report);
}

double limits_crossing_seconds(const struct limits *limits, double to_device_bytes, double to_host_bytes) {
    double one_way = fmax(to_device_bytes / limits->to_device, to_host_bytes / limits->to_host);
    return fmax(one_way, (to_device_bytes + to_host_bytes) / limits->both);
}
