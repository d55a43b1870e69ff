/* ferry info: what this machine offers. */
#include <inttypes.h>
#include <stdio.h>

#include "args.h"
#include "ferry/link.h"
#include "ferry/stats.h"
#include "ferry/version.h"
#include "json.h"
#include "links.h"
#include "options.h"
#include "tool.h"

enum { OPTION_BACKEND, OPTION_JSON, OPTION_HELP, OPTION_COUNT };

static const char *yes_no(bool value) {
    return value ? "yes" : "no";
}

static const char *true_false(bool value) {
    return value ? "true" : "false";
}

/* Whether crossings can be measured here: the only way to know is to try. Not before the links have been, which a
 * profiler's library slows down. */
static bool can_measure(void) {
    ferry_link_costs costs;
    for (int i = 0; i < ferry_device_count(); i++)
        ferry_link_get(i, &costs);
    return ferry_trace_start() == FERRY_OK && ferry_trace_stop() == FERRY_OK;
}

static void print_device(int number, const ferry_device_info *d, const ferry_link_costs *costs) {
    char total[SIZE_TEXT], available[SIZE_TEXT];
    size_text((double)d->total_bytes, total);
    size_text((double)d->free_bytes, available);
    printf("\ndevice %d             %s\n", number, d->name);
    if (d->compute_major > 0)
        printf("  compute            %d.%d\n", d->compute_major, d->compute_minor);
    printf("  memory             %s, %s free\n", total, available);
    printf("  concurrent access  %s\n", yes_no(d->concurrent_managed_access));
    printf("  host page tables   %s\n", yes_no(d->host_page_tables));
    print_links(costs);
}

static void print_device_json(int number, const ferry_device_info *d, const ferry_link_costs *costs) {
    fputs(number ? ",\n    {\"name\": " : "\n    {\"name\": ", stdout);
    json_string(stdout, d->name);
    printf(", \"compute\": [%d, %d], \"total_bytes\": %zu, \"free_bytes\": %zu, \"concurrent_managed_access\": %s, "
           "\"host_page_tables\": %s,\n     \"link_costs\": ",
           d->compute_major, d->compute_minor, d->total_bytes, d->free_bytes, true_false(d->concurrent_managed_access),
           true_false(d->host_page_tables));
    print_links_json(costs);
    putchar('}');
}

static int print_devices(void (*print)(int, const ferry_device_info *, const ferry_link_costs *)) {
    for (int i = 0; i < ferry_device_count(); i++) {
        ferry_device_info device;
        ferry_link_costs costs;
        if (ferry_device_get(i, &device) != FERRY_OK || ferry_link_get(i, &costs) != FERRY_OK)
            return fail_library(NULL);
        print(i, &device, &costs);
    }
    return EXIT_DONE;
}

static int print_info(void) {
    char limit[SIZE_TEXT];
    size_text((double)ferry_limit(), limit);
    printf("ferry                %s\n", ferry_version());
    printf("backend              %s\n", ferry_backend_name());
    printf("policy               %s\n", ferry_policy_name(ferry_heap_policy(ferry_heap_default())));
    printf("budget               %s of managed memory (FERRY_LIMIT)\n", limit);
    bool measured = can_measure();
    printf("transfers measured   %s%s%s\n", yes_no(measured), measured ? "" : ": ",
           measured ? "" : ferry_error_detail());
    return print_devices(print_device);
}

static int print_info_json(void) {
    printf("{\n  \"version\": \"%s\",\n  \"backend\": \"%s\",\n  \"policy\": \"%s\",\n  \"limit_bytes\": %zu,\n",
           ferry_version(), ferry_backend_name(), ferry_policy_name(ferry_heap_policy(ferry_heap_default())),
           ferry_limit());
    printf("  \"transfers_measured\": %s,\n  \"devices\": [", true_false(can_measure()));
    int status = print_devices(print_device_json);
    puts("\n  ]\n}");
    return status;
}

static int help(const option *options) {
    puts("Usage: ferry info [OPTION...]\n\n"
         "Says which backend serves, what its devices are and can, what crossing to them costs, and how much managed "
         "memory\n"
         "may be used. Costs that no earlier program has left are measured first.\n");
    args_help(options, OPTION_COUNT);
    return finish_output();
}

int command_info(int argc, char **argv) {
    option options[OPTION_COUNT] = {
        [OPTION_BACKEND] = {"--backend", NULL, OPTION_VALUE, "BACKEND", BACKEND_HELP, false, NULL},
        [OPTION_JSON] = {"--json", NULL, OPTION_FLAG, "", "one JSON object", false, NULL},
        [OPTION_HELP] = {"--help", "-h", OPTION_FLAG, "", "this text", false, NULL},
    };
    int rest, status = args_parse("info", argc, argv, options, OPTION_COUNT, &rest);
    if (status != EXIT_DONE)
        return status;
    if (options[OPTION_HELP].given)
        return help(options);
    if (rest > 0)
        return fail_usage("info", "unexpected argument '%s'", argv[0]);
    status = start_library("info", &options[OPTION_BACKEND], NULL);
    if (status == EXIT_DONE)
        status = options[OPTION_JSON].given ? print_info_json() : print_info();
    return status == EXIT_DONE ? finish_output() : status;
}
