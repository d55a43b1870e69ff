/*
 * bench_foundation [--size BYTES] [--runs N] [--json FILE] [--check]
 *
 * What the library is held to: bytes that cross, by the driver's own count; prefetches beside pinned copies; the cost
 * of an acquire, a launch, an allocation. Prints a table, writes the same as JSON. With --check the exit status is 1
 * when a figure is not what it has to be. At most 3 GiB of managed memory.
 */
#include "foundation.h"

#include <stdlib.h>
#include <string.h>

#include "pinned.h"

#define GIB ((size_t)1 << 30)

const char empty_ptx[] = ".version 7.0\n"
                         ".target sm_75\n"
                         ".address_size 64\n"
                         ".visible .entry " EMPTY_NAME "(.param .u64 address)\n"
                         "{\n"
                         "    ret;\n"
                         "}\n";

struct arguments {
    struct settings settings;
    const char *json;
    bool check;
};

static bool read_arguments(int argc, char **argv, struct arguments *out) {
    *out = (struct arguments){.settings = {.bytes = GIB, .runs = 9}};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--check") == 0) {
            out->check = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(argv[i], "--json") == 0)
            out->json = value;
        else if (strcmp(argv[i], "--runs") == 0)
            out->settings.runs = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--size") != 0 || ferry_size_parse(value, &out->settings.bytes))
            return false;
        i++;
    }
    return out->settings.bytes >= sizeof(double) && out->settings.bytes <= GIB && out->settings.runs > 0 &&
           out->settings.runs <= SAMPLES_MAX;
}

/* Arrays of ferry's, and the baselines' buffers on the device and in pinned memory. */
static bool enough_memory(const ferry_device_info *device, size_t bytes) {
    if (device->free_bytes >= 4 * bytes + GIB / 2)
        return true;
    fprintf(stderr, "the device has %zu bytes free, too few for arrays of %zu\n", device->free_bytes, bytes);
    return false;
}

static bool start(struct settings *settings, ferry_device_info *device) {
    ferry_options options = {.limit_bytes = 3 * GIB};
    if (ferry_init(&options) || ferry_device_get(0, device)) {
        fprintf(stderr, "%s\n", ferry_error_detail());
        return false;
    }
    settings->cuda = strcmp(ferry_backend_name(), "cuda") == 0;
    return enough_memory(device, settings->bytes);
}

/* What is timed comes before CUPTI is opened, which leaves hooks in the driver. */
static bool measure(struct report *report, const struct settings *settings) {
    if (measure_speed(report, settings) && measure_malloc_pairs(report, settings) && ferry_trim() == FERRY_OK &&
        measure_crossings(report, settings))
        return true;
    fprintf(stderr, "the benchmark broke off: %s\n", ferry_error_detail());
    return false;
}

int main(int argc, char **argv) {
    struct arguments arguments;
    struct report report;
    ferry_device_info device;
    char cuda[32];
    if (argc == 2 && strcmp(argv[1], MALLOC_PAIRS_OPTION) == 0)
        return malloc_pairs_main();
    if (!read_arguments(argc, argv, &arguments)) {
        fprintf(stderr, "usage: %s [--size BYTES, at most 1G] [--runs N] [--json FILE] [--check]\n", argv[0]);
        return 2;
    }
    if (!start(&arguments.settings, &device))
        return 1;
    pinned_cuda_version(cuda, sizeof cuda);
    if (!report_begin(&report, arguments.json, device.name, arguments.settings.cuda ? NULL : "none", cuda)) {
        perror(arguments.json);
        return 1;
    }
    bool measured = measure(&report, &arguments.settings);
    if (!report_end(&report)) {
        perror(arguments.json);
        return 1;
    }
    return !measured || (arguments.check && report.failed);
}
