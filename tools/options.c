#include <string.h>

#include "options.h"
#include "tool.h"

static const char *const BACKENDS[] = {"auto", "cuda", "sim"};

int check_backend(const char *command, const char *name) {
    for (size_t i = 0; i < sizeof BACKENDS / sizeof *BACKENDS; i++)
        if (strcmp(name, BACKENDS[i]) == 0)
            return EXIT_DONE;
    return fail_usage(command, "unknown backend '%s': auto, cuda and sim are known", name);
}

int check_policy(const char *command, const char *name, ferry_policy *out) {
    if (ferry_policy_find(name, out) != FERRY_OK)
        return fail_usage(command, "unknown policy '%s': auto, prefetch, remote and none are known", name);
    return EXIT_DONE;
}

int start_library(const char *command, const option *backend, const option *policy) {
    ferry_options options = {.backend = backend->value};
    if (backend->given && check_backend(command, backend->value) != EXIT_DONE)
        return EXIT_USAGE;
    if (policy && policy->given && check_policy(command, policy->value, &options.policy) != EXIT_DONE)
        return EXIT_USAGE;
    return ferry_init(&options) == FERRY_OK ? EXIT_DONE : fail_library(NULL);
}
