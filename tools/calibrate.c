/* ferry calibrate: measures the links to the devices anew. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "ferry/cache.h"
#include "ferry/link.h"
#include "ferry/memory.h"
#include "json.h"
#include "links.h"
#include "options.h"
#include "tool.h"

enum { OPTION_DEVICE, OPTION_BACKEND, OPTION_JSON, OPTION_HELP, OPTION_COUNT };

/* What is to be calibrated, and where it is kept. */
typedef struct calibration {
    int first, end; /* devices */
    bool modelled;
    bool cached;
    char folder[4096];
} calibration;

/* One device, or without the option all. */
static int choose_devices(const option *o, calibration *c) {
    c->first = 0;
    c->end = ferry_device_count();
    if (!o->given)
        return EXIT_DONE;
    char *end;
    errno = 0;
    long device = strtol(o->value, &end, 10);
    if (end == o->value || *end != '\0' || errno != 0)
        return fail_usage("calibrate", "--device takes a device's number, not '%s'", o->value);
    if (device < 0 || device >= c->end)
        return fail("there is no device %ld; devices are 0 to %d", device, c->end - 1);
    c->first = (int)device;
    c->end = c->first + 1;
    return EXIT_DONE;
}

/* Figures that could not be kept are shown all the same. */
static int calibrate(calibration *c) {
    c->modelled = strcmp(ferry_backend_name(), "sim") == 0;
    c->cached = !c->modelled;
    for (int i = c->first; i < c->end; i++) {
        ferry_status status = ferry_calibrate(i, NULL);
        if (status == FERRY_IO)
            c->cached = false;
        else if (status != FERRY_OK)
            return fail_library(NULL);
    }
    if (c->cached && ferry_cache_folder(c->folder, sizeof c->folder) != FERRY_OK)
        c->cached = false;
    return EXIT_DONE;
}

static int get(int device, ferry_device_info *info, ferry_link_costs *costs) {
    bool got = ferry_device_get(device, info) == FERRY_OK && ferry_link_get(device, costs) == FERRY_OK;
    return got ? EXIT_DONE : fail_library(NULL);
}

static int print(const calibration *c) {
    for (int i = c->first; i < c->end; i++) {
        ferry_device_info info;
        ferry_link_costs costs;
        if (get(i, &info, &costs) != EXIT_DONE)
            return EXIT_FAILED;
        printf("device %d  %s\n", i, info.name);
        print_links(&costs);
        putchar('\n');
    }
    if (c->modelled)
        puts("Nothing was measured: these are the modelled machine's figures (FERRY_SIM_LINK).");
    else if (c->cached)
        printf("Cached in %s.\n", c->folder);
    return EXIT_DONE;
}

static int print_json(const calibration *c) {
    printf("{\n  \"backend\": \"%s\",\n  \"modelled\": %s,\n  \"cached_in\": ", ferry_backend_name(),
           c->modelled ? "true" : "false");
    if (c->cached)
        json_string(stdout, c->folder);
    else
        fputs("null", stdout);
    fputs(",\n  \"devices\": [", stdout);
    for (int i = c->first; i < c->end; i++) {
        ferry_device_info info;
        ferry_link_costs costs;
        if (get(i, &info, &costs) != EXIT_DONE)
            return EXIT_FAILED;
        printf("%s\n    {\"device\": %d, \"name\": ", i > c->first ? "," : "", i);
        json_string(stdout, info.name);
        fputs(", \"link_costs\": ", stdout);
        print_links_json(&costs);
        putchar('}');
    }
    puts("\n  ]\n}");
    return EXIT_DONE;
}

static int help(const option *options) {
    puts("Usage: ferry calibrate [OPTION...]\n\n"
         "Measures what crossing between the host and each device costs, and keeps it for later programs: policy "
         "'auto'\n"
         "decides by it. Takes well under a second for a device, which should be idle.\n");
    args_help(options, OPTION_COUNT);
    return finish_output();
}

int command_calibrate(int argc, char **argv) {
    option options[OPTION_COUNT] = {
        [OPTION_DEVICE] = {"--device", NULL, OPTION_VALUE, "N", "only this device (default: all)", false, NULL},
        [OPTION_BACKEND] = {"--backend", NULL, OPTION_VALUE, "BACKEND", BACKEND_HELP, false, NULL},
        [OPTION_JSON] = {"--json", NULL, OPTION_FLAG, "", "one JSON object", false, NULL},
        [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
    };
    calibration c = {.folder = ""};
    int rest, status = args_parse("calibrate", argc, argv, options, OPTION_COUNT, &rest);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help(options);
    if (rest > 0)
        return fail_usage("calibrate", "unexpected argument '%s'", argv[0]);
    if ((status = start_library("calibrate", &options[OPTION_BACKEND], NULL)) != EXIT_DONE)
        return status;
    status = choose_devices(&options[OPTION_DEVICE], &c);
    if (status == EXIT_DONE)
        status = calibrate(&c);
    if (status == EXIT_DONE)
        status = options[OPTION_JSON].given ? print_json(&c) : print(&c);
    if (status == EXIT_DONE)
        status = finish_output();
    return status == EXIT_DONE && !c.modelled && !c.cached ? fail_library(NULL) : status;
}
