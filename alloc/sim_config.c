#include <stdlib.h>
#include <string.h>

#include "sim_machine.h"

#define DEFAULT_DEVICE_BYTES ((size_t)16 << 30)
#define LEAST_DEVICE_BYTES (2 * FERRY_BLOCK_BYTES) /* one block can stay while another one goes */

static const char *variable(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static ferry_status read_switch(const char *name, bool *value) {
    const char *text = variable(name);
    if (!text)
        return FERRY_OK;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return ferry_error(FERRY_INVALID_ARGUMENT, "%s is \"%s\"; it must be 0 or 1", name, text);
    *value = text[0] == '1';
    return FERRY_OK;
}

static ferry_status read_devices(int *value) {
    const char *text = variable("FERRY_SIM_DEVICES");
    if (!text)
        return FERRY_OK;
    char *end;
    long number = strtol(text, &end, 10);
    if (*end || number < 1 || number > SIM_DEVICES)
        return ferry_error(FERRY_INVALID_ARGUMENT, "FERRY_SIM_DEVICES is \"%s\"; it must be 1 to %d", text,
                           SIM_DEVICES);
    *value = (int)number;
    return FERRY_OK;
}

static ferry_status read_memory(size_t *value) {
    const char *text = variable("FERRY_SIM_MEMORY");
    if (!text)
        return FERRY_OK;
    size_t bytes;
    ferry_status status = ferry_size_parse(text, &bytes);
    if (status)
        return ferry_error(status, "FERRY_SIM_MEMORY: %s", ferry_error_detail());
    if (bytes < LEAST_DEVICE_BYTES)
        return ferry_error(FERRY_INVALID_ARGUMENT, "FERRY_SIM_MEMORY is %zu bytes; a device has at least %zu", bytes,
                           LEAST_DEVICE_BYTES);
    *value = bytes;
    return FERRY_OK;
}

static ferry_status read_tracker(const struct sim_tracker **value) {
    static const struct sim_tracker *const known[] = {&sim_tracker_userfaultfd, &sim_tracker_mprotect,
                                                      &sim_tracker_off};
    const char *text = variable("FERRY_SIM_TOUCH");
    if (!text)
        return FERRY_OK;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i]->name, text) == 0) {
            *value = known[i];
            return FERRY_OK;
        }
    return ferry_error(FERRY_INVALID_ARGUMENT, "FERRY_SIM_TOUCH is \"%s\"; it must be userfaultfd, mprotect or off",
                       text);
}

/* A named row says whether access is concurrent, unless FERRY_SIM_CONCURRENT does; without a name, that picks the row.
 */
static ferry_status read_link(struct sim_config *config) {
    const char *text = variable("FERRY_SIM_LINK");
    bool concurrent = true;
    if (text) {
        config->link = sim_link_find(text);
        if (!config->link) {
            char names[256];
            sim_link_names(names, sizeof names);
            return ferry_error(FERRY_INVALID_ARGUMENT, "FERRY_SIM_LINK is \"%s\"; known links: %s", text, names);
        }
        concurrent = config->link->concurrent;
    }
    ferry_status status = read_switch("FERRY_SIM_CONCURRENT", &concurrent);
    if (status)
        return status;
    config->concurrent = concurrent;
    if (!text)
        config->link = sim_link_default(concurrent);
    return FERRY_OK;
}

ferry_status sim_config_read(struct sim_config *out) {
    struct sim_config config = {.devices = 1, .device_bytes = DEFAULT_DEVICE_BYTES};
    ferry_status status = read_devices(&config.devices);
    if (!status)
        status = read_memory(&config.device_bytes);
    if (!status)
        status = read_switch("FERRY_SIM_POISON", &config.poison);
    if (!status)
        status = read_tracker(&config.tracker);
    if (!status)
        status = read_link(&config);
    if (!status)
        *out = config;
    return status;
}
