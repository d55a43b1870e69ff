#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ferry/memory.h"
#include "links.h"
#include "tool.h"

typedef struct row {
    const char *name;
    double ns_per_byte, ns; /* ns below 0: there is no fixed cost apart */
} row;

static void print_row(const row *r) {
    double gib = (double)((size_t)1 << 30);
    printf("    %-30s %8.2f ms/GiB ", r->name, r->ns_per_byte * gib / 1e6);
    if (r->ns_per_byte > 0)
        printf("%9.1f GB/s", 1 / r->ns_per_byte);
    else
        printf("%9s GB/s", "-");
    if (r->ns >= 0)
        printf(" %9.1f us", r->ns / 1e3);
    putchar('\n');
}

void print_links(const ferry_link_costs *c) {
    const row rows[] = {
        {"prefetch to the device", c->to_device_ns_per_byte, c->to_device_ns},
        {"prefetch to the host", c->to_host_ns_per_byte, c->to_host_ns},
        {"discard to the device", c->discard_to_device_ns_per_byte, -1},
        {"discard to the host", c->discard_to_host_ns_per_byte, -1},
        {"first touch on the device", c->fill_device_ns_per_byte, -1},
        {"first touch on the host", c->fill_host_ns_per_byte, -1},
        {"kernel across the bus: loads", c->remote_read_ns_per_byte, c->remote_ns},
        {"kernel across the bus: stores", c->remote_write_ns_per_byte, c->remote_ns},
        {"kernel across the bus: both", c->remote_both_ns_per_byte, c->remote_ns},
        {"kernel on the device: loads", c->device_ns_per_byte, -1},
    };
    printf("  link%s\n    %-30s %15s %14s %12s\n", links_origin(), "", "per GiB", "rate", "each call");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_row(&rows[i]);
    printf("    %-30s %44.1f us\n", "hidden behind the next launch", c->hidden_ns / 1e3);
}

void print_links_json(const ferry_link_costs *costs) {
    const char *separator = "";
#define FIELD(name, text)                                                                                              \
    printf("%s\"" #name "\": %.9g", separator, costs->name);                                                           \
    separator = ", ";
    putchar('{');
    FERRY_LINK_LIST(FIELD)
    putchar('}');
#undef FIELD
}

/* Without hints on every device nothing is measured. */
static bool takes_hints(void) {
    ferry_device_info device;
    for (int i = 0; i < ferry_device_count(); i++)
        if (ferry_device_get(i, &device) == FERRY_OK && !device.concurrent_managed_access)
            return false;
    return true;
}

const char *links_origin(void) {
    if (!takes_hints())
        return " (assumed: a PCIe 5 machine's, where hints can be given)";
    return strcmp(ferry_backend_name(), "sim") == 0 ? " (the modelled machine's)" : "";
}
